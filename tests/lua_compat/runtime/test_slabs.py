"""Memory that Lua takes from Python: pieces that were given back are used again, but not under a tensor."""

import mmap
import random
import sys
import weakref
from pathlib import Path

import pytest
import torch

from lua_compat.runtime.slabs import MOST_SPARE, Slabs


def test_a_piece_is_used_again_by_one_of_its_size() -> None:
    slabs = Slabs()
    first, other = slabs.request(1 << 16), slabs.request(1 << 17)
    slabs.release(first)
    assert slabs.request(1 << 16) == first
    slabs.release(other)
    assert slabs.request(1 << 17) == other


def test_a_tensor_keeps_its_piece() -> None:
    slabs = Slabs()
    address = slabs.request(1 << 16)
    memory, offset = slabs.at(address + 64)
    held = torch.frombuffer(memory, dtype=torch.uint8, count=100, offset=offset)
    held.fill_(7)
    slabs.release(address)
    again = slabs.request(1 << 16)
    torch.frombuffer(slabs.at(again)[0], dtype=torch.uint8).fill_(1)
    assert again != address and int(held.sum()) == 700


def test_pieces_in_use_are_never_given_twice() -> None:
    draw, slabs, used = random.Random(1), Slabs(), dict[int, int]()
    for _ in range(2000):
        if used and draw.random() < 0.5:
            address = draw.choice(sorted(used))
            del used[address]
            slabs.release(address)
        else:
            size = 4096 * draw.choice((1, 2, 3, 500, 4000))
            address = slabs.request(size)
            assert all(address + size <= a or a + s <= address for a, s in used.items())
            used[address] = size


def _mapped_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE


@pytest.mark.skipif(sys.platform != "linux", reason="mapped memory is read from /proc")
def test_no_spares_are_kept_where_none_will_be_needed() -> None:
    slabs, size = Slabs(), MOST_SPARE // 4
    before = _mapped_bytes()
    pieces = [slabs.request(size) for _ in range(4)]
    slabs.release(pieces.pop())
    assert _mapped_bytes() - before > 3.5 * size  # nothing else of that size comes or goes
    slabs.keep_no_spares()
    for address in pieces:
        slabs.release(address)
    assert _mapped_bytes() - before < 0.5 * size


def test_a_lent_piece_lives_until_its_last_user_gives_it_back() -> None:
    owner, other = Slabs(), Slabs()
    address = owner.request(1 << 16)
    memory = weakref.ref(owner.lend(address).memory)
    for slabs in (other, other, owner):
        slabs.adopt(owner.lend(address + 100))
    for slabs in (owner, other, owner):
        slabs.release(address)
    assert other.at(address + 8) == (memory(), 8)
    other.release(address)
    assert memory() is None

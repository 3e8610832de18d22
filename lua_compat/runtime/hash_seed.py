"""``th --same-order``: ``pairs`` visits string keys in the same order in every run of a script.

LuaJIT's order of a table's string keys depends on random numbers. It draws them when a state is made, and
more of them whenever compiled code needs memory near its own. In Torch7's LuaJIT the order was fixed, and
scripts depend on it (vocabularies, the initialisation of a table of modules). There is no option for it, but
the order is the same if two things are:

- the first draw: LuaJIT calls the C library's ``syscall`` for it (on Linux), and its reference to that
  function is replaced while a state is made;
- the addresses: the process is restarted without the system's address randomisation.

LuaJIT also draws whenever it gives up compiling a loop, which depends on the values. So a state with the same
order also starts its random numbers with the same seed.
"""

import ctypes
import functools
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lua_compat.runtime.errors import CannotFixOrder

# ELF, for 64 bits and the lowest byte first: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.intro.html
_IDENTIFICATION = b"\x7fELF\x02\x01"
_SEGMENT_LOAD, _SEGMENT_DYNAMIC = 1, 2
_STRINGS, _SYMBOLS, _JUMP_SLOTS, _JUMP_SLOTS_BYTES = 5, 6, 23, 2
_SYMBOL_BYTES, _RELOCATION_BYTES = 24, 24

# getrandom's number, the buffer, its size and the flags: all that LuaJIT ever asks of syscall
_SYSCALL = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint)
_lock = threading.Lock()

FIRST_SEED = 5489  # the Mersenne twister's own: http://www.math.sci.hiroshima-u.ac.jp/m-mat/MT/MT2002/CODES/mt19937ar.c

# Linux's personality(2)
_ASK, _NO_RANDOMISATION = 0xFFFFFFFF, 0x0040000


def _slot_offset(library: bytes, function: bytes) -> int | None:
    """Returns where, from a shared library's start in memory, it keeps the address of a function it calls."""
    if library[:6] != _IDENTIFICATION:
        return None
    (headers,) = struct.unpack_from("<Q", library, 32)
    size, count = struct.unpack_from("<HH", library, 54)
    segments = [struct.unpack_from("<IIQQQQ", library, headers + i * size) for i in range(count)]
    loaded = [
        (address, place, length) for kind, _, place, address, _, length in segments if kind == _SEGMENT_LOAD
    ]

    def in_file(address: int) -> int:
        return next(p + address - a for a, p, length in loaded if a <= address < a + length)

    entries: dict[int, int] = {}
    for kind, _, place, _, _, length in segments:
        if kind == _SEGMENT_DYNAMIC:
            entries.update(struct.iter_unpack("<QQ", library[place : place + length]))
    first = in_file(entries[_JUMP_SLOTS])
    for place in range(first, first + entries[_JUMP_SLOTS_BYTES], _RELOCATION_BYTES):
        slot, info = struct.unpack_from("<QQ", library, place)
        (name,) = struct.unpack_from("<I", library, in_file(entries[_SYMBOLS]) + (info >> 32) * _SYMBOL_BYTES)
        start = in_file(entries[_STRINGS]) + name
        if library[start : library.index(b"\0", start)] == function:
            return int(slot)
    return None


@functools.cache
def _slot(library: str) -> int | None:
    """Returns the address of the loaded library's slot for ``syscall``; None if it cannot be written."""
    try:
        with open(library, "rb") as file:
            offset = _slot_offset(file.read(), b"syscall")
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file_of_maps:
            mappings = file_of_maps.read().splitlines()
    except (OSError, struct.error, KeyError, StopIteration, ValueError):
        return None
    if offset is None:
        return None
    starts, writable = [], []
    for line in mappings:
        span, rights, *_, path = line.split(maxsplit=5)
        first, behind = (int(end, 16) for end in span.split("-"))
        if path == library:
            starts.append(first)
        if "w" in rights:
            writable.append(range(first, behind))
    address = min(starts) + offset if starts else 0
    return address if any(address in addresses for addresses in writable) else None


def _answer(_number: int, buffer: int, size: int, _flags: int) -> int:
    """Fills the buffer of getrandom with fixed bytes."""
    ctypes.memmove(buffer, bytes(37 * i % 251 + 1 for i in range(size)), size)
    return size


def restart_with_fixed_addresses() -> None:
    """Starts this program again, with its arguments, without address randomisation; returns if it has none.

    Raises CannotFixOrder where the system refuses.
    """
    if not sys.platform.startswith("linux"):
        raise CannotFixOrder("it needs Linux")
    personality = ctypes.CDLL(None, use_errno=True).personality
    now = personality(ctypes.c_ulong(_ASK))
    if now != -1 and now & _NO_RANDOMISATION:
        return
    if now == -1 or personality(ctypes.c_ulong(now | _NO_RANDOMISATION)) == -1:
        raise CannotFixOrder(
            f"this system does not let a program fix its addresses: {os.strerror(ctypes.get_errno())}"
        )
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


@contextmanager
def fixed_hash_seed(library: str) -> Iterator[None]:
    """Makes all states that the LuaJIT in ``library`` (a path) creates within this context start alike.

    Raises CannotFixOrder if its reference to ``syscall`` cannot be replaced.
    """
    slot = _slot(os.path.realpath(library))
    if slot is None:
        raise CannotFixOrder("the seed of this LuaJIT cannot be fixed")
    answer: Callable[..., int] = _SYSCALL(_answer)
    with _lock:
        cell = ctypes.c_void_p.from_address(slot)
        before = cell.value
        cell.value = ctypes.cast(answer, ctypes.c_void_p).value  # type: ignore[arg-type]
        try:
            yield
        finally:
            cell.value = before

"""Mutated .t7 files: every outcome must be a value or T7FormatError with a byte offset and a path.

    python -m tests.lua_compat.t7.fuzz --cases 200000 [--seed 0] [--first 0]

Each case is a golden file, changed: bytes, cuts, splices, and above all the fields of the format (type ids,
memo indices, counts, sizes, strides, offsets). A value that is read must have its tensors inside their
storages and be written and read again. A case is found again by its seed and number.
"""

import argparse
import collections
import io
import random
import re
import resource
import signal
import struct
import time
import tracemalloc
from typing import Any

import numpy as np

from lua_compat import t7
from tests.helpers.places import GOLDEN

LARGE = 20_000  # bytes; larger seeds are taken less often, for speed alone
SECONDS_PER_CASE = 20
MEMORY = 4 << 30
MEASURED_EVERY = 20  # cases; tracing allocations is slow
# Python's objects are larger than their records: an empty table takes 12 bytes in a file and 250 in memory.
ALLOCATION_PER_BYTE, ALLOCATION_ALWAYS = 64, 2 << 20

INTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 16, 64, 255, 2**15, 2**16, 2**24, 2**30, 2**31 - 1, -(2**31))
LONGS = (*INTS, 2**31, 2**32, 2**32 + 1, 2**40, 2**60, 2**61, 2**62, 2**63 - 1, -(2**63), -(2**62), -2, -100)
NAMES = (b"torch.DoubleTensor", b"torch.FloatStorage", b"torch.HalfTensor", b"torch.CudaTensor", b"tds.Vec",
         b"tds.Hash", b"torch.Generator", b"nn.DataParallelTable", b"nn.GPU", b"V 0", b"V 2", b"V 999999999",
         b"")  # fmt: skip


def seeds() -> list[tuple[str, bytes]]:
    paths = sorted(GOLDEN.glob("t7/*.t7")) + sorted(GOLDEN.glob("*.t7"))
    found = [(str(path.relative_to(GOLDEN)), path.read_bytes()) for path in paths]
    for path in paths[:33]:
        value = t7.load(path)
        for long_size in (4, 8):  # Torch7 wrote little-endian files only
            other = io.BytesIO()
            t7.save(other, value, long_size=long_size, byte_order="big")
            found.append((f"{path.name} as big-endian, {long_size}-byte longs", other.getvalue()))
    return found


def mutate(data: bytes, others: list[tuple[str, bytes]], rng: random.Random) -> bytes:
    is_ascii = data[:1].isdigit()
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        kind = rng.random()
        if kind < 0.6:
            (_change_word if is_ascii else _change_field)(changed, rng)
        elif kind < 0.7 and changed:
            changed[rng.randrange(len(changed))] = rng.choice((0, 1, 4, 255, rng.randrange(256)))
        elif kind < 0.76:
            del changed[rng.randrange(len(changed) + 1) :]
        elif kind < 0.82:
            start = rng.randrange(len(changed) + 1)
            del changed[start : start + rng.choice((1, 4, 8, 12, 40))]
        elif kind < 0.88:
            start, end = sorted(rng.randrange(len(changed) + 1) for _ in range(2))
            at = rng.randrange(len(changed) + 1)
            changed[at:at] = changed[start : min(end, start + 400)]
        elif kind < 0.94:
            other = rng.choice(others)[1]
            start, at = rng.randrange(len(other)), rng.randrange(len(changed) + 1)
            changed[at : at + rng.choice((0, 20))] = other[start : start + rng.choice((4, 20, 100, 1000))]
        else:
            _change_name(changed, is_ascii, rng)
    return bytes(changed)


def _change_field(data: bytearray, rng: random.Random) -> None:
    order = "<" if data[:1] != b"\0" else ">"
    # A small number almost anywhere is a field of the format; look for one near a random place.
    for _ in range(50):
        at = rng.randrange(max(1, len(data) - 8))
        if at + 8 > len(data):
            return
        as_int = struct.unpack_from(order + "i", data, at)[0]
        as_long = struct.unpack_from(order + "q", data, at)[0]
        if -10 <= as_long <= 10**6 and rng.random() < 0.7:
            near = (as_long - 1, as_long + 1, as_long * 2, -as_long)
            struct.pack_into(order + "q", data, at, rng.choice(LONGS + near))
            return
        if -10 <= as_int <= 10**6:
            struct.pack_into(order + "i", data, at, rng.choice((*INTS, as_int - 1, as_int + 1)))
            return


def _change_word(data: bytearray, rng: random.Random) -> None:
    words = list(re.finditer(rb"[^ \n]+", data[: 1 << 14]))
    if words:
        word = rng.choice(words)
        number = rng.choice((*LONGS, 2**70, 1e300, "nan", "-inf", "1_0", "0x10", "", "9" * 5000))
        data[word.start() : word.end()] = str(number).encode()


def _change_name(data: bytearray, is_ascii: bool, rng: random.Random) -> None:
    names = list(re.finditer(rb"(?:torch|nn|tds)\.[A-Za-z]+|V [0-9]+", data[: 1 << 14]))
    if not names:
        return
    match, name = rng.choice(names), rng.choice(NAMES)
    if is_ascii:
        start = data.rfind(b"\n", 0, match.start() - 1) + 1
        data[start : match.end()] = str(len(name)).encode() + b"\n" + name
    elif match.start() >= 4:
        order = "<" if data[:1] != b"\0" else ">"
        data[match.start() - 4 : match.end()] = struct.pack(order + "i", len(name)) + name


def tensors_inside_their_storages(value: Any) -> None:
    todo, seen = [value], set()
    while todo:
        part = todo.pop()
        if id(part) in seen:
            continue
        if isinstance(part, t7.LuaTable):
            seen.add(id(part))
            todo.extend(part)
            todo.extend(part.values())
        elif isinstance(part, t7.TorchObject):
            seen.add(id(part))
            todo.extend(part.fields if isinstance(part.fields, list) else [part.fields])
            todo.append(part.preamble)
        elif isinstance(part, t7.LuaFunction):
            seen.add(id(part))
            todo.append(part.upvalues)
        elif isinstance(part, t7.Tensor):
            array = part.numpy()
            assert array.shape == (part.size or (0,)), (array.shape, part.size)
            if array.size and part.storage is not None:
                base = part.storage.array
                low = high = array.ctypes.data - base.ctypes.data
                for size, stride in zip(array.shape, array.strides, strict=True):
                    low, high = low + min(0, (size - 1) * stride), high + max(0, (size - 1) * stride)
                assert low >= 0 and high + array.itemsize <= base.nbytes, (low, high, base.nbytes)
        else:
            assert part is None or isinstance(part, bool | int | float | str | bytes | t7.Storage), type(part)


def read(data: bytes) -> str:
    """Reads one file and checks what came of it. Returns 'value' or 'error'."""
    try:
        value, found = t7.load_with_format(io.BytesIO(data))
    except t7.T7FormatError as error:
        assert 0 <= error.offset <= len(data), error.offset
        assert error.path.startswith("root") and error.problem
        assert len(str(error)) < 10_000, str(error)
        return "error"
    tensors_inside_their_storages(value)
    first = io.BytesIO()
    t7.save(first, value, found)
    again = io.BytesIO()
    t7.save(again, t7.load(io.BytesIO(first.getvalue()), long_size=found.long_size), found)
    assert again.getvalue() == first.getvalue(), "written again, it is different"
    return "value"


def case(number: int, seed: int, files: list[tuple[str, bytes]], measured: bool) -> str:
    rng = random.Random(f"{seed}/{number}")
    while True:
        name, data = rng.choice(files)
        if len(data) < LARGE or rng.random() < LARGE / len(data) / 4:
            break
    mutated = mutate(data, files, rng)
    if measured:
        tracemalloc.start()
        try:
            t7.load(io.BytesIO(mutated))
        except t7.T7FormatError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        allowed = ALLOCATION_PER_BYTE * len(mutated) + ALLOCATION_ALWAYS
        assert peak <= allowed, f"{name}: {peak} bytes allocated for a file of {len(mutated)}"
    return read(mutated)


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"a case takes more than {SECONDS_PER_CASE} s")


def run(cases: int, seed: int = 0, first: int = 0) -> collections.Counter[str]:
    """Runs the cases; raises the first failure, with its number. Returns how often each outcome came."""
    files = seeds()
    outcomes: collections.Counter[str] = collections.Counter()
    signal.signal(signal.SIGALRM, _too_slow)
    try:
        for number in range(first, first + cases):
            signal.alarm(SECONDS_PER_CASE)
            try:
                outcomes[case(number, seed, files, number % MEASURED_EVERY == 0)] += 1
            except BaseException as error:
                place = f"fuzz case --seed {seed} --first {number} --cases 1"
                raise AssertionError(f"{place}: {repr(error)[:500]}") from error
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return outcomes


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    np.seterr(all="raise")
    start = time.perf_counter()
    outcomes = run(given.cases, given.seed, given.first)
    seconds = time.perf_counter() - start
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    print(f"{given.cases} mutated files in {seconds:.0f} s: {counts}, nothing else")


if __name__ == "__main__":
    main()

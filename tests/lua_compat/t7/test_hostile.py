"""Files that are cut, changed or made to harm: a value or T7FormatError, and nothing else."""

import io
import re
import struct
import time
import tracemalloc
from pathlib import Path

import pytest

from lua_compat import t7
from tests.helpers.places import GOLDEN
from tests.lua_compat.t7 import fuzz as fuzz_t7

FILES = sorted(GOLDEN.glob("t7/*.t7")) + sorted(GOLDEN.glob("*.t7"))
SMALL = [path for path in FILES if path.stat().st_size < 5000]
CUTS_BY_DEFAULT = 40
EMPTY_WITH_4_BYTE_LONGS = (GOLDEN / "t7/empty.long4.t7").read_bytes()


def check_cut(data: bytes, length: int) -> None:
    try:
        value = t7.load(io.BytesIO(data[:length]))
    except t7.T7FormatError as error:
        assert 0 <= error.offset <= length and error.path.startswith("root")
    else:
        # Only a newline after the last string may be missing. And the first bytes of the empty tensor with
        # 8-byte longs are the empty tensor with 4-byte longs.
        assert data[length:] == b"\n" or data[:length] == EMPTY_WITH_4_BYTE_LONGS, (length, value)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.slow] * (path.suffixes[0] == ".long4"))
        for path in SMALL
    ],
)
def test_small_files_cut_at_every_byte(path: Path) -> None:
    data = path.read_bytes()
    for length in range(len(data)):
        check_cut(data, length)


@pytest.mark.parametrize("path", [path for path in FILES if path not in SMALL], ids=lambda path: path.name)
def test_large_files_cut_here_and_there(path: Path) -> None:
    data = path.read_bytes()
    for i in range(CUTS_BY_DEFAULT):
        check_cut(data, i * len(data) // CUTS_BY_DEFAULT)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["net.bin", "net.long4", "net.ascii"])
def test_large_golden_t7_files_cut_at_every_byte(name: str) -> None:
    data = (GOLDEN / f"t7/{name}.t7").read_bytes()
    # The ascii file would take half an hour: every byte of its beginning, then every 29th.
    for length in range(len(data)):
        if name != "net.ascii" or length < 200 or length % 29 == 0:
            check_cut(data, length)


def test_mutated_files() -> None:
    outcomes = fuzz_t7.run(cases=4000, seed=1)
    assert sum(outcomes.values()) == 4000 and set(outcomes) == {"value", "error"}


def ints(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def text(raw: bytes) -> bytes:
    return ints(len(raw)) + raw


def torch(index: int, name: bytes) -> bytes:
    return ints(4, index) + text(b"V 1") + text(name)


def longs(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


STORAGE = torch(9, b"torch.DoubleStorage") + longs(2) + struct.pack("<2d", 1, 2)

HOSTILE = {
    "nothing": (b"", "ends before its first object", "root"),
    "zip": (b"PK\x03\x04....", "a zip archive", "root"),
    "pickle": (b"\x80\x02}q\x00.", "a Python pickle", "root"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "root"),
    "text": (b"hello world", "not a .t7 file", "root"),
    "type id": (ints(3, 1, 1) + ints(2) + text(b"k") + ints(99), "type id 99", r"root\.k"),
    "terabyte table": (ints(3, 1, 2**31 - 1), "a table of 2147483647 cannot fit", "root"),
    "negative table": (ints(3, 1, -1), "a table of -1 cannot fit", "root"),
    "terabyte string": (ints(2, 2**31 - 1), "a string of 2147483647 cannot fit", "root"),
    "terabyte storage": (torch(1, b"torch.FloatStorage") + longs(2**40), "a storage of", "root"),
    "overflowing storage": (torch(1, b"torch.DoubleStorage") + longs(2**61), "a storage of", "root"),
    "dimensions": (torch(1, b"torch.FloatTensor") + ints(2**31 - 1), "a number of dimensions", "root"),
    "33 dimensions": (
        torch(1, b"torch.FloatTensor") + ints(33) + longs(*[1] * 67) + ints(0),
        "33 dimensions; at most",
        "root",
    ),
    "nil key": (ints(3, 1, 1) + ints(0) + ints(5, 1), "key of a table is nil", r"root\.<key>"),
    "NaN key": (
        ints(3, 1, 1) + ints(1) + struct.pack("<d", float("nan")) + ints(5, 1),
        "NaN",
        r"root\.<key>",
    ),
    "view beyond": (
        torch(1, b"torch.DoubleTensor") + ints(1) + longs(3, 1, 1) + STORAGE,
        "elements 1 to 3 of a storage of 2",
        r"root",
    ),
    "view before": (
        torch(1, b"torch.DoubleTensor") + ints(1) + longs(2, -1, 1) + STORAGE,
        "elements 0 to 1",
        "root",
    ),
    "offset": (
        torch(1, b"torch.DoubleTensor") + ints(1) + longs(1, 1, 0) + STORAGE,
        "elements 0 to 0",
        "root",
    ),
    "wrapping strides": (
        torch(1, b"torch.DoubleTensor") + ints(1) + longs(3, 2**62, 1) + STORAGE,
        "strides",
        "root",
    ),
    "unbounded expansion": (
        torch(1, b"torch.DoubleTensor") + ints(2) + longs(2**40, 2**40, 0, 0, 1) + STORAGE,
        "beyond any memory",
        "root",
    ),
    "no storage": (
        torch(1, b"torch.DoubleTensor") + ints(1) + longs(3, 1, 1) + ints(0),
        "storage of 0",
        "root",
    ),
    "storage of another type": (
        torch(1, b"torch.FloatTensor") + ints(1) + longs(2, 1, 1) + STORAGE,
        "needs a torch.FloatStorage",
        "root",
    ),
    "storage that is a table": (
        torch(1, b"torch.DoubleTensor") + ints(1) + longs(2, 1, 1) + ints(3, 2, 0),
        "is a LuaTable",
        "root",
    ),
    "tensor in itself": (
        torch(1, b"torch.DoubleTensor") + ints(1) + longs(2, 1, 1) + ints(4, 1),
        "contains itself where it cannot",
        r"root\.<storage>",
    ),
    "reference of another kind": (
        ints(3, 1, 1) + ints(2) + text(b"k") + ints(4, 1),
        "object 1 is no torch object",
        r"root\.k",
    ),
    "class name": (torch(1, b"\xff\n" * 500), "a class name expected", "root"),
    "vec": (torch(1, b"tds.Vec") + longs(2**40), "a tds.Vec of", "root"),
    "deep": (
        ints(3, 1, 1) + ints(2) + text(b"a b") + ints(3, 2, 1) + ints(1) + struct.pack("<d", 3) + ints(5),
        "ends inside",
        r'root\["a b"\]\[3\]',
    ),
    "long name in a path": (ints(3, 1, 1) + ints(2) + text(b"x" * 100_000) + ints(77), "type id 77", "root"),
    "ascii int": (b"3\n1\nmany\n", "an int expected, found 'many", "root"),
    "ascii int too long": (b"3\n99999999999999999999\n", "does not fit an int", "root"),
    "ascii number": (b"3\n1\n1\n1\n1_000\n5\n1\n", "an int expected", r"root\[1\]"),
    "ascii storage": (b"4\n1\n3\nV 1\n19\ntorch.DoubleStorage\n3\n1 2_0 3\n", "holds something else", "root"),
    "ascii storage of ints": (
        b"4\n1\n3\nV 1\n18\ntorch.ShortStorage\n2\n1 70000\n",
        "holds something else",
        "root",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file(name: str) -> None:
    data, message, path = HOSTILE[name]
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(t7.T7FormatError, match=message) as caught:
        t7.load(io.BytesIO(data))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 <= caught.value.offset <= len(data)
    assert caught.value.path.startswith("root") and len(str(caught.value)) < 1000
    assert re.match(path, caught.value.path)
    assert peak < 4 << 20 and time.perf_counter() - start < 5


def test_many_small_ascii_storages_on_one_line_take_linear_time() -> None:
    count = 20_000
    one = "4 {} 3\nV 1 19\ntorch.DoubleStorage 1 7 "
    data = f"3 1 {count} " + "".join(f"1 {i} " + one.format(i + 1) for i in range(1, count + 1))
    start = time.perf_counter()
    value = t7.load(io.BytesIO(data.encode()))
    assert len(value) == count and time.perf_counter() - start < 20


def test_nothing_in_a_file_is_executed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A function whose bytecode and a class whose name would do something are data."""
    witness = tmp_path / "witness"
    code = f"io.open({str(witness)!r}, 'w'):close()".encode()
    names = [b"os.system", b"builtins.eval", b"subprocess.Popen", b"__reduce__"]
    parts = [ints(8, 1) + text(code) + ints(3, 2, 0)]
    parts += [torch(10 + 2 * i, name) + ints(3, 11 + 2 * i, 0) for i, name in enumerate(names)]
    entries = b"".join(ints(1) + struct.pack("<d", i) + part for i, part in enumerate(parts, 1))
    for forbidden in ("eval", "exec", "__import__"):
        monkeypatch.setattr(f"builtins.{forbidden}", None)
    value = t7.load(io.BytesIO(ints(3, 100, len(parts)) + entries))
    monkeypatch.undo()
    assert value[1].bytecode == code and [value[i].typename.encode() for i in range(2, 6)] == names
    assert not witness.exists()

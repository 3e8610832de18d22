"""Writing .t7 files: the bytes that were read come back, and a file is whole or not there."""

import io
import math
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lua_compat import t7
from tests.helpers.commands import run_python
from tests.helpers.places import GOLDEN
from tests.helpers.t7_comparison import describe

FILES = sorted(GOLDEN.glob("t7/*.t7")) + sorted(GOLDEN.glob("*.t7"))


def written(value: object, *arguments: object, **options: object) -> bytes:
    out = io.BytesIO()
    t7.save(out, value, *arguments, **options)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_bytes_that_were_read(path: Path, tmp_path: Path) -> None:
    value, found = t7.load_with_format(path)
    copy = tmp_path / "copy.t7"
    t7.save(copy, value, found)
    assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("t7/*.ascii.t7")), ids=lambda path: path.name)
def test_binary_written_as_ascii_is_what_torch7_writes(path: Path) -> None:
    value = t7.load(path.with_name(path.name.replace("ascii", "bin")))
    assert written(value, "ascii") == path.read_bytes()


scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False),
    st.text(max_size=10),
    st.binary(max_size=10),
)
keys = scalars
trees = st.recursive(
    scalars,
    lambda children: st.one_of(
        st.lists(children, max_size=5), st.lists(st.tuples(keys, children), max_size=5).map(t7.LuaTable)
    ),
    max_leaves=25,
)


@settings(deadline=None)
@given(
    trees, st.sampled_from(["binary", "ascii"]), st.sampled_from([4, 8]), st.sampled_from(["little", "big"])
)
def test_any_tree_comes_back(tree: object, encoding: str, long_size: int, order: str) -> None:
    data = written(tree, encoding, long_size, order)
    back = t7.load(io.BytesIO(data))
    assert written(back, encoding, long_size, order) == data
    if isinstance(tree, t7.LuaTable):
        assert describe(back) == describe(t7.load(io.BytesIO(written(tree))))


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.integers(-5, 40), st.floats(allow_nan=False), st.text(max_size=3)), max_size=200),
    st.sampled_from(["numbers", "strings", "booleans", "mixed"]),
)
def test_large_tables_of_scalars(given_keys: list, kind: str) -> None:
    values = {
        "numbers": lambda i: i / 2 if i % 3 else -i,
        "strings": lambda i: "x" * (i % 7),
        "booleans": lambda i: i % 2 == 0,
        "mixed": lambda i: [i, "s", i + 0.5, False][i % 4],
    }[kind]
    table = t7.LuaTable()
    for i, key in enumerate([*range(1, 60), *given_keys]):
        table[key] = values(i)
    data = written(table)
    back = t7.load(io.BytesIO(data))
    assert list(back.items()) == list(table.items())
    assert [type(value) for value in back.values()] == [type(back[key]) for key in back]
    assert written(back) == data
    assert list(t7.load(io.BytesIO(written(table, byte_order="big"))).items()) == list(table.items())


@settings(deadline=None)
@given(st.lists(st.tuples(st.one_of(st.integers(1, 6), st.booleans(), st.sampled_from(["a", "1", 1.5])),
                          st.one_of(st.none(), st.integers(0, 9))), max_size=30))  # fmt: skip
def test_a_lua_table_is_a_dict_that_keeps_booleans_apart(assignments: list) -> None:
    table, model = t7.LuaTable(), {}
    for key, value in assignments:
        table[key] = value
        model[type(key) is bool, key] = value
    model = {key: value for key, value in model.items() if value is not None}
    assert {(type(key) is bool, key): value for key, value in table.items()} == model
    assert len(table) == len(model) and all(
        key in table and table[key] == value for (_, key), value in model.items()
    )
    border = table.length()
    assert all(i in table for i in range(1, border + 1)) and border + 1 not in table
    assert table.array() == [table[i] for i in range(1, border + 1)]


def test_python_values_as_lua_ones() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    value = {
        "list": [1, 2],
        "x": x,
        "again": x,
        "f": np.float64(2.5),
        "i": np.int64(3),
        "t": (True, "s"),
        1: b"\xff",
    }
    back = t7.load(io.BytesIO(written(value)))
    assert back["list"].array() == [1, 2] and back["t"].array() == [True, "s"] and back[1] == b"\xff"
    assert back["x"] is back["again"] and back["x"].typename == "torch.FloatTensor"
    np.testing.assert_array_equal(back["x"].numpy(), x)
    assert (back["f"], back["i"]) == (2.5, 3)


def test_arrays_as_tensors() -> None:
    for array, size in [(np.ones((2, 0, 3)), ()), (np.array(3.0), (1,)), (np.ones((3, 2)).T, (2, 3))]:
        tensor = t7.load(io.BytesIO(written(array)))
        assert tensor.size == size
        if tensor.numel():
            np.testing.assert_array_equal(tensor.numpy().reshape(array.shape), array)
    assert t7.Tensor.from_numpy(np.array([True])).typename == "torch.ByteTensor"
    big = np.arange(3, dtype=">i4")
    assert t7.Tensor.from_numpy(big).numpy().tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="no tensor of complex128"):
        t7.Tensor.from_numpy(np.ones(1, complex))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ({"a": {"b": {1, 2}}}, TypeError, r"set cannot be written .*; accepted: .* \(at root\.a\.b\)"),
        ([1, [2**53 + 1]], ValueError, r"cannot be held exactly .* \(at root\[2\]\[1\]\)"),
        (list(range(100)) + [2**53 + 1], ValueError, r"held exactly"),
        ({None: 1}, ValueError, "nil cannot be the key"),
        ({math.nan: 1}, ValueError, "NaN cannot be the key"),
        ({"x": np.ones(1, complex)}, TypeError, r"no tensor of complex128.*\(at root\.x\)"),
    ],
)
def test_what_cannot_be_written(value: object, error: type, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.t7"
    path.write_bytes(b"before")
    with pytest.raises(error, match=message):
        t7.save(path, value)
    assert path.read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 1


def test_longs_that_do_not_fit_four_bytes() -> None:
    with pytest.raises(ValueError, match="do not fit a long of 4 bytes"):
        written(np.array([2**31]), long_size=4)
    assert t7.load(io.BytesIO(written(np.array([2**31 - 1, -(2**31)]), long_size=4))).numpy().tolist() == [
        2**31 - 1, -(2**31)]  # fmt: skip


@pytest.mark.parametrize("wrong", [{"format": "text"}, {"long_size": 5}, {"byte_order": "middle"}])
def test_options_are_checked(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        written(1, **wrong)


def test_tensors_must_lie_in_their_storage() -> None:
    storage = t7.Storage("torch.FloatStorage", np.zeros(6, np.float32))
    good = t7.Tensor("torch.FloatTensor", storage, (2, 2), (3, -1), 2)
    assert good.numpy().shape == (2, 2)
    for size, stride, offset in [((7,), (1,), 1), ((2,), (1,), 6), ((2,), (-1,), 1), ((1,), (1,), 0),
                                 ((2, 2), (2**62, 2**62), 1), ((2**40, 2**40), (0, 0), 1), ((-1,), (1,), 1),
                                 ((1,), (1, 1), 1)]:  # fmt: skip
        with pytest.raises(ValueError):
            t7.Tensor("torch.FloatTensor", storage, size, stride, offset)
    with pytest.raises(ValueError, match=r"needs a torch\.DoubleStorage"):
        t7.Tensor("torch.DoubleTensor", storage, (1,), (1,))
    with pytest.raises(ValueError, match=r"takes a contiguous 1-D array"):
        t7.Storage("torch.FloatStorage", np.zeros(6))


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import resource, sys, numpy as np
        from lua_compat import t7
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            t7.save(sys.argv[1], np.zeros(10_000))
        except OSError as error:
            print(error.strerror)
    """)
    path = tmp_path / "x.t7"
    path.write_bytes(b"before")
    done = run_python("-c", script, path)
    assert done.stdout == "File too large\n"
    assert path.read_bytes() == b"before" and [entry.name for entry in tmp_path.iterdir()] == ["x.t7"]


def test_a_link_is_followed_and_a_device_is_written_to(tmp_path: Path) -> None:
    real, link = tmp_path / "real.t7", tmp_path / "link.t7"
    real.write_bytes(b"")
    link.symlink_to(real)
    t7.save(link, 5)
    assert link.is_symlink() and t7.load(real) == 5
    t7.save("/dev/null", 5)
    assert Path("/dev/null").is_char_device()


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    t7.save(tmp_path / "x.t7", 1)
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "x.t7").stat().st_mode == (tmp_path / "plain").stat().st_mode

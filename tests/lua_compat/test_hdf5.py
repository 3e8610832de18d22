"""torch-hdf5's layout, written and read with h5py."""

import random
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from lua_compat import hdf5, t7
from tests.helpers.commands import run_lua

TORCH_DTYPES = ["u1", "i1", "<i2", "<i4", "<i8", "<f4", "<f8"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.h5"


def test_a_dict_of_tensors_comes_back(path: Path) -> None:
    tree = {
        "x": np.arange(6.0).reshape(2, 3),
        "net": {"weight": np.ones((2, 1, 3), np.float32), "empty": {}, "labels": np.array([3, 1, 2])},
    }
    hdf5.save(path, tree)
    back = hdf5.load(path)
    assert sorted(back) == ["net", "x"]
    np.testing.assert_array_equal(back["x"], tree["x"])
    assert back["net"]["empty"] == {}
    assert back["net"]["weight"].dtype == np.float32
    np.testing.assert_array_equal(back["net"]["labels"], [3, 1, 2])


@pytest.mark.parametrize("code", TORCH_DTYPES)
def test_stored_as_torch_hdf5_stores_it(path: Path, code: str) -> None:
    array = np.arange(1, 7).reshape(2, 3).astype(code)
    hdf5.save(path, {"group": {"tensor": array.astype(np.dtype(code).newbyteorder(">"))}})
    with h5py.File(path) as file:
        dataset = file["group"]["tensor"]
        assert dataset.dtype == np.dtype(code) and dataset.chunks is None
        assert dict(dataset.attrs) == {} and dict(file["group"].attrs) == {}
        np.testing.assert_array_equal(dataset[...], array)


def test_what_tensors_may_be(path: Path) -> None:
    import torch

    table = t7.LuaTable({"a": t7.Tensor.from_numpy(np.array([1, 2], np.float32)), 1: torch.arange(3)})
    hdf5.save(path, table)
    back = hdf5.load(path)
    assert back["a"].tolist() == [1, 2] and back["1"].tolist() == [0, 1, 2]
    hdf5.save(path, {"flag": np.array([True, False])})
    assert hdf5.load(path)["flag"].dtype == np.uint8


def test_partial_reads_are_one_based_and_inclusive(path: Path) -> None:
    whole = np.arange(60).reshape(3, 4, 5)
    hdf5.save(path, {"x": whole})
    with hdf5.open(path, "r") as file:
        x = file.read("/x")
        assert isinstance(x, hdf5.DataSet)
        assert x.dataspace_size() == (3, 4, 5) and x.dtype == np.int64
        np.testing.assert_array_equal(x.partial((2, 3), (1, 4), 5), whole[1:3, 0:4, 4:5])
        np.testing.assert_array_equal(x.partial((1, 3), (1, 4), (1, 5)), whole)
        for wrong in [((0, 1), 1, 1), ((1, 4), 1, 1), ((3, 2), 1, 1)]:
            with pytest.raises(hdf5.HDF5Error, match=r"x: range .* of dimension 1; 1 to 3 accepted"):
                x.partial(*wrong)
        with pytest.raises(hdf5.HDF5Error, match="3 ranges needed"):
            x.partial((1, 2))


def test_chunks_deflate_and_append(path: Path) -> None:
    options = hdf5.DataSetOptions(chunking=(8, 100), deflate=6)
    with hdf5.open(path, "w") as file:
        file.write("/log/loss", np.zeros((20, 3)), options)
        file.append("/log/loss", np.ones((5, 3)))
        file.append("/log/new", np.ones(2), hdf5.DataSetOptions(chunking=(2,)))
        with pytest.raises(hdf5.HDF5Error, match="cannot be appended to sizes"):
            file.append("/log/loss", np.ones((5, 4)))
        file.write("/fixed", np.ones(3))
        with pytest.raises(hdf5.HDF5Error, match="written without chunking"):
            file.append("/fixed", np.ones(3))
    with h5py.File(path) as raw:
        loss = raw["log/loss"]
        assert loss.chunks == (8, 3) and loss.compression == "gzip" and loss.maxshape == (None, 3)
        assert loss.shape == (25, 3) and loss[:, 0].sum() == 5


def test_modes(path: Path) -> None:
    for mode in ("r", "r+"):
        with pytest.raises(FileNotFoundError):
            hdf5.open(path, mode)
    with hdf5.open(path) as file:
        file.write("/a", np.ones(1))
    with hdf5.open(path) as file:
        file.write("/b", np.ones(1))
        assert file.keys() == ["a", "b"]
        with pytest.raises(hdf5.HDF5Error, match="/a already exists"):
            file.write("/a", np.ones(1))
    with pytest.raises(FileExistsError):
        hdf5.open(path, "w-")
    with pytest.raises(ValueError, match="mode must be one of"):
        hdf5.open(path, "x")  # type: ignore[arg-type]


def test_errors_name_the_place(path: Path) -> None:
    hdf5.save(path, {"net": {"weight": np.ones(3)}})
    with hdf5.open(path, "r") as file:
        with pytest.raises(hdf5.HDF5Error, match=r"data\.h5:/net has no 'bias'; it has weight"):
            file.read("/net/bias")
        with pytest.raises(hdf5.HDF5Error, match="weight is a dataset"):
            file.read("/net/weight/deeper")
    path.write_bytes(b"not this")
    with pytest.raises(hdf5.HDF5Error, match="cannot be opened as HDF5"):
        hdf5.load(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": "text"}, "/a: a str is neither"),
        ({"a": {"b": np.array([1], np.float16)}}, "/a/b: torch-hdf5 has no tensors of float16"),
        ({"a": np.array(["x"])}, "no tensors of <U1"),
        ({"a/b": np.ones(1)}, "'a/b' cannot be the name"),
        ({True: np.ones(1)}, "True cannot be the name"),
    ],
)
def test_what_cannot_be_stored_leaves_the_old_file(path: Path, data: dict, message: str) -> None:
    hdf5.save(path, {"old": np.ones(1)})
    with pytest.raises(TypeError, match=message):
        hdf5.save(path, data)
    assert list(hdf5.load(path)) == ["old"]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_hostile_files(path: Path) -> None:
    with h5py.File(path, "w") as raw:
        raw.create_dataset("huge", shape=(1 << 40,), dtype="f8", chunks=(1 << 16,))
        raw["loop/self"] = h5py.SoftLink("/loop")
        raw["out"] = h5py.ExternalLink("other.h5", "/x")
        raw["circle/inside/again"] = raw["circle"] if "circle" in raw else raw.create_group("circle")
        raw["words"] = np.array([1j])
    with hdf5.open(path, "r") as file:
        with pytest.raises(hdf5.HDF5Error, match="more than the file can hold"):
            file.read("/huge").all()
        assert file.read("/huge").partial((1, 2)).tolist() == [0, 0]
        for name in ("/loop/self", "/out"):
            with pytest.raises(hdf5.HDF5Error, match="link to elsewhere"):
                file.read(name)
        with pytest.raises(hdf5.HDF5Error, match="contains itself"):
            file.read("/circle").all()
        with pytest.raises(hdf5.HDF5Error, match="not numbers"):
            file.read("/words").all()


def test_options_are_checked() -> None:
    cases: list[dict[str, Any]] = [{"chunking": (0,)}, {"chunking": (1,), "deflate": 10}, {"deflate": 1}]
    for wrong in cases:
        with pytest.raises(ValueError, match=r"chunk|deflate"):
            hdf5.DataSetOptions(**wrong)


def test_deep_nesting_needs_no_recursion(path: Path) -> None:
    depth = 300
    tree: dict = {"x": np.ones(1)}
    for _ in range(depth):
        tree = {"d": tree}
    hdf5.save(path, tree)
    back = hdf5.load(path)
    for _ in range(depth):
        back = back["d"]
    assert back["x"].tolist() == [1]


@pytest.mark.parametrize("options", [None, hdf5.DataSetOptions(chunking=(5, 5), deflate=3)])
def test_mutated_files_are_read_or_refused_in_one_line(path: Path, options: Any) -> None:
    rows = np.arange(120.0).reshape(30, 4)
    hdf5.save(path, {"x": rows, "n": {"y": np.ones((5, 2), np.float32), "deep": {"z": rows}}}, options)
    whole, draws = path.read_bytes(), random.Random(5)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(draws.randint(1, 6)):
            damaged[draws.randrange(len(damaged))] = draws.choice([0, 1, 127, 255, draws.randrange(256)])
        path.write_bytes(damaged)
        try:
            hdf5.load(path)
        except hdf5.HDF5Error as error:
            refused += 1
            assert str(error).isprintable() and str(error).startswith(str(path))
    assert refused > 50


def test_a_group_in_two_places_is_refused(path: Path) -> None:
    """Each doubles what it holds: thirty would be read as a billion."""
    with h5py.File(path, "w") as raw:
        group = raw
        for _ in range(30):
            inner = group.create_group("a")
            group["b"] = inner
            group = inner
    with pytest.raises(hdf5.HDF5Error, match="is the same group as"):
        hdf5.load(path)


def write_what_torch_hdf5_does_not(path: Path) -> None:
    """Writes datasets of other programs: strings, an enumeration, a scalar, one without a dataspace."""
    with h5py.File(path, "w") as file:
        file["numbers"] = np.arange(3.0)
        file["text"] = "hello"
        file["texts"] = np.array(["x", "größer"], dtype=h5py.string_dtype())
        file["fixed"] = np.array([b"ab", b"cde"])
        file["colour"] = np.array([0, 1], dtype=h5py.enum_dtype({"red": 0, "green": 1}, basetype="i1"))
        file["scalar"] = 3.5
        file["null"] = h5py.Empty("f8")


def test_strings_and_enumerations_of_other_programs_are_read(path: Path) -> None:
    write_what_torch_hdf5_does_not(path)
    loaded = hdf5.load(path)
    assert (loaded["text"], loaded["null"], loaded["scalar"]) == ("hello", None, 3.5)
    assert loaded["texts"].tolist() == ["x", "größer"]
    assert loaded["fixed"].tolist() == ["ab", "cde"]
    assert loaded["colour"].tolist() == [0, 1]
    with hdf5.open(path, "r") as file, pytest.raises(hdf5.HDF5Error, match="null: a null dataset, which has"):
        file.read("/null").all()


def test_a_file_opened_for_reading_is_not_written(path: Path) -> None:
    hdf5.save(path, {"x": np.ones(2)})
    with hdf5.open(path, "r") as file:
        for write in (file.write, file.append):
            with pytest.raises(hdf5.HDF5Error, match="opened with 'r', for reading only"):
                write("/y", np.ones(1))


def test_lua_leaves_out_what_cannot_be_a_tensor(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_what_torch_hdf5_does_not(path)
    code = """
        require 'hdf5'
        local file = hdf5.open(arg[1], 'r')
        local names = {}
        for name in pairs(file:all()) do names[#names + 1] = name end
        table.sort(names)
        assert(table.concat(names, ' ') == 'colour numbers', table.concat(names, ' '))
        local function problem(f) return select(2, pcall(f)) end
        assert(problem(function() file:read('/scalar'):all() end):find('/scalar: a scalar', 1, true))
        assert(problem(function() file:read('/text'):all() end):find('/text: text', 1, true))
        assert(problem(function() file:write('/new', torch.ones(1)) end):find("opened with 'r'", 1, true))
    """
    run_lua(path.parent, code, str(path))
    assert "hdf5: /text is left out: text, and Torch7 has tensors of numbers only" in capfd.readouterr().err

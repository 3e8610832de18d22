"""Packages that read and write files of other programs: csvigo, npy4th, mnist, cifar."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest

from lua_compat.runtime.errors import LuaError
from tests.helpers.commands import run_lua, run_th
from tests.helpers.places import GOLDEN


def test_csvigo_does_what_the_original_did(tmp_path: Path) -> None:
    result = run_th(GOLDEN / "packages" / "probe_csvigo.lua", tmp_path)
    assert result.stdout == (GOLDEN / "packages" / "csvigo.txt").read_text()


def test_numpys_files(tmp_path: Path) -> None:
    arrays = {
        "double": np.arange(6.0).reshape(2, 3),
        "float": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        "long": np.array([1, -(2**62)]),
        "int": np.array([[1], [2]], np.int32),
        "short": np.array([-3], np.int16),
        "byte": np.array([200, 3], np.uint8),
        "big": np.array([1, 2], ">i4"),
        "number": np.array(7.5),
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.savez(tmp_path / "all.npz", **arrays)  # type: ignore[arg-type]
    np.savez_compressed(tmp_path / "packed.npz", double=arrays["double"])
    np.save(tmp_path / "text.npy", np.array(["a"]))
    (tmp_path / "broken.npy").write_bytes((tmp_path / "double.npy").read_bytes()[:100])
    np.save(tmp_path / "object.npy", np.array([{}], object), allow_pickle=True)
    run_lua(
        tmp_path,
        """
        local npy4th = require 'npy4th'
        local folder = arg[1] .. '/'
        local all = npy4th.loadnpz(folder .. 'all.npz')
        local types = { double = 'Double', float = 'Float', long = 'Long', int = 'Int', short = 'Short',
           byte = 'Byte', big = 'Int', number = 'Double' }
        for name, kind in pairs(types) do
           local t = npy4th.loadnpy(folder .. name .. '.npy')
           assert(t:type() == ('torch.%sTensor'):format(kind), name)
           assert(t:equal(all[name]), name)
        end
        assert(all.float[2][1] == 3 and all.byte[1] == 200 and all.big[2] == 2 and all.number[1] == 7.5)
        assert(npy4th.loadnpz(folder .. 'packed.npz').double[2][3] == 5)
        for name, words in pairs{ text = 'which Torch7 has no tensors of', broken = 'cannot be read',
           object = 'cannot be read', missing = 'No such file' } do
           local ok, problem = pcall(npy4th.loadnpy, folder .. name .. '.npy')
           assert(not ok and problem:find(words, 1, true) and not problem:find('\\n'), problem)
        end
        assert(not pcall(npy4th.loadnpz, folder .. 'broken.npy') and not pcall(npy4th.loadnpy))

        local t = torch.range(1, 12):view(3, 4)
        npy4th.savenpy(folder .. 'out.npy', t:t())
        npy4th.savenpy(folder .. 'rows.npy', t:float())
        npy4th.savenpy(folder .. 'rows.npy', t:narrow(1, 1, 1):float(), 'a')
        assert(not pcall(npy4th.savenpy, folder .. 'rows.npy', t:double(), 'a'))
        assert(not pcall(npy4th.savenpy, folder .. 'rows.npy', 3))
        """,
        str(tmp_path),
    )
    assert np.array_equal(np.load(tmp_path / "out.npy"), np.arange(1.0, 13).reshape(3, 4).T)
    rows = np.load(tmp_path / "rows.npy")
    assert rows.dtype == np.float32 and rows.shape == (4, 4) and rows[3].tolist() == [1, 2, 3, 4]


def mnist_file(path: Path, array: np.ndarray, kind: int = 8) -> None:
    header = struct.pack(f">{array.ndim + 1}i", kind * 256 + array.ndim, *array.shape)
    path.write_bytes(header + array.tobytes())


READ_MNIST = """
    local mnist = require 'mnist'
    local data = mnist.traindataset()
    assert(data.size == 5 and data.data:size(2) == 4 and data[2].y == data.label[2])
    assert(data.data:type() == 'torch.ByteTensor' and data[3].x:sum() == data.data[3]:sum())
    print(data.data:double():sum(), data.label:double():sum())
    mnist.testdataset()
"""


def test_mnist(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    images, labels = draw.integers(0, 256, (5, 4, 3), np.uint8), draw.integers(0, 10, 5, np.uint8)
    mnist_file(tmp_path / "train-images-idx3-ubyte", images)
    mnist_file(tmp_path / "train-labels-idx1-ubyte", labels)
    script = tmp_path / "read.lua"
    script.write_text(READ_MNIST)
    result = run_th(script, environment={"MNIST_FOLDER": str(tmp_path)})
    assert result.stdout.split() == [str(images.sum()), str(labels.sum())]
    assert "mnist: no file t10k-images-idx3-ubyte" in result.stderr and "MNIST_FOLDER" in result.stderr


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is not a file of MNIST"),
        (b"\x00\x00\x08\x01\x00\x00", "read"),
        (struct.pack(">2i", 2049, 10) + b"123", "has 3 of its 10 bytes"),
        (struct.pack(">3i", 2050, 2**30, 2**30), "has a size of"),
        (struct.pack(">2i", 2049, -1), "has a size of -1"),
        (io.BytesIO(b"PK\x03\x04 something else").read(), "is not a file of MNIST"),
    ],
)
def test_files_that_are_not_mnists(
    data: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LuaError, match=words):
        run_lua(tmp_path, "require('mnist').traindataset()")


def test_matlabs_files(tmp_path: Path) -> None:
    scipy_io = pytest.importorskip("scipy.io")
    cells = np.empty((1, 2), object)
    cells[0, 0], cells[0, 1] = np.array([[1.0, 2]]), "two"
    scipy_io.savemat(
        tmp_path / "in.mat",
        {
            "m": np.arange(6.0).reshape(2, 3), "f": np.ones((2, 2, 2), np.float32),
            "u": np.array([[300]], np.uint16), "s": "text", "cells": cells,
            "struct": {"a": np.array([[4]]), "inner": {"b": "deep"}, "bare": {}}, "bare": {},
        },
    )  # fmt: skip
    (tmp_path / "broken.mat").write_bytes((tmp_path / "in.mat").read_bytes()[:400])
    (tmp_path / "other.mat").write_bytes(b"something else")
    run_lua(
        tmp_path,
        """
        local matio = require 'matio'
        local path = arg[1] .. '/in.mat'
        local all = matio.load(path)
        assert(all.m:type() == 'torch.DoubleTensor' and all.m[2][1] == 3 and all.m:size(2) == 3)
        assert(all.f:type() == 'torch.FloatTensor' and all.f:dim() == 3 and all.u[1][1] == 300)
        assert(all.s:type() == 'torch.CharTensor' and all.s:size(2) == 4 and all.s[1][1] == ('t'):byte())
        assert(next(all.bare) == nil and next(all.struct.bare) == nil) -- structures without fields
        assert(all.cells[1][1][2] == 2 and all.struct.a[1][1] == 4)
        matio.use_lua_strings = true
        assert(matio.load(path, 's') == 'text' and matio.load(path, { 'cells' }).cells[2] == 'two')
        assert(matio.load(path, { 'struct', 'm' }).struct.inner.b == 'deep')
        assert(matio.load(path, 'none') == nil)
        for _, name in ipairs{ 'broken', 'other' } do
           local ok, problem = pcall(matio.load, ('%s/%s.mat'):format(arg[1], name))
           assert(not ok and problem:find(name .. '.mat cannot be read', 1, true), problem)
           assert(not problem:find('\\n'))
        end
        matio.save(arg[1] .. '/out.mat', { t = torch.range(1, 6):view(2, 3):t(),
           v = torch.FloatTensor{ 1, 2 }, n = 7, s = 'words', deep = { x = torch.ByteTensor{ { 9 } } } })
        matio.save(arg[1] .. '/one.mat', torch.ones(2))
        """,
        str(tmp_path),
    )
    saved = scipy_io.loadmat(tmp_path / "out.mat")
    assert saved["t"].tolist() == [[1, 4], [2, 5], [3, 6]] and saved["v"].shape == (2, 1)
    assert saved["n"].item() == 7 and saved["s"].item() == "words" and saved["deep"]["x"].item() == 9
    assert scipy_io.loadmat(tmp_path / "one.mat")["x"].ravel().tolist() == [1, 1]


def test_md5(tmp_path: Path) -> None:
    """The checksums of RFC 1321, A.5, and of bytes that are no text."""
    run_lua(
        tmp_path,
        """
        local md5 = require 'md5'
        assert(md5.sumhexa '' == 'd41d8cd98f00b204e9800998ecf8427e')
        assert(md5.sumhexa 'message digest' == 'f96b697d7cb7938d525a2f31aaf161d0')
        assert(md5.sumhexa '\\0\\255' == 'd07d34efac6328007ad67c7e0a985e00')
        assert(#md5.sum 'abc' == 16 and md5.sum('abc'):byte() == 0x90)
        """,
    )


def test_cifars_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for batch in range(1, 6):
        (tmp_path / "data" / f"data_batch_{batch}.bin").write_bytes(
            (bytes([batch]) + bytes(range(256)) * 12) * 2
        )
    (tmp_path / "data" / "test.bin").write_bytes(bytes([3, 77]) + bytes([9]) * 3072)
    (tmp_path / "data" / "train.bin").write_bytes(b"short")
    run_lua(
        tmp_path,
        """
        local cifar = require 'cifar'
        local train = cifar.traindataset()
        assert(train.size == 10 and train.data:isSameSizeAs(torch.ByteTensor(10, 3, 32, 32)))
        assert(train[3].y == 2 and train[3].x[1][2][1] == 32 and train.label:double():sum() == 30)
        local test = cifar.testdataset100()
        assert(test[1].y == 77 and test.coarse[1] == 3 and test[1].x:double():mean() == 9)
        for words, f in pairs{
           ['no file test_batch.bin'] = cifar.testdataset, ['not a multiple of'] = cifar.traindataset100,
        } do
           local ok, problem = pcall(f)
           assert(not ok and problem:find(words, 1, true), problem)
        end
        """,
    )

"""numpy's files for the Lua package npy4th: .npy and .npz, without pickled objects."""

import os

import numpy as np
import torch
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.results import Out
from lua_compat.kernels.strings import from_lua, to_lua
from lua_compat.numpy_files import NumpyFileError, load_numpy, names_in_npz
from lua_compat.whole_file import replaced_when_whole

__all__ = ["npy_kind", "npy_names", "npy_read", "npy_write"]

_MOST_DIMENSIONS = 20
# numpy's types as Torch7's tensors; unsigned integers become wider ones
_KINDS = {
    "float64": "Double", "float32": "Float", "float16": "Float", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Byte", "uint8": "Byte", "uint16": "Int", "uint32": "Long",
    "uint64": "Long", "bool": "Byte",
}  # fmt: skip
_WIDER = {"float16": np.float32, "uint16": np.int32, "uint32": np.int64, "uint64": np.int64, "int8": np.uint8,
          "bool": np.uint8}  # fmt: skip


def _load(path: str, name: str) -> np.ndarray:
    path = from_lua(path)
    try:
        array = load_numpy(path, from_lua(name))
    except NumpyFileError as error:
        raise ValueError(to_lua(f"npy4th: {path} cannot be read: {error}")) from None
    assert isinstance(array, np.ndarray)
    if array.dtype.name not in _KINDS or array.ndim > _MOST_DIMENSIONS:
        raise ValueError(to_lua(f"npy4th: {path} holds {array.dtype.name}, which Torch7 has no tensors of"))
    return array


def npy_names(path: str) -> str:
    """Returns the names in a .npz, each ended by a zero byte."""
    try:
        return "".join(to_lua(name) + "\0" for name in names_in_npz(from_lua(path)))
    except NumpyFileError:
        raise ValueError(f"npy4th: {path} is not a .npz") from None


def npy_kind(path: str, name: str) -> str:
    """Returns the type of tensor (Double, Float...) for a .npy, or for ``name`` in a .npz."""
    return _KINDS[_load(path, name).dtype.name]


def npy_read(out: Out, path: str, name: str) -> None:
    array = _load(path, name)
    native = array.astype(_WIDER.get(array.dtype.name, array.dtype.newbyteorder("=")), order="C")
    out.resize_(native.shape or (1,))
    out.copy_(torch.from_numpy(native.reshape(out.shape)))


def npy_write(path: str, t: Tensor, append: bool) -> None:
    """Writes a tensor; ``append``: behind the rows that the file has."""
    array = array_of(t.cpu().contiguous())
    path = from_lua(path)
    if append and os.path.exists(path):
        before = _load(to_lua(path), "")
        if before.shape[1:] != array.shape[1:] or before.dtype != array.dtype:
            raise ValueError(
                to_lua(
                    f"npy4th: {path} has rows of {before.shape[1:]} {before.dtype}, not of {array.shape[1:]} "
                    f"{array.dtype}"
                )
            )
        array = np.concatenate([before, array])
    with replaced_when_whole(path) as whole, open(whole, "wb") as file:
        np.save(file, array, allow_pickle=False)

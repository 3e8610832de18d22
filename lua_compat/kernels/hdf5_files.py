"""HDF5 files that a Lua state has open, by number: the Python side of the Lua package hdf5."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lua_compat import hdf5
from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.element_types import DTYPES
from lua_compat.kernels.results import Out
from lua_compat.kernels.strings import from_lua, to_lua

# Elements that Torch7 does not have become those of the next larger type.
_READ_AS = {
    "bool": torch.uint8,
    "uint8": torch.uint8,
    "int8": torch.int8,
    "int16": torch.int16,
    "uint16": torch.int32,
    "int32": torch.int32,
    "uint32": torch.int64,
    "int64": torch.int64,
    "float16": torch.float32,
    "float32": torch.float32,
    "float64": torch.float64,
}


def _unreadable(dataset: hdf5.DataSet) -> str | None:
    """Returns why a dataset cannot become a tensor."""
    if dataset.is_text:
        return "text, and Torch7 has tensors of numbers only"
    if dataset.is_null:
        return "a null dataset, which has neither sizes nor elements"
    if dataset.dtype.name not in _READ_AS:
        return f"Torch7 has no tensors of {dataset.dtype}"
    if not dataset.dataspace_size():
        return "a scalar, and Torch7's tensors have dimensions"
    return None


class OpenFiles:
    """The files of one Lua state. Paths count from a file's root; errors are those of lua_compat.hdf5."""

    def __init__(self) -> None:
        self._files: dict[int, hdf5.File] = {}
        self._opened = 0

    def kernels(self) -> dict[str, Callable[..., Any]]:
        """Returns the kernels by name. They reach files: none is for untrusted scripts."""
        found = (
            self.hdf5_open, self.hdf5_close, self.hdf5_names, self.hdf5_shape, self.hdf5_read,
            self.hdf5_unreadable,
            self.hdf5_write, self.hdf5_make_group,
        )  # fmt: skip
        return {kernel.__name__: kernel for kernel in found}

    def hdf5_open(self, path: str, mode: str) -> int:
        """Opens a file and returns its number."""
        file = hdf5.File(from_lua(path), mode)  # type: ignore[arg-type]
        self._opened += 1
        self._files[self._opened] = file
        return self._opened

    def _file(self, number: int) -> hdf5.File:
        if number not in self._files:
            raise ValueError("the HDF5 file is closed")
        return self._files[number]

    def hdf5_close(self, number: int) -> None:
        if number in self._files:
            self._files.pop(number).close()

    def hdf5_names(self, number: int, datapath: str) -> str | None:
        """Returns the names in a group, each ended by a zero byte; None for a dataset."""
        found = self._file(number).read(from_lua(datapath))
        if isinstance(found, hdf5.DataSet):
            return None
        return "".join(to_lua(name) + "\0" for name in found.keys())  # noqa: SIM118

    def _dataset(self, number: int, datapath: str) -> hdf5.DataSet:
        found = self._file(number).read(from_lua(datapath))
        if not isinstance(found, hdf5.DataSet):
            raise ValueError(f"{datapath} is a group, not a dataset")
        return found

    def hdf5_shape(self, number: int, datapath: str) -> tuple[int, ...]:
        """Returns the code of a dataset's element type (element_types.DTYPES), then its sizes."""
        dataset = self._dataset(number, datapath)
        problem = _unreadable(dataset)
        if problem is not None:
            raise ValueError(f"{datapath}: {problem}")
        dtype = _READ_AS[dataset.dtype.name]
        return DTYPES.index(dtype), *dataset.dataspace_size()

    def hdf5_unreadable(self, number: int, datapath: str) -> str | None:
        """Returns why a dataset cannot become a tensor; None where it can, and for a group."""
        found = self._file(number).read(from_lua(datapath))
        return None if isinstance(found, hdf5.Group) else _unreadable(found)

    def hdf5_read(self, out: Out, number: int, datapath: str, *ranges: float) -> None:
        """Reads a dataset, or the block of it between first and last (from 1, both included) in each
        dimension."""
        dataset = self._dataset(number, datapath)
        if ranges:
            bounds = [int(bound) for bound in ranges]
            array = dataset.partial(*zip(bounds[::2], bounds[1::2], strict=True))
        else:
            array = dataset.all()
        native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        out.resize_(array.shape)
        if native.dtype.name in ("uint16", "uint32"):
            native = native.astype(np.int64)
        out.copy_(torch.from_numpy(native))

    def hdf5_write(
        self, number: int, datapath: str, t: Tensor, append: bool, deflate: int, *chunks: float
    ) -> None:
        """Writes or appends a tensor; ``deflate`` -1: not compressed; no ``chunks``: in one piece."""
        chunking = tuple(int(size) for size in chunks) or None
        options = hdf5.DataSetOptions(chunking, None if deflate < 0 else int(deflate))
        file = self._file(number)
        write = file.append if append else file.write
        write(from_lua(datapath), array_of(t.cpu().contiguous()), options)

    def hdf5_make_group(self, number: int, datapath: str) -> None:
        self._file(number).write(from_lua(datapath), {})

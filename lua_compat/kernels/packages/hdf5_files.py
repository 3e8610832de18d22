"""HDF5 files that a Lua state has open, by number: the Python side of the Lua package hdf5."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lua_compat import hdf5
from lua_compat.kernels.lua_memory import array_at
from lua_compat.kernels.strings import from_lua, to_lua

# Element types that Torch7 does not have are read as the next larger one.
_READ_AS = {
    "bool": "Byte",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "uint16": "Int",
    "int32": "Int",
    "uint32": "Long",
    "int64": "Long",
    "float16": "Float",
    "float32": "Float",
    "float64": "Double",
}


_NOTHING = np.empty(0)


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
    """The files of one Lua state. Paths start at a file's root; errors are those of lua_compat.hdf5."""

    def __init__(self) -> None:
        self._files: dict[int, hdf5.File] = {}
        self._opened = 0
        self._read = _NOTHING  # for hdf5_take

    def kernels(self) -> dict[str, Callable[..., Any]]:
        """Returns the kernels by name. They reach files: none is for untrusted scripts."""
        found = (
            self.hdf5_open, self.hdf5_close, self.hdf5_is_group, self.hdf5_shape, self.hdf5_read,
            self.hdf5_take, self.hdf5_parts, self.hdf5_write, self.hdf5_make_group,
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

    def hdf5_is_group(self, number: int, datapath: str) -> bool:
        return isinstance(self._file(number).read(from_lua(datapath)), hdf5.Group)

    def _dataset(self, number: int, datapath: str) -> hdf5.DataSet:
        """Returns a dataset that can become a tensor."""
        found = self._file(number).read(from_lua(datapath))
        if not isinstance(found, hdf5.DataSet):
            raise ValueError(f"{datapath} is a group, not a dataset")
        problem = _unreadable(found)
        if problem is not None:
            raise ValueError(f"{datapath}: {problem}")
        return found

    def hdf5_shape(self, number: int, datapath: str) -> tuple[str | int, ...]:
        """Returns the name of the tensor type for a dataset, as 'Double', then its sizes."""
        dataset = self._dataset(number, datapath)
        return _READ_AS[dataset.dtype.name], *dataset.dataspace_size()

    def hdf5_parts(self, number: int, datapath: str) -> str:
        """Returns what is in a group: for each part its path from there, then 'group', 'dataset', or why it
        cannot become a tensor, each text ended by a zero byte."""
        group = self._file(number).read(from_lua(datapath))
        assert isinstance(group, hdf5.Group)
        kinds = (
            ("/".join(names), "group" if isinstance(part, hdf5.Group) else _unreadable(part) or "dataset")
            for names, part in group.walk()
        )
        return "".join(f"{to_lua(path)}\0{kind}\0" for path, kind in kinds)

    def hdf5_read(self, number: int, datapath: str, *ranges: float) -> tuple[str | int, ...]:
        """Reads a dataset, or the block between first and last (from 1, both included) in each dimension, for
        ``hdf5_take``; returns the type and sizes of the data read, as ``hdf5_shape`` does."""
        dataset = self._dataset(number, datapath)
        if ranges:
            bounds = [int(bound) for bound in ranges]
            array = dataset.partial(*zip(bounds[::2], bounds[1::2], strict=True))
        else:
            array = dataset.all()
        self._read = array
        return _READ_AS[array.dtype.name], *array.shape

    def hdf5_take(self, address: float) -> None:
        """Moves the data read by ``hdf5_read`` into a contiguous tensor of the type and sizes that it
        returned."""
        array, self._read = self._read, _NOTHING
        np.copyto(array_at(address, _READ_AS[array.dtype.name], array.shape), array)

    def hdf5_write(
        self, number: int, datapath: str, append: bool, deflate: int, type_name: str, address: float,
        dimensions: int, *sizes_and_chunks: float,
    ) -> None:  # fmt: skip
        """Writes or appends a contiguous tensor of ``dimensions`` dimensions. ``deflate`` -1: not compressed.
        Chunk sizes may follow the sizes; without them the dataset is in one piece."""
        sizes, chunks = sizes_and_chunks[: int(dimensions)], sizes_and_chunks[int(dimensions) :]
        chunking = tuple(int(size) for size in chunks) or None
        options = hdf5.DataSetOptions(chunking, None if deflate < 0 else int(deflate))
        file = self._file(number)
        write = file.append if append else file.write
        write(from_lua(datapath), array_at(address, type_name, sizes), options)

    def hdf5_make_group(self, number: int, datapath: str) -> None:
        self._file(number).write(from_lua(datapath), {})

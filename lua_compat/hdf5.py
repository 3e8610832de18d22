"""torch-hdf5's files from Python: a Lua table is a group, a tensor a dataset, and there are no attributes.

    from lua_compat import hdf5

    with hdf5.open("run.h5", "w") as file:
        file.write("/net/conv1", {"weight": weight, "bias": bias})
        file.write("/losses", losses, hdf5.DataSetOptions(chunking=(1024,), deflate=6))
        file.append("/losses", more_losses)              # along the first dimension of a chunked dataset
    with hdf5.open("run.h5", "r") as file:
        file.read("/net/conv1/weight").all()             # a numpy array
        file.read("/losses").partial((1, 10))            # elements 1 to 10, both included
    hdf5.save("tensors.h5", {"x": x, "nested": {"y": y}})
    hdf5.load("tensors.h5")                              # the same dict

Tensors are numpy arrays, ``lua_compat.t7`` tensors or PyTorch tensors; they are stored as torch-hdf5 stores
them: U8, I8, I16, I32, I64, F32, F64, little-endian.
"""

import errno
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np

from lua_compat.printable import printable
from lua_compat.t7.objects import LuaTable, Tensor
from lua_compat.whole_file import replaced_when_whole

if TYPE_CHECKING:
    import h5py

Mode = Literal["a", "r", "r+", "w", "w-"]
_MODES = ("a", "r", "r+", "w", "w-")

_STORED = tuple(np.dtype(code) for code in ("u1", "i1", "<i2", "<i4", "<i8", "<f4", "<f8"))

# deflate shrinks at most about 1032 times: a dataset that is larger than that has no data in the file.
_LARGEST_COMPRESSION = 1100
_ALWAYS_ALLOWED = 1 << 20

_UNREADABLE = (
    OSError, RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError,
)  # fmt: skip


class HDF5Error(ValueError):
    """A file, or a place in it, is not as expected; the message, one line, names both."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))  # names in a file may hold anything


@contextmanager
def _reading(place: str) -> Iterator[None]:
    """Turns what h5py raises for a damaged file, in a dozen classes, into HDF5Error."""
    try:
        yield
    except HDF5Error:
        raise
    except _UNREADABLE as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise HDF5Error(f"{place} cannot be read: {reason[:200]}") from None


@dataclass(frozen=True)
class DataSetOptions:
    """How a dataset is stored: the sizes of its chunks, one per dimension, and the deflate level 0 to 9.

    Chunks larger than the data are cut to it. Only a chunked dataset can be compressed or appended to.
    """

    chunking: tuple[int, ...] | None = None
    deflate: int | None = None

    def __post_init__(self) -> None:
        if self.chunking is not None and any(size < 1 for size in self.chunking):
            raise ValueError(f"chunk sizes must be at least 1, not {self.chunking}")
        if self.deflate is not None and not 0 <= self.deflate <= 9:
            raise ValueError(f"deflate must be 0 to 9, not {self.deflate}")
        if self.deflate is not None and self.chunking is None:
            raise ValueError("deflate needs chunking")


class DataSet:
    """A dataset of an open file."""

    def __init__(self, dataset: "h5py.Dataset", place: str) -> None:
        self._dataset = dataset
        self._place = place

    @property
    def dtype(self) -> np.dtype:
        with _reading(self._place):
            return np.dtype(self._dataset.dtype)

    def dataspace_size(self) -> tuple[int, ...]:
        """Returns the sizes, without reading the data."""
        return self._shape()

    @property
    def is_text(self) -> bool:
        """Returns whether its elements are strings, which torch-hdf5 neither writes nor reads."""
        import h5py

        return h5py.check_string_dtype(self.dtype) is not None

    @property
    def is_null(self) -> bool:
        """Returns whether it has a type but no elements and no sizes."""
        with _reading(self._place):
            return self._dataset.shape is None

    def all(self) -> np.ndarray:
        """Returns the whole dataset: numbers, those of an enumeration too, or an array of str."""
        self._check(self._shape())
        with _reading(self._place):
            return np.asarray(self._dataset.asstr()[...] if self.is_text else self._dataset[...])

    def partial(self, *ranges: tuple[int, int] | int) -> np.ndarray:
        """Returns a block: for each dimension the first and last index, 1-based and both included, or one
        index.

        A single index keeps its dimension, of size 1. Raises HDF5Error outside the dataset.
        """
        shape = self._shape()
        if len(ranges) != len(shape):
            given_text = f"{len(shape)} ranges needed for sizes {shape}, {len(ranges)} given"
            raise HDF5Error(f"{self._place}: {given_text}")
        selection = []
        for dimension, (given, size) in enumerate(zip(ranges, shape, strict=True), 1):
            first, last = (given, given) if isinstance(given, int) else given
            if not 1 <= first <= last <= size:
                raise HDF5Error(
                    f"{self._place}: range {first} to {last} of dimension {dimension}; 1 to {size} accepted"
                )
            selection.append(slice(first - 1, last))
        self._check(tuple(part.stop - part.start for part in selection))
        with _reading(self._place):
            source = self._dataset.asstr() if self.is_text else self._dataset
            return np.asarray(source[tuple(selection)])

    def _shape(self) -> tuple[int, ...]:
        with _reading(self._place):
            shape = self._dataset.shape
        if shape is None:
            raise HDF5Error(f"{self._place}: a null dataset, which has neither sizes nor elements")
        return tuple(shape)

    def _check(self, shape: tuple[int, ...]) -> None:
        if self.dtype.kind not in "iufb" and not self.is_text:
            raise HDF5Error(f"{self._place}: elements of type {self.dtype}, not numbers")
        bound = _LARGEST_COMPRESSION * self._dataset.file.id.get_filesize() + _ALWAYS_ALLOWED
        if math.prod(shape) * self.dtype.itemsize > bound:
            raise HDF5Error(f"{self._place}: sizes {shape} are more than the file can hold")


class Group:
    """A group of an open file: a Lua table."""

    def __init__(self, group: "h5py.Group", place: str) -> None:
        self._group = group
        self._place = place

    def keys(self) -> list[str]:
        with _reading(self._place):
            return list(self._group.keys())

    def read(self, datapath: str) -> Union["Group", DataSet]:
        """Returns the group or dataset at ``datapath``, relative to this group. Raises HDF5Error."""
        found: Group | DataSet = self
        for name in _names(datapath):
            if isinstance(found, DataSet):
                raise HDF5Error(f"{found._place} is a dataset: there is no '{name}' in it")
            found = found._child(name)
        return found

    def _child(self, name: str) -> Union["Group", DataSet]:
        import h5py

        with _reading(self._place):
            link = self._group.get(name, getlink=True)
        if link is None:
            present = ", ".join(self.keys()[:20]) or "nothing"
            raise HDF5Error(f"{self._place} has no '{name}'; it has {present}")
        place = f"{self._place.rstrip('/')}/{name}"
        if not isinstance(link, h5py.HardLink):
            raise HDF5Error(f"{place} is a link to elsewhere, which torch-hdf5 does not write")
        with _reading(place):
            child = self._group[name]
        if isinstance(child, h5py.Group):
            return Group(child, place)
        if isinstance(child, h5py.Dataset):
            return DataSet(child, place)
        raise HDF5Error(f"{place} is neither a group nor a dataset")

    def all(self) -> dict[str, Any]:
        """Returns the group as a dict of arrays and dicts; a null dataset is None. Raises as ``walk``."""
        tables: dict[tuple[str, ...], dict[str, Any]] = {(): {}}
        for names, part in self.walk():
            table = tables[names[:-1]]
            if isinstance(part, DataSet):
                table[names[-1]] = None if part.is_null else part.all()
            else:
                table[names[-1]] = tables[names] = {}
        return tables[()]

    def walk(self) -> Iterator[tuple[tuple[str, ...], Union["Group", DataSet]]]:
        """Yields all groups and datasets in this group with their names from here, a group before its parts.

        Raises HDF5Error for a group that contains itself, or is in two places: a small file could be read as
        a tree without end.
        """
        places: dict[int, str] = {}
        todo: list[tuple[tuple[str, ...], Group]] = [((), self)]
        while todo:
            names, group = todo.pop()
            first = places.setdefault(group._address(), group._place)
            if first != group._place:
                inside = group._place.startswith(f"{first.rstrip('/')}/")
                raise HDF5Error(
                    f"{first} contains itself" if inside else f"{group._place} is the same group as {first}"
                )
            for name in group.keys():  # noqa: SIM118
                child = group._child(name)
                yield (*names, name), child
                if isinstance(child, Group):
                    todo.append(((*names, name), child))

    def _address(self) -> int:
        import h5py

        with _reading(self._place):
            return int(h5py.h5o.get_info(self._group.id).addr)


class File(Group):
    """An open file, and its root group."""

    def __init__(self, path: str | os.PathLike[str], mode: Mode = "a") -> None:
        import h5py

        if mode not in _MODES:
            raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode!r}")
        try:
            self._file = h5py.File(path, mode)
        except (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError) as error:
            code = error.errno or errno.EIO
            raise type(error)(code, os.strerror(code), os.fspath(path)) from None
        except _UNREADABLE as error:
            raise HDF5Error(f"{os.fspath(path)}: cannot be opened as HDF5: {error}") from None
        try:
            with _reading(os.fspath(path)):
                root = self._file["/"]
        except HDF5Error:
            self._file.close()
            raise
        super().__init__(root, f"{os.fspath(path)}:/")

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def write(self, datapath: str, data: Any, options: DataSetOptions | None = None) -> None:
        """Writes a tensor, or a dict (or LuaTable) of tensors and dicts, at ``datapath``.

        Raises HDF5Error if there is something already, or the file was opened for reading; TypeError for what
        torch-hdf5 cannot hold.
        """
        if self._group.file.mode == "r":
            raise HDF5Error(
                f"{self._place}: opened with 'r', for reading only; open it with 'r+' or 'a' to write"
            )
        for names, array in _tensors(_names(datapath), data):
            if array is None:
                self._require_group(names)
            else:
                self._create(names, array, options or DataSetOptions())

    def append(self, datapath: str, data: Any, options: DataSetOptions | None = None) -> None:
        """Extends datasets along their first dimension; those that are not there yet are written.

        Raises HDF5Error for a dataset that was not written with chunking, or of other sizes.
        """
        for names, array in _tensors(_names(datapath), data):
            if array is None or not names or "/".join(names) not in self._group:
                self.write("/".join(names), {} if array is None else array, options)
                continue
            dataset = self.read("/".join(names))
            if not isinstance(dataset, DataSet):
                raise HDF5Error(f"{dataset._place} is a group: a tensor cannot be appended to it")
            _extend(dataset, array)

    def _require_group(self, names: list[str]) -> "h5py.Group":
        group = self._group
        for depth, name in enumerate(names, 1):
            present = group.get(name)
            if present is None:
                group = group.create_group(name)
            elif hasattr(present, "keys"):
                group = present
            else:
                place = f"{self._place}{'/'.join(names[:depth])}"
                raise HDF5Error(f"{place} is a dataset: nothing can be put in it")
        return group

    def _create(self, names: list[str], array: np.ndarray, options: DataSetOptions) -> None:
        if not names:
            raise HDF5Error(f"{self._place}: only a dict can be written to the root")
        place = f"{self._place}{'/'.join(names)}"
        group = self._require_group(names[:-1])
        if names[-1] in group:
            raise HDF5Error(f"{place} already exists")
        storage: dict[str, Any] = {}
        if options.chunking is not None:
            if len(options.chunking) != array.ndim:
                raise HDF5Error(
                    f"{place}: {len(options.chunking)} chunk sizes for a tensor of {array.ndim} dimensions"
                )
            pairs = zip(options.chunking, array.shape, strict=True)
            storage["chunks"] = tuple(max(1, min(pair)) for pair in pairs)
            storage["maxshape"] = (None, *array.shape[1:])
            if options.deflate is not None:
                storage["compression"] = "gzip"
                storage["compression_opts"] = options.deflate
        group.create_dataset(names[-1], data=array, track_times=False, **storage)


def open(path: str | os.PathLike[str], mode: Mode = "a") -> File:
    """Opens a file: 'a' read and write, created if absent; 'r'; 'r+'; 'w' new; 'w-' new, not over another.

    Raises HDF5Error for a file that is not HDF5, OSError for one that cannot be reached.
    """
    return File(path, mode)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the whole file as a dict of arrays and dicts."""
    with open(path, "r") as file:
        return file.all()


def save(
    path: str | os.PathLike[str], tensors: Mapping[str, Any] | LuaTable, options: DataSetOptions | None = None
) -> None:
    """Writes a dict of tensors and dicts to a new file, which replaces ``path`` only when it is complete."""
    with replaced_when_whole(path) as temporary, open(temporary, "w") as file:
        file.write("/", tensors, options)


def _names(datapath: str) -> list[str]:
    return [name for name in datapath.split("/") if name]


def _tensors(names: list[str], data: Any) -> Iterator[tuple[list[str], np.ndarray | None]]:
    """Yields every tensor in ``data`` with its path; None for a table (so that empty ones are not lost)."""
    todo = [(names, data, frozenset[int]())]
    while todo:
        names, data, above = todo.pop()
        if not isinstance(data, Mapping):
            yield names, _array(data, "/" + "/".join(names))
            continue
        if id(data) in above:
            raise TypeError(f"/{'/'.join(names)}: the dict contains itself")
        yield names, None
        children = []
        for key, value in data.items():
            named = isinstance(key, str | int) and not isinstance(key, bool)
            if not named or "/" in str(key) or key in ("", ".", ".."):
                raise TypeError(f"/{'/'.join(names)}: {key!r} cannot be the name of a group or dataset")
            children.append(([*names, str(key)], value, above | {id(data)}))
        todo.extend(reversed(children))


def _array(data: Any, place: str) -> np.ndarray:
    if isinstance(data, Tensor):
        array = data.numpy()
    elif hasattr(data, "detach"):
        array = data.detach().cpu().numpy()
    elif isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
    else:
        raise TypeError(f"{place}: a {type(data).__name__} is neither a tensor nor a table of tensors")
    stored = np.dtype(np.uint8) if array.dtype == np.bool_ else array.dtype.newbyteorder("<")
    if stored not in _STORED:
        accepted = ", ".join(str(dtype) for dtype in _STORED)
        raise TypeError(f"{place}: torch-hdf5 has no tensors of {array.dtype}; it has {accepted}")
    return array.astype(stored, copy=False)


def _extend(dataset: DataSet, array: np.ndarray) -> None:
    stored, old = dataset._dataset, dataset.dataspace_size()
    if stored.chunks is None or not stored.maxshape or stored.maxshape[0] is not None:
        raise HDF5Error(f"{dataset._place} was written without chunking and cannot grow")
    if array.ndim != len(old) or array.shape[1:] != old[1:]:
        raise HDF5Error(f"{dataset._place}: sizes {array.shape} cannot be appended to sizes {old}")
    with _reading(dataset._place):  # the last row: HDF5 crashes if it writes next to what it cannot read
        stored[max(old[0] - 1, 0) :]
        stored.resize(old[0] + array.shape[0], axis=0)
        stored[old[0] :] = array

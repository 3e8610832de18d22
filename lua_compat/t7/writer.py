"""Writes .t7 files: the records Torch7 would write, in the same order."""

import contextlib
import os
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any, Literal

import numpy as np

from lua_compat.t7.encoders import AsciiEncoder, BinaryEncoder
from lua_compat.t7.format import FUNCTION, NIL, TABLE, TORCH, FileFormat
from lua_compat.t7.objects import LuaFunction, LuaTable, Storage, Tensor, TorchObject, lua_bytes
from lua_compat.t7.paths import step
from lua_compat.t7.reader import HASH_CLASSES, VEC_CLASSES, writes_two_objects
from lua_compat.whole_file import replaced_when_whole

# Tables of at least this many entries are tried as one block of numbers and strings.
_MANY = 16


class _Label(str):
    """A path step that is not a key of a table."""


_KEY = _Label(".<key>")

# A part of an object: what leads to it (a key of a table or a label), and the part.
_Part = tuple[Any, Any]


class Writer:
    """Writes objects one after the other; an object written before is written as a reference to it.

    ``file``: a path (the file appears, complete, when the writer is closed without an error) or a file open
    for writing in binary mode. ``format``: 'binary', 'ascii' or the FileFormat of a file that was read.
    ``long_size``, ``byte_order``: of the binary encoding.

    Takes the reader's objects, also dict (a table), list and tuple (the table {[1] = ...}), numpy arrays
    (a tensor) and numpy scalars. Raises TypeError or ValueError, with the path of the object, for anything
    that a .t7 file cannot hold; OSError when the disk is full.
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        format: Literal["binary", "ascii"] | FileFormat = "binary",
        long_size: Literal[4, 8] = 8,
        byte_order: Literal["little", "big"] = "little",
    ) -> None:
        if isinstance(format, FileFormat):
            encoding = format.encoding
            long_size = format.long_size or long_size
            byte_order = format.byte_order or byte_order
        else:
            encoding = format
        if encoding not in ("binary", "ascii"):
            raise ValueError(f"format must be 'binary', 'ascii' or a FileFormat, not {format!r}")
        if long_size not in (4, 8):
            raise ValueError(f"long_size must be 4 or 8, not {long_size!r}")
        if byte_order not in ("little", "big"):
            raise ValueError(f"byte_order must be 'little' or 'big', not {byte_order!r}")
        self._opened = contextlib.ExitStack()
        if isinstance(file, str | os.PathLike):
            path = self._opened.enter_context(replaced_when_whole(file))
            self._file: IO[bytes] = self._opened.enter_context(path.open("wb"))
        else:
            self._file = file
        self._encoder: BinaryEncoder | AsciiEncoder
        if encoding == "binary":
            self._encoder = BinaryEncoder(self._file, byte_order, long_size)
        else:
            self._encoder = AsciiEncoder(self._file)
        self._indices: dict[int, int] = {}
        self._kept: list[Any] = []  # an id is only unique while its object lives

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._opened.__exit__(kind, error, trace)

    def write(self, value: Any) -> None:
        """Writes one object."""
        stack: list[Iterator[_Part]] = [iter([(_Label("root"), value)])]
        place: list[Any] = [None]
        try:
            while stack:
                for place[-1], part in stack[-1]:
                    parts = self._begin(part)
                    if parts is not None:
                        stack.append(parts)
                        place.append(None)
                        break
                else:
                    stack.pop()
                    place.pop()
        except (TypeError, ValueError) as error:
            path = "".join(label if isinstance(label, _Label) else step(label) for label in place)
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{error} (at {path})") from error

    def close(self) -> None:
        """Writes out everything; a file given as a path gets its name now, unless this raises."""
        with self._opened:
            self._encoder.flush()

    def _begin(self, value: Any) -> Iterator[_Part] | None:
        """Writes a whole object, or its beginning: then the parts that follow are returned."""
        encoder = self._encoder
        if isinstance(value, np.generic):
            value = value.item()
        if value is None:
            encoder.write_int(NIL)
        elif isinstance(value, bool):
            encoder.write_boolean(value)
        elif isinstance(value, int | float):
            encoder.write_number(value)
        elif isinstance(value, str | bytes):
            encoder.write_string(lua_bytes(value))
        else:
            return self._begin_object(value)
        return None

    def _begin_object(self, value: Any) -> Iterator[_Part] | None:
        encoder = self._encoder
        if isinstance(value, LuaFunction):
            encoder.write_int(value.type_id)
        else:
            encoder.write_int(TABLE if isinstance(value, LuaTable | dict | list | tuple) else TORCH)
        if not (isinstance(value, LuaFunction) and value.type_id == FUNCTION):
            index = self._indices.get(id(value))
            if index is not None:
                encoder.write_int(index)
                return None
            index = len(self._indices) + 1
            self._indices[id(value)] = index
            self._kept.append(value)
            encoder.write_int(index)
        if isinstance(value, LuaTable):
            return self._begin_table(value)
        if isinstance(value, dict):
            return self._begin_table(LuaTable(value))
        if isinstance(value, list | tuple):
            return self._begin_table(LuaTable.from_list(value))
        if isinstance(value, LuaFunction):
            encoder.write_int(len(value.bytecode))
            encoder.write_bytes(value.bytecode)
            return iter([(_Label(".<upvalues>"), value.upvalues)])
        if isinstance(value, np.ndarray):
            return self._begin_tensor(Tensor.from_numpy(value))
        if isinstance(value, Tensor):
            return self._begin_tensor(value)
        if isinstance(value, Storage):
            self._write_class(value.typename, value.version, value.versioned)
            encoder.write_long(len(value))
            encoder.write_array(value.array)
            return None
        if isinstance(value, TorchObject):
            return self._begin_torch_object(value)
        accepted = "lua_compat.t7's objects, lists, dicts, numpy arrays, text, bytes, numbers, bool, None"
        raise TypeError(f"{type(value).__name__} cannot be written to a .t7 file; accepted: {accepted}")

    def _write_class(self, typename: str, version: int, versioned: bool) -> None:
        names = [f"V {version}", typename] if versioned else [typename]
        for name in names:
            raw = name.encode()
            self._encoder.write_int(len(raw))
            self._encoder.write_bytes(raw)

    def _begin_table(self, table: LuaTable) -> Iterator[_Part] | None:
        self._encoder.write_int(len(table))
        if len(table) >= _MANY and self._encoder.write_scalar_entries(list(table), list(table.values())):
            return None
        return _entries(table)

    def _begin_tensor(self, tensor: Tensor) -> Iterator[_Part]:
        self._write_class(tensor.typename, tensor.version, tensor.versioned)
        self._encoder.write_int(len(tensor.size))
        self._encoder.write_longs(tensor.size)
        self._encoder.write_longs(tensor.stride)
        self._encoder.write_long(tensor.storage_offset)
        return iter([(_Label(".<storage>"), tensor.storage)])

    def _begin_torch_object(self, value: TorchObject) -> Iterator[_Part] | None:
        self._write_class(value.typename, value.version, value.versioned)
        fields = value.fields
        if value.typename in VEC_CLASSES:
            self._encoder.write_long(len(fields))
            return iter(enumerate(fields, 1))
        if value.typename in HASH_CLASSES:
            self._encoder.write_long(len(fields))
            return _entries(fields)
        if isinstance(fields, bytes):
            self._encoder.write_bytes(fields)
            return None
        if writes_two_objects(value.typename, value.version) or value.preamble is not None:
            return iter([(_Label(".<preamble>"), value.preamble), (_Label(""), fields)])
        return iter([(_Label(""), fields)])


def _entries(table: LuaTable) -> Iterator[_Part]:
    for key, value in table.items():
        yield _KEY, key
        yield key, value


def save(
    file: str | os.PathLike[str] | IO[bytes],
    value: Any,
    format: Literal["binary", "ascii"] | FileFormat = "binary",
    long_size: Literal[4, 8] = 8,
    byte_order: Literal["little", "big"] = "little",
) -> None:
    """Writes one object to a .t7 file; the arguments and what is raised are those of ``Writer``.

    A file given as a path is replaced only by a complete one.
    """
    with Writer(file, format, long_size, byte_order) as writer:
        writer.write(value)

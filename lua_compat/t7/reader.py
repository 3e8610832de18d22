"""Reads .t7 files. Nesting costs memory, never the call stack; nothing in a file is ever executed."""

import io
import mmap as memory_map
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final, Literal, Protocol

from lua_compat.t7.cursors import AsciiCursor, BinaryCursor
from lua_compat.t7.elements import STORAGE_DTYPES, TENSOR_DTYPES
from lua_compat.t7.errors import T7FormatError
from lua_compat.t7.format import (
    BOOLEAN,
    FUNCTION,
    KIND_NAMES,
    LEGACY_RECUR_FUNCTION,
    NIL,
    NUMBER,
    RECUR_FUNCTION,
    STRING,
    TABLE,
    TORCH,
    FileFormat,
    detect_encoding,
)
from lua_compat.t7.objects import LuaFunction, LuaTable, Storage, Tensor, TorchObject, lua_number, lua_string
from lua_compat.t7.paths import step
from lua_compat.t7.scalar_entries import NO_KEY, read_scalar_entries

GENERATOR_BYTES = 5048  # sizeof(THGenerator) where a long has 8 bytes
# Not every Python that we support names it.
_MAP_NORESERVE = getattr(memory_map, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
LONGEST_CLASS_NAME = 255
VEC_CLASSES = ("tds.Vec", "tds_vec")
HASH_CLASSES = ("tds.Hash", "tds_hash")

_PENDING: Final = object()
_UNFINISHED: Final = object()


def writes_two_objects(typename: str, version: int) -> bool:
    """Returns whether the class writes an object before its table of fields."""
    return typename == "nn.GPU" or (typename == "nn.DataParallelTable" and version >= 2)


class _Frame(Protocol):
    """An object whose parts are still being read."""

    def take(self, value: Any) -> bool:
        """Takes the next part; True when it was the last."""

    def finish(self) -> Any:
        """Returns the object."""

    def step(self) -> str:
        """Returns the path step to the part that is being read."""


class _TableFrame:
    __slots__ = ("cursor", "key", "remaining", "result", "table")

    def __init__(self, cursor: BinaryCursor | AsciiCursor, table: LuaTable, count: int, result: Any) -> None:
        self.cursor = cursor if isinstance(cursor, BinaryCursor) else None
        self.table = table
        self.remaining = count
        self.result = result
        self.key: Any = NO_KEY

    def read_scalars(self) -> bool:
        """Reads entries as far as they are scalars; True when they were the last."""
        if self.cursor is not None:
            read, self.key = read_scalar_entries(self.cursor, self.table, self.remaining)
            self.remaining -= read
        return self.remaining == 0

    def take(self, value: Any) -> bool:
        if self.key is NO_KEY:
            if value is None or value != value:
                raise ValueError(f"the key of a table is {'nil' if value is None else 'NaN'}")
            self.key = value
            return False
        self.table[self.key] = value
        self.key = NO_KEY
        self.remaining -= 1
        return self.remaining == 0 or self.read_scalars()

    def finish(self) -> Any:
        return self.result

    def step(self) -> str:
        return ".<key>" if self.key is NO_KEY else step(self.key)


class _VecFrame:
    __slots__ = ("remaining", "result", "values")

    def __init__(self, result: TorchObject, count: int) -> None:
        self.result = result
        self.values: list[Any] = result.fields
        self.remaining = count

    def take(self, value: Any) -> bool:
        self.values.append(value)
        self.remaining -= 1
        return self.remaining == 0

    def finish(self) -> Any:
        return self.result

    def step(self) -> str:
        return step(len(self.values) + 1)


class _ObjectFrame:
    __slots__ = ("parts", "result")

    def __init__(self, result: TorchObject, parts: int) -> None:
        self.result = result
        self.parts = parts

    def take(self, value: Any) -> bool:
        self.parts -= 1
        if self.parts:
            self.result.preamble = value
        else:
            self.result.fields = value
        return self.parts == 0

    def finish(self) -> Any:
        return self.result

    def step(self) -> str:
        return ".<preamble>" if self.parts == 2 else ""


class _TensorFrame:
    __slots__ = ("index", "memo", "offset", "size", "storage", "stride", "typename", "version", "versioned")

    def __init__(
        self,
        typename: str,
        version: int,
        versioned: bool,
        shape: tuple[list[int], list[int], int],
        memo: dict[int, Any],
        index: int,
    ) -> None:
        self.typename = typename
        self.version = version
        self.versioned = versioned
        self.size, self.stride, self.offset = shape
        self.memo = memo
        self.index = index
        self.storage: Storage | None = None

    def take(self, value: Any) -> bool:
        if value is not None and not isinstance(value, Storage):
            raise ValueError(f"the storage of a {self.typename} is a {type(value).__name__}")
        self.storage = value
        return True

    def finish(self) -> Any:
        tensor = Tensor(
            self.typename,
            self.storage,
            self.size,
            self.stride,
            self.offset,
            version=self.version,
            versioned=self.versioned,
        )
        self.memo[self.index] = tensor
        return tensor

    def step(self) -> str:
        return ".<storage>"


class _FunctionFrame:
    __slots__ = ("result",)

    def __init__(self, result: LuaFunction) -> None:
        self.result = result

    def take(self, value: Any) -> bool:
        self.result.upvalues = value
        return True

    def finish(self) -> Any:
        return self.result

    def step(self) -> str:
        return ".<upvalues>"


class Reader:
    """Reads the objects of one file, in order; objects that refer to each other stay one object.

    ``file``: a path, or a file open in binary mode (a pipe too), read from where it stands and left after the
    last object read, if it can seek. ``long_size``: 4 or 8, default: found from the file. ``mmap``: whether
    the data of a file on disk is mapped (nothing is read until it is used; the file must not be shortened
    meanwhile) or copied. ``bodies``: for classes with a serializer of their own, how many objects it writes.
    ``opaque``: keep an object that cannot be understood as the rest of the file's bytes in its ``fields``,
    and leave what contains it incomplete, instead of raising.
    """

    def __init__(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        *,
        long_size: Literal[4, 8] | None = None,
        mmap: bool = True,
        bodies: Mapping[str, int] | None = None,
        opaque: bool = False,
    ) -> None:
        if long_size not in (None, 4, 8):
            raise ValueError(f"long_size must be 4 or 8, not {long_size}")
        self._stream: IO[bytes] | None = None
        self._descriptor: int | None = None
        self._owns_descriptor = False
        self._given_long_size = long_size
        self._bodies = dict(bodies or {})
        self._opaque = opaque
        self._memo: dict[int, Any] = {}
        self._cut = False
        if isinstance(file, str | os.PathLike):
            with Path(file).open("rb") as opened:
                self._buffer, self._position = _contents(opened)
                if not mmap:
                    self._descriptor = os.dup(opened.fileno())
        else:
            self._buffer, self._position = _contents(file)
            self._stream = file
        self._format: FileFormat | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; objects already read stay valid."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def format(self) -> FileFormat:
        """Returns what is known so far of the file's encoding."""
        if self._format is None:
            self._format = detect_encoding(
                bytes(self._buffer[self._position : self._position + 4]), self._position
            )
        return self._format

    @property
    def size(self) -> int:
        """Returns the size of the file in bytes."""
        return len(self._buffer)

    @property
    def unread(self) -> int:
        """Returns how many bytes follow the last object read, without white space at the end of an ascii
        file."""
        rest = self._buffer[self._position :]
        return len(bytes(rest).rstrip()) if self.format.encoding == "ascii" else len(rest)

    @property
    def position(self) -> int:
        """Returns the position after the last object read."""
        return self._position

    @property
    def at_end(self) -> bool:
        """Returns whether no byte is left."""
        return self._position >= len(self._buffer)

    def read(self) -> Any:
        """Returns the next object. Raises T7FormatError."""
        found = self.format
        if found.encoding == "ascii":
            return self._attempt(AsciiCursor(self._buffer, self._position), found)
        known = found.long_size or self._given_long_size
        if known:
            return self._attempt(self._binary_cursor(known), found)
        return self._find_long_size(found)

    def _find_long_size(self, found: FileFormat) -> Any:
        # With the wrong size of a long, reading fails at the first tensor or storage.
        known_objects = dict(self._memo)
        eight = self._binary_cursor(8)
        try:
            return self._attempt(eight, found)
        except T7FormatError as error:
            if not eight.saw_long:
                raise
            failure = error
        self._memo = known_objects
        four = self._binary_cursor(4)
        try:
            value = self._attempt(four, found)
        except T7FormatError as error:
            raise (error if error.offset > failure.offset else failure) from None
        # Read with 4, a damaged file of 8-byte longs can end too early: so the whole file must consist of
        # objects.
        known_objects, self._memo = self._memo, dict(self._memo)
        try:
            while four.position < four.end:
                self._read_object(four)
        except T7FormatError:
            raise failure from None
        self._memo = known_objects
        return value

    def _binary_cursor(self, long_size: Literal[4, 8]) -> BinaryCursor:
        order = self.format.byte_order or "little"
        return BinaryCursor(self._buffer, self._position, order, long_size, self._descriptor)

    def _attempt(self, cursor: BinaryCursor | AsciiCursor, found: FileFormat) -> Any:
        value = self._read_object(cursor)
        self._position = cursor.position
        if cursor.saw_long and found.long_size is None:
            size: Literal[4, 8] = 4 if cursor.long_size == 4 else 8
            self._format = FileFormat(found.encoding, found.byte_order, size)
        if self._stream is not None and self._stream.seekable():
            self._stream.seek(self._position)
        return value

    def _read_object(self, cursor: BinaryCursor | AsciiCursor) -> Any:
        stack: list[_Frame] = []
        try:
            while True:
                value = self._begin(cursor, stack)
                while value is not _PENDING:
                    if not stack:
                        return value
                    if not stack[-1].take(value) and not self._cut:
                        break
                    value = stack.pop().finish()
        except T7FormatError as error:
            error.path = "root" + "".join(frame.step() for frame in stack)
            raise
        except ValueError as error:
            path = "root" + "".join(frame.step() for frame in stack)
            raise T7FormatError(str(error), cursor.position, path) from None

    def _begin(self, cursor: BinaryCursor | AsciiCursor, stack: list[_Frame]) -> Any:
        """Reads one object, or its beginning (then it is on the stack and _PENDING is returned)."""
        start = cursor.position
        kind = cursor.read_int()
        if kind == NIL:
            return None
        if kind == NUMBER:
            return lua_number(cursor.read_double())
        if kind == STRING:
            return lua_string(cursor.read_raw(cursor.read_int()))
        if kind == BOOLEAN:
            return cursor.read_int() == 1
        if kind == FUNCTION:
            return self._begin_function(cursor, stack, kind, None)
        if kind not in (TABLE, TORCH, RECUR_FUNCTION, LEGACY_RECUR_FUNCTION):
            raise T7FormatError(f"type id {kind}: it must be 0 to 8", start)
        index = cursor.read_int()
        if index in self._memo:
            return self._referenced(index, kind, start)
        if kind == TABLE:
            table = LuaTable()
            self._memo[index] = table
            return self._begin_table(cursor, stack, table, cursor.read_int(), table)
        if kind == TORCH:
            return self._begin_torch_object(cursor, stack, index)
        return self._begin_function(cursor, stack, kind, index)

    def _referenced(self, index: int, kind: int, start: int) -> Any:
        value = self._memo[index]
        if value is _UNFINISHED:
            raise T7FormatError(f"object {index} contains itself where it cannot", start)
        if isinstance(value, LuaTable):
            agrees = kind == TABLE
        elif isinstance(value, LuaFunction):
            agrees = kind in (RECUR_FUNCTION, LEGACY_RECUR_FUNCTION)
        else:
            agrees = kind == TORCH
        if not agrees:
            raise T7FormatError(f"object {index} is no {KIND_NAMES[kind]}, but is referred to as one", start)
        return value

    def _begin_table(
        self,
        cursor: BinaryCursor | AsciiCursor,
        stack: list[_Frame],
        table: LuaTable,
        count: int,
        result: Any,
    ) -> Any:
        cursor.check_count(count, "a table", 8)
        if count == 0:
            return result
        frame = _TableFrame(cursor, table, count, result)
        if frame.read_scalars():
            return result
        stack.append(frame)
        return _PENDING

    def _begin_function(
        self, cursor: BinaryCursor | AsciiCursor, stack: list[_Frame], kind: int, index: int | None
    ) -> Any:
        function = LuaFunction(cursor.read_raw(cursor.read_int()), None, kind)
        if index is not None:
            self._memo[index] = function
        stack.append(_FunctionFrame(function))
        return _PENDING

    def _begin_torch_object(self, cursor: BinaryCursor | AsciiCursor, stack: list[_Frame], index: int) -> Any:
        start = cursor.position
        header = cursor.read_raw(cursor.read_int())
        version, versioned = 0, header.startswith(b"V ") and header[2:].isdigit() and len(header) < 12
        if versioned:
            version = int(header[2:])
            header = cursor.read_raw(cursor.read_int())
        if len(header) > LONGEST_CLASS_NAME or not header.isascii() or not header.decode().isprintable():
            raise T7FormatError(f"a class name expected, found {header[:20]!r}...", start)
        typename = header.decode()
        self._memo[index] = _UNFINISHED
        if typename in TENSOR_DTYPES:
            stack.append(_TensorFrame(typename, version, versioned, _read_shape(cursor), self._memo, index))
            return _PENDING
        value: Any
        if typename in STORAGE_DTYPES:
            elements = cursor.read_array(STORAGE_DTYPES[typename], cursor.read_long())
            value = Storage(typename, elements, version=version, versioned=versioned)
            self._memo[index] = value
            return value
        value = TorchObject(typename, version, versioned=versioned)
        self._memo[index] = value
        return self._begin_body(cursor, stack, value, start)

    def _begin_body(
        self, cursor: BinaryCursor | AsciiCursor, stack: list[_Frame], value: TorchObject, start: int
    ) -> Any:
        typename = value.typename
        if typename in VEC_CLASSES:
            value.fields = []
            count = cursor.read_long()
            cursor.check_count(count, "a tds.Vec", 4)
            if count == 0:
                return value
            stack.append(_VecFrame(value, count))
            return _PENDING
        if typename in HASH_CLASSES:
            return self._begin_table(cursor, stack, value.fields, cursor.read_long(), value)
        if typename == "torch.Generator":
            value.fields = cursor.read_raw(GENERATOR_BYTES)
            return value
        parts = self._bodies.get(typename, 2 if writes_two_objects(typename, value.version) else 1)
        if typename not in self._bodies:
            body = cursor.position
            kind = cursor.read_int()
            cursor.position = body
            if kind != TABLE:
                return self._not_understood(cursor, value, start)
        stack.append(_ObjectFrame(value, parts))
        return _PENDING

    def _not_understood(self, cursor: BinaryCursor | AsciiCursor, value: TorchObject, start: int) -> Any:
        if not self._opaque:
            raise T7FormatError(
                f"class '{value.typename}' has a serializer of its own, unknown here: it wrote no table",
                start,
            )
        value.fields = bytes(self._buffer[cursor.position :])
        cursor.position = len(self._buffer)
        self._cut = True
        return value


def _read_shape(cursor: BinaryCursor | AsciiCursor) -> tuple[list[int], list[int], int]:
    dimensions = cursor.read_int()
    cursor.check_count(dimensions, "a number of dimensions", 8)
    return cursor.read_longs(dimensions), cursor.read_longs(dimensions), cursor.read_long()


def _contents(file: IO[bytes]) -> tuple[memoryview, int]:
    """Returns the bytes of an open file, mapped if it is on disk, and the position it stands at.

    The map is private: the arrays in it can be written to, the file does not change.
    """
    raw = getattr(file, "raw", file)
    # Only a plain file: a gzip file, too, has a descriptor, that of the compressed bytes.
    if isinstance(raw, io.FileIO):
        status = os.fstat(raw.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size > 0:
            # Without NORESERVE, a file larger than the memory could not be mapped.
            flags = memory_map.MAP_PRIVATE | _MAP_NORESERVE
            protection = memory_map.PROT_READ | memory_map.PROT_WRITE
            return memoryview(memory_map.mmap(raw.fileno(), 0, flags=flags, prot=protection)), file.tell()
    position = file.tell() if file.seekable() else 0
    contents = bytearray(position)
    while chunk := file.read(1 << 20):
        if not isinstance(chunk, bytes | bytearray | memoryview):
            raise TypeError("open the .t7 file in binary mode ('rb')")
        contents += chunk
    return memoryview(contents), position


def load(
    file: str | os.PathLike[str] | IO[bytes],
    *,
    long_size: Literal[4, 8] | None = None,
    mmap: bool = True,
    bodies: Mapping[str, int] | None = None,
    opaque: bool = False,
) -> Any:
    """Returns the first object of a .t7 file. The options are those of ``Reader``; raises T7FormatError,
    OSError."""
    return load_with_format(file, long_size=long_size, mmap=mmap, bodies=bodies, opaque=opaque)[0]


def load_with_format(
    file: str | os.PathLike[str] | IO[bytes],
    *,
    long_size: Literal[4, 8] | None = None,
    mmap: bool = True,
    bodies: Mapping[str, int] | None = None,
    opaque: bool = False,
) -> tuple[Any, FileFormat]:
    """Does as ``load``, and also returns the encoding: ``save(path, obj, format=that)`` writes the same."""
    with Reader(file, long_size=long_size, mmap=mmap, bodies=bodies, opaque=opaque) as reader:
        value = reader.read()
        return value, reader.format

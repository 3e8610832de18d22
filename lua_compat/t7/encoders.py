"""The two encodings of a .t7 file, written."""

import itertools
import math
import struct
import sys
from collections.abc import Iterator
from typing import IO, Any, Literal

import numpy as np

from lua_compat.t7.format import BOOLEAN, NUMBER, STRING

_FLUSH_AT = 1 << 20
_CHUNK = 1 << 16
_EXACT_INTEGER = 2**53


def lua_double(value: int | float) -> float:
    """A Python number as a Lua number. Raises ValueError for an int that a double does not hold."""
    if isinstance(value, int) and not -_EXACT_INTEGER <= value <= _EXACT_INTEGER:
        try:
            exact = int(float(value)) == value
        except OverflowError:
            exact = False
        if not exact:
            raise ValueError(f"{value} cannot be held exactly by a Lua number, a double")
    return float(value)


class _Encoder:
    """Collects the bytes of the records and hands them to a file in large pieces."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._pending = bytearray()

    def _flush_if_large(self) -> None:
        if len(self._pending) >= _FLUSH_AT:
            self.flush()

    def flush(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, bytearray()
            _write_all(self._file, memoryview(pending))


def _write_all(file: IO[bytes], data: memoryview) -> None:
    # A raw file may take only a part at a time.
    while len(data):
        written = file.write(data)
        data = data[written:]


class BinaryEncoder(_Encoder):
    def __init__(
        self, file: IO[bytes], byte_order: Literal["little", "big"], long_size: Literal[4, 8]
    ) -> None:
        super().__init__(file)
        self._order: Literal["<", ">"] = "<" if byte_order == "little" else ">"
        self._swapped = byte_order != sys.byteorder
        self._long_size = long_size
        self._int = struct.Struct(self._order + "i")
        self._two_ints = struct.Struct(self._order + "ii")
        self._number = struct.Struct(self._order + "id")
        self._long = struct.Struct(self._order + ("i" if long_size == 4 else "q"))

    def write_int(self, value: int) -> None:
        self._pending += self._int.pack(value)

    def write_long(self, value: int) -> None:
        try:
            self._pending += self._long.pack(value)
        except struct.error:
            raise ValueError(f"{value} does not fit a long of {self._long_size} bytes") from None

    def write_longs(self, values: tuple[int, ...]) -> None:
        for value in values:
            self.write_long(value)

    def write_number(self, value: int | float) -> None:
        """The record of a number, with its type id."""
        self._pending += self._number.pack(NUMBER, lua_double(value))

    def write_boolean(self, value: bool) -> None:
        self._pending += self._two_ints.pack(BOOLEAN, value)

    def write_string(self, text: bytes) -> None:
        self._pending += self._two_ints.pack(STRING, len(text))
        self._pending += text
        self._flush_if_large()

    def write_bytes(self, raw: bytes) -> None:
        """The bytes of a string, without its length."""
        self._pending += raw

    def write_array(self, array: np.ndarray) -> None:
        stored = array.dtype
        if stored == np.int64 and self._long_size == 4:
            stored = np.dtype(np.int32)
            limits = np.iinfo(np.int32)
            if len(array) and (array.min() < limits.min or array.max() > limits.max):
                raise ValueError("a LongStorage holds values that do not fit a long of 4 bytes")
        if stored == array.dtype and not self._swapped:
            self.flush()
            _write_all(self._file, array.view(np.uint8).data)
            return
        for start in range(0, len(array), _CHUNK):
            self._pending += array[start : start + _CHUNK].astype(stored.newbyteorder(self._order)).tobytes()
            self._flush_if_large()

    def write_scalar_entries(self, keys: list[Any], values: list[Any]) -> bool:
        """Entries from numbers to numbers or to strings, at once; False, and nothing written, for others."""
        if not set(map(type, keys)) <= {int, float}:
            return False
        types = set(map(type, values))
        if types <= {int, float}:
            records = np.empty(
                len(keys),
                np.dtype([("t", "i4"), ("k", "f8"), ("u", "i4"), ("v", "f8")]).newbyteorder(self._order),
            )
            records["t"] = records["u"] = NUMBER
            try:
                records["k"] = keys
                records["v"] = values
            except OverflowError:
                return False
            if max(np.abs(records["k"]).max(), np.abs(records["v"]).max()) >= _EXACT_INTEGER:
                return False  # perhaps an int that must be refused
            self._pending += records.tobytes()
            self._flush_if_large()
            return True
        if types <= {str, bytes}:
            pack = struct.Struct(self._order + "idii").pack
            encoded = [v.encode() if type(v) is str else v for v in values]
            self._pending += b"".join(
                [pack(NUMBER, lua_double(k), STRING, len(v)) + v for k, v in zip(keys, encoded, strict=True)]
            )
            self._flush_if_large()
            return True
        return False


class AsciiEncoder(_Encoder):
    """Numbers as Torch7 prints them (%.9g, %.17g); strings, bytes and chars as they are."""

    def _line(self, text: str) -> None:
        self._pending += text.encode()
        self._pending += b"\n"
        self._flush_if_large()

    def write_int(self, value: int) -> None:
        self._line(str(value))

    write_long = write_int

    def write_longs(self, values: tuple[int, ...]) -> None:
        if values:
            self._line(" ".join(map(str, values)))

    def write_number(self, value: int | float) -> None:
        self.write_int(NUMBER)
        self._line(_formatted(lua_double(value), 17))

    def write_boolean(self, value: bool) -> None:
        self.write_int(BOOLEAN)
        self.write_int(int(value))

    def write_string(self, text: bytes) -> None:
        self.write_int(STRING)
        self.write_int(len(text))
        self.write_bytes(text)

    def write_bytes(self, raw: bytes) -> None:
        if raw:
            self._pending += raw
            self._pending += b"\n"
            self._flush_if_large()

    def write_array(self, array: np.ndarray) -> None:
        if array.dtype.itemsize == 1:
            self.write_bytes(array.tobytes())
            return
        for start in range(0, len(array), _CHUNK):
            separator = b" " if start else b""
            words = _words(array[start : start + _CHUNK])
            self._pending += separator + " ".join(words).encode()
            self._flush_if_large()
        if len(array):
            self._pending += b"\n"

    def write_scalar_entries(self, keys: list[Any], values: list[Any]) -> bool:
        return False


def _formatted(value: float, digits: int) -> str:
    if value != value:  # C prints the sign of a NaN, Python does not
        return "-nan" if math.copysign(1.0, value) < 0 else "nan"
    return f"{value:.{digits}g}"


def _words(array: np.ndarray) -> Iterator[str]:
    if array.dtype.kind != "f":
        return map(str, array.tolist())
    digits = 17 if array.dtype == np.float64 else 9
    return map(_formatted, array.astype(np.float64).tolist(), itertools.repeat(digits))

"""Writers of the two encodings of a .t7 file."""

import itertools
import math
import struct
import sys
from collections.abc import Iterator
from typing import IO, Any, Literal

import numpy as np

from lua_compat.t7.format import BOOLEAN, NUMBER, STRING
from lua_compat.t7.objects import EXACT_INTEGER, lua_bytes

_FLUSH_AT = 1 << 20
_CHUNK = 1 << 16


def lua_double(value: int | float) -> float:
    """Returns a Python number as a Lua number. Raises ValueError for an int that a double cannot
    represent."""
    if isinstance(value, int) and not -EXACT_INTEGER <= value <= EXACT_INTEGER:
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
        """Writes the record of a number, with its type id."""
        self._pending += self._number.pack(NUMBER, lua_double(value))

    def write_boolean(self, value: bool) -> None:
        self._pending += self._two_ints.pack(BOOLEAN, value)

    def write_string(self, text: bytes) -> None:
        self._pending += self._two_ints.pack(STRING, len(text))
        self._pending += text
        self._flush_if_large()

    def write_bytes(self, raw: bytes) -> None:
        """Writes the bytes of a string, without its length."""
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
        """Writes entries at once if their keys are all numbers or all strings, and their values of one kind.

        Returns False, with nothing written, for others.
        """
        whole = self._number_entries(keys, values)
        if whole is None:
            key_records = self._records(keys) if type(keys[0]) is not bool else None
            value_records = self._records(values) if key_records is not None else None
            if key_records is None or value_records is None:
                return False
            whole = b"".join(itertools.chain.from_iterable(zip(key_records, value_records, strict=True)))
        self._pending += whole
        self._flush_if_large()
        return True

    def _number_entries(self, keys: list[Any], values: list[Any]) -> bytes | None:
        if not (_are_numbers(keys) and _are_numbers(values)):
            return None
        entry = [("key_type", "i4"), ("key", "f8"), ("value_type", "i4"), ("value", "f8")]
        records = np.empty(len(keys), np.dtype(entry).newbyteorder(self._order))
        records["key_type"] = records["value_type"] = NUMBER
        records["key"] = keys
        records["value"] = values
        return records.tobytes()

    def _records(self, values: list[Any]) -> list[bytes] | None:
        types = set(map(type, values))
        if types == {bool}:
            false, true = self._two_ints.pack(BOOLEAN, 0), self._two_ints.pack(BOOLEAN, 1)
            return [true if value else false for value in values]
        if types <= {str, bytes}:
            pack = self._two_ints.pack
            return [pack(STRING, len(text)) + text for text in map(lua_bytes, values)]
        if _are_numbers(values):
            pack_number = self._number.pack
            return [pack_number(NUMBER, value) for value in values]
        return None


def _are_numbers(values: list[Any]) -> bool:
    """Returns whether all are numbers that a double holds; where an int is doubtful, no."""
    if not set(map(type, values)) <= {int, float}:
        return False
    try:
        return not (np.abs(np.array(values, np.float64)) >= EXACT_INTEGER).any()
    except OverflowError:
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

"""The two encodings of a .t7 file, read: each cursor walks a buffer and never leaves it."""

import os
import re
import struct
import sys
from typing import Literal

import numpy as np

from lua_compat.t7.errors import T7FormatError

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


class BinaryCursor:
    """The binary encoding: ints of 4 bytes, longs of 4 or 8, in either byte order."""

    def __init__(
        self,
        buffer: memoryview,
        position: int,
        byte_order: Literal["little", "big"],
        long_size: Literal[4, 8],
        descriptor: int | None = None,
    ) -> None:
        """``descriptor``: an open file to read storages from, where they are to be copied and not mapped."""
        self.buffer = buffer
        self.position = position
        self.end = len(buffer)
        self.long_size: int | None = long_size
        self.saw_long = False
        self.swapped = byte_order != sys.byteorder
        self.descriptor = descriptor
        self.order: Literal["<", ">"] = "<" if byte_order == "little" else ">"
        self._int = struct.Struct(self.order + "i")
        self._double = struct.Struct(self.order + "d")
        self.unpack_two_ints = struct.Struct(self.order + "ii").unpack_from
        self.unpack_number = struct.Struct(self.order + "id").unpack_from
        # The entries of a table that have one size, from a number to a number and to a boolean.
        self.entry_start = struct.Struct(self.order + "idi")
        entry = [("key_type", "i4"), ("key", "f8"), ("value_type", "i4")]
        self.number_entry = np.dtype([*entry, ("value", "f8")]).newbyteorder(self.order)
        self.boolean_entry = np.dtype([*entry, ("value", "i4")]).newbyteorder(self.order)
        self._long = struct.Struct(self.order + ("i" if long_size == 4 else "q"))

    def bytes_left(self) -> int:
        return self.end - self.position

    def _advance(self, count: int, what: str) -> int:
        start = self.position
        if count > self.end - start:
            left = self.end - start
            raise T7FormatError(f"the file ends inside {what}: {count} bytes needed, {left} left", start)
        self.position = start + count
        return start

    def check_count(self, count: int, what: str, bytes_each: int) -> None:
        if count < 0 or count * bytes_each > self.end - self.position:
            raise T7FormatError(
                f"{what} of {count} cannot fit in the {self.end - self.position} bytes left", self.position
            )

    def read_int(self) -> int:
        start = self.position
        if self.end - start < 4:
            self._advance(4, "an int")
        self.position = start + 4
        value: int = self._int.unpack_from(self.buffer, start)[0]
        return value

    def read_long(self) -> int:
        self.saw_long = True
        value: int = self._long.unpack_from(self.buffer, self._advance(self._long.size, "a long"))[0]
        return value

    def read_longs(self, count: int) -> list[int]:
        return [self.read_long() for _ in range(count)]

    def read_double(self) -> float:
        value: float = self._double.unpack_from(self.buffer, self._advance(8, "a number"))[0]
        return value

    def read_raw(self, count: int) -> bytes:
        self.check_count(count, "a string", 1)
        start = self._advance(count, "a string")
        return bytes(self.buffer[start : self.position])

    def read_array(self, dtype: np.dtype, count: int) -> np.ndarray:
        """Returns ``count`` elements: the mapped bytes themselves where their layout is this machine's."""
        stored = dtype
        if dtype == np.int64:
            stored = np.dtype(np.int32 if self.long_size == 4 else np.int64)
        self.check_count(count, "a storage", stored.itemsize)
        start = self._advance(count * stored.itemsize, "a storage")
        if self.descriptor is not None and stored == dtype and not self.swapped:
            return _read_at(self.descriptor, dtype, count, start)
        mapped = np.frombuffer(self.buffer, stored.newbyteorder(self.order), count, start)
        return mapped.view(dtype) if stored == dtype and not self.swapped else mapped.astype(dtype)


def _read_at(descriptor: int, dtype: np.dtype, count: int, start: int) -> np.ndarray:
    array = np.empty(count, dtype)
    target = array.view(np.uint8).data
    done = 0
    while done < len(target):
        read = os.preadv(descriptor, [target[done:]], start + done)
        if read == 0:
            raise T7FormatError("the file was shortened while it was read", start + done)
        done += read
    return array


_INTEGER = re.compile(rb"[ \t\n\v\f\r]*([+-]?[0-9]{1,20})")
_NUMBER = re.compile(rb"[ \t\n\v\f\r]*([+-]?(?:[0-9.eE+-]{1,400}|inf|nan))", re.IGNORECASE)
_WINDOW = 1 << 19


class AsciiCursor:
    """The ascii encoding: numbers as text, each array on a line; strings, bytes and chars as they are."""

    long_size: int | None = None
    saw_long = False

    def __init__(self, buffer: memoryview, position: int) -> None:
        self.buffer = buffer
        self.position = position
        self.end = len(buffer)

    def bytes_left(self) -> int:
        return self.end - self.position

    def check_count(self, count: int, what: str, bytes_each: int) -> None:
        # Every element of an array takes a digit and a space, the last one's may be cut.
        smallest = 1 if bytes_each == 1 else 2
        if count < 0 or count * smallest > self.end - self.position + 1:
            raise T7FormatError(
                f"{what} of {count} cannot fit in the {self.end - self.position} bytes left", self.position
            )

    def _end_of_line(self) -> None:
        if self.position < self.end and self.buffer[self.position] == 0x0A:
            self.position += 1

    def _integer(self, smallest: int, largest: int, what: str) -> int:
        match = _INTEGER.match(self.buffer, self.position)
        if match is None:
            raise T7FormatError(f"{what} expected, found {self._found()}", self.position)
        value = int(match[1])
        if not smallest <= value <= largest:
            raise T7FormatError(f"{value} does not fit {what}", self.position)
        self._take_number(match.end())
        return value

    def _take_number(self, end: int) -> None:
        # Torch7 ends every line: without it, the file is cut and so, perhaps, the number.
        if end == self.end:
            raise T7FormatError("the file ends in a number, without the newline after it", self.position)
        self.position = end

    def _found(self) -> str:
        rest = bytes(self.buffer[self.position : self.position + 20])
        return repr(rest)[1:] if rest else "the end of the file"

    def read_int(self) -> int:
        value = self._integer(_INT_MIN, _INT_MAX, "an int")
        self._end_of_line()
        return value

    def read_long(self) -> int:
        value = self._integer(_LONG_MIN, _LONG_MAX, "a long")
        self._end_of_line()
        return value

    def read_longs(self, count: int) -> list[int]:
        self.check_count(count, "an array of longs", 2)
        values = [self._integer(_LONG_MIN, _LONG_MAX, "a long") for _ in range(count)]
        if count:
            self._end_of_line()
        return values

    def read_double(self) -> float:
        match = _NUMBER.match(self.buffer, self.position)
        try:
            if match is None:
                raise ValueError
            value = float(match[1])
        except ValueError:
            raise T7FormatError(f"a number expected, found {self._found()}", self.position) from None
        self._take_number(match.end())
        self._end_of_line()
        return value

    def read_raw(self, count: int) -> bytes:
        self.check_count(count, "a string", 1)
        if count > self.bytes_left():
            raise T7FormatError(f"the file ends inside a string of {count}", self.position)
        start = self.position
        self.position += count
        if count:
            self._end_of_line()
        return bytes(self.buffer[start : start + count])

    def read_array(self, dtype: np.dtype, count: int) -> np.ndarray:
        if dtype.itemsize == 1:
            return np.frombuffer(bytearray(self.read_raw(count)), dtype)
        self.check_count(count, "a storage", 2)
        array = np.empty(count, dtype)
        done = 0
        while done < count:
            start = self.position
            words = self._words(count - done)
            try:
                array[done : done + len(words)] = _parse(words, dtype)
            except (ValueError, OverflowError):
                problem = f"a storage of {dtype} holds something else, near {words[0][:20]!r}"
                raise T7FormatError(problem, start) from None
            done += len(words)
        if count:
            self._end_of_line()
        return array

    def _words(self, wanted: int) -> list[bytes]:
        # Some of the next words, at most ``wanted``. The window grows with what is wanted, so that many small
        # arrays cost no more than one large one.
        size = min(32 * wanted + 32, _WINDOW)
        while True:
            window = bytes(self.buffer[self.position : self.position + size])
            words = window.split(None, wanted)
            if len(words) > wanted:
                rest = words.pop()
            elif words and not window[-1:].isspace():
                rest = words.pop()  # it may go on beyond the window
            else:
                rest = b""
            if words:
                self.position += len(window) - len(rest)
                return words
            if rest or not window:
                raise T7FormatError("a word of an array expected, found " + self._found(), self.position)
            self.position += len(window)  # nothing but spaces


def _parse(words: list[bytes], dtype: np.dtype) -> np.ndarray:
    if any(b"_" in word for word in words):  # Python reads 1_0, Torch7 does not
        raise ValueError
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array([float(word) for word in words], np.float64).astype(dtype)
    values = np.array([int(word) for word in words], np.int64)
    limits = np.iinfo(dtype)
    if values.min() < limits.min or values.max() > limits.max:
        raise ValueError
    return values.astype(dtype)

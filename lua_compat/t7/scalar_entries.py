"""The fast path through tables: entries of numbers, strings and booleans of a binary file, many at a time."""

import struct
from typing import Any, Final

import numpy as np

from lua_compat.t7.cursors import BinaryCursor
from lua_compat.t7.format import BOOLEAN, NUMBER, STRING
from lua_compat.t7.objects import DeferredEntries, LuaTable, lua_number, lua_string, numbers
from lua_compat.t7.token_blocks import read_token_block

NO_KEY: Final = object()

_FEW = 32
_FIRST_BLOCK, _LARGEST_BLOCK = 32, 1 << 16
_FIRST_WINDOW, _LARGEST_WINDOW = 1 << 13, 1 << 20


def read_scalar_entries(cursor: BinaryCursor, table: LuaTable, count: int) -> tuple[int, Any]:
    """Reads at most ``count`` entries into ``table`` and stops before anything it does not handle.

    Returns how many were read, and the key of the next one if it has been read already, else NO_KEY. Errors
    in the file are left for the reader to find.
    """
    if count < _FEW:
        return read_one_by_one(cursor, table, count)
    done = 0
    while True:
        done += _read_blocks(cursor, table, count - done)
        if done == count:
            return done, NO_KEY
        wanted = min(_FEW, count - done)
        read, key = read_one_by_one(cursor, table, wanted)
        done += read
        if read < wanted or done == count:
            return done, key
        # A few scalars in a row: there may be many more.
        window = _FIRST_WINDOW
        while done < count:
            found = read_token_block(
                cursor.buffer[cursor.position : cursor.position + window], cursor.order, count - done
            )
            if found is None:
                break
            _put(cursor, table, found)
            cursor.position += found.size
            done += found.entries
            if found.size < window // 2:
                break
            window = min(4 * window, _LARGEST_WINDOW)
        if done == count:
            return done, NO_KEY


def _put(cursor: BinaryCursor, table: LuaTable, entries: DeferredEntries) -> None:
    if cursor.descriptor is None:
        table.defer(entries)
    else:  # entries must not depend on the file any longer
        table.add_entries(*entries.decode())


class _FixedSizeEntries:
    """Records from numbers to numbers or to booleans."""

    __slots__ = ("_records", "_value_type")

    def __init__(self, records: np.ndarray, value_type: int) -> None:
        self._records = records
        self._value_type = value_type

    def decode(self) -> tuple[np.ndarray, list[Any]]:
        values = self._records["value"]
        return self._records["key"], numbers(values) if self._value_type == NUMBER else (values == 1).tolist()


def _read_blocks(cursor: BinaryCursor, table: LuaTable, count: int) -> int:
    """Entries from numbers to numbers, or to booleans: records of one size, decoded by numpy."""
    try:
        key_type, _, value_type = cursor.entry_start.unpack_from(cursor.buffer, cursor.position)
    except struct.error:
        return 0
    if key_type != NUMBER or value_type not in (NUMBER, BOOLEAN):
        return 0
    record = cursor.number_entry if value_type == NUMBER else cursor.boolean_entry
    done, block = 0, _FIRST_BLOCK
    while True:
        size = min(block, count - done, (cursor.end - cursor.position) // record.itemsize)
        if size == 0:
            return done
        records = np.frombuffer(cursor.buffer, record, size, cursor.position)
        keys = records["key"]
        good = (records["key_type"] == NUMBER) & (records["value_type"] == value_type) & (keys == keys)
        run = size if good.all() else int(good.argmin())
        if run:
            _put(cursor, table, _FixedSizeEntries(records[:run], value_type))
        cursor.position += run * record.itemsize
        done += run
        if run < size:
            return done
        block = min(4 * block, _LARGEST_BLOCK)


def read_one_by_one(cursor: BinaryCursor, table: LuaTable, count: int) -> tuple[int, Any]:
    buffer, end, position = cursor.buffer, cursor.end, cursor.position
    two_ints, number = cursor.unpack_two_ints, cursor.unpack_number
    array, others = table.array_part, table.hash_part
    key: Any = NO_KEY
    value: Any
    done = 0
    try:
        while done < count:
            kind, length = two_ints(buffer, position)
            if kind == NUMBER:
                key = number(buffer, position)[1]
                if key != key:
                    key = NO_KEY
                    break
                at = position + 12
            elif kind == STRING:
                at = position + 8 + length
                if length < 0 or at > end:
                    break
                key = lua_string(bytes(buffer[position + 8 : at]))
            else:
                break
            kind, length = two_ints(buffer, at)
            if kind == NUMBER:
                value = lua_number(number(buffer, at)[1])
                position = at + 12
            elif kind == STRING:
                position = at + 8 + length
                if length < 0 or position > end:
                    position = at
                    break
                value = lua_string(bytes(buffer[at + 8 : position]))
            elif kind == BOOLEAN:
                value = length == 1
                position = at + 8
            else:
                position = at
                break
            if type(key) is str:
                others[key] = value
            elif key == len(array) + 1 and not others:
                array.append(value)
            else:
                table[key] = value
            key = NO_KEY
            done += 1
    except struct.error:
        key = NO_KEY  # the file ends here: the entry is read again, with its error
    cursor.position = position
    if type(key) is float:
        key = lua_number(key)
    return done, key

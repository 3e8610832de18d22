"""Many scalar records of a binary file found at once, where strings make their sizes differ.

The records of a block of the file are guessed from their type ids, all at the same time, and then checked:
each must begin where the one before it ends. What does not check is left to the reader that goes one by one.
"""

from typing import Any, NamedTuple

import numpy as np

from lua_compat.t7.format import BOOLEAN, NUMBER, STRING
from lua_compat.t7.objects import lua_string, numbers

_NUMBER_BYTES, _BOOLEAN_BYTES, _STRING_HEADER_BYTES = 12, 8, 8


class TokenBlock(NamedTuple):
    """Consecutive scalars: keys and values in turn, and the bytes they take."""

    keys: list[Any]
    values: list[Any]
    size: int


def read_token_block(window: memoryview, swapped: bool, entries: int) -> TokenBlock | None:
    """At most ``entries`` whole table entries from the start of ``window``; None if it starts with none.

    ``swapped``: whether the file is big-endian. Keys are numbers or strings, values also booleans.
    """
    order = ">" if swapped else "<"
    block = np.frombuffer(window, np.uint8)
    if len(block) < 2 * _NUMBER_BYTES:
        return None
    starts, kinds = _candidates(block, swapped)
    words: np.ndarray = np.ndarray(len(block) - 3, order + "i4", window, strides=(1,))
    lengths = words[np.minimum(starts + 4, len(words) - 1)].astype(np.int64)
    sizes = np.where(kinds == NUMBER, _NUMBER_BYTES, _BOOLEAN_BYTES)
    sizes = np.where(kinds == STRING, _STRING_HEADER_BYTES + np.maximum(lengths, 0), sizes)
    count = _chained(starts, sizes, kinds, lengths, len(block))
    count = min(count - count % 2, 2 * entries)
    booleans = np.flatnonzero(kinds[:count:2] == BOOLEAN)
    if len(booleans):
        count = 2 * int(booleans[0])
    if count == 0:
        return None
    doubles: np.ndarray = np.ndarray(len(block) - 7, order + "f8", window, strides=(1,))
    number_keys = starts[:count:2][kinds[:count:2] == NUMBER]
    if np.isnan(doubles[number_keys + 4]).any():
        return None  # an error, found one by one
    columns = []
    for parity in (0, 1):
        part = slice(parity, count, 2)
        columns.append(_decode(window, starts[part], kinds[part], lengths[part], doubles))
    return TokenBlock(columns[0], columns[1], int(starts[count - 1] + sizes[count - 1]))


def _candidates(block: np.ndarray, swapped: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where a type id of a scalar may be, and which."""
    zero = block == 0
    if swapped:
        low = block[3:]
        zeros = zero[:-3] & zero[1:-2] & zero[2:-1]
    else:
        low = block[:-3]
        zeros = zero[1:-2] & zero[2:-1] & zero[3:]
    sized = ((low == STRING) | (low == BOOLEAN)) & zeros
    found = sized | ((low == NUMBER) & zeros)
    found[4:] &= ~sized[:-4]  # the length of a string, or a boolean's value, and no type id
    starts = np.flatnonzero(found)
    return starts, low[starts]


def _chained(starts: np.ndarray, sizes: np.ndarray, kinds: np.ndarray, lengths: np.ndarray, end: int) -> int:
    """How many of the first candidates are records that follow each other without a gap, inside the block."""
    if not len(starts) or starts[0] != 0:
        return 0
    ends = starts + sizes
    good = (ends <= end) & ~((kinds == STRING) & (lengths < 0))
    good[1:] &= ends[:-1] == starts[1:]
    return len(good) if good.all() else int(good.argmin())


def _decode(
    window: memoryview, starts: np.ndarray, kinds: np.ndarray, lengths: np.ndarray, doubles: np.ndarray
) -> list[Any]:
    first = kinds[0]
    if (kinds == first).all():
        return _decode_kind(int(first), window, starts, lengths, doubles)
    values = np.empty(len(starts), object)
    for kind in (NUMBER, STRING, BOOLEAN):
        chosen = kinds == kind
        if chosen.any():
            decoded = _decode_kind(kind, window, starts[chosen], lengths[chosen], doubles)
            values[chosen] = np.fromiter(decoded, object, len(decoded))
    return values.tolist()


def _decode_kind(
    kind: int, window: memoryview, starts: np.ndarray, lengths: np.ndarray, doubles: np.ndarray
) -> list[Any]:
    if kind == NUMBER:
        return numbers(doubles[starts + 4])
    if kind == BOOLEAN:
        return (lengths == 1).tolist()
    begins = starts + _STRING_HEADER_BYTES
    text = str(window, "latin-1")
    pieces = [text[a:b] for a, b in zip(begins.tolist(), (begins + lengths).tolist(), strict=True)]
    if "".join(pieces).isascii():
        return pieces
    return [piece if piece.isascii() else lua_string(piece.encode("latin-1")) for piece in pieces]

"""Many scalar records of a binary file found at once, where strings make their sizes differ.

The records of a block of the file are guessed from their type ids, all at once, and then checked: each must
begin where the one before it ends. The others are left to the reader, which reads them one by one.
"""

from typing import Any

import numpy as np

from lua_compat.t7.format import BOOLEAN, NUMBER, STRING
from lua_compat.t7.objects import lua_string, numbers

_NUMBER_BYTES, _BOOLEAN_BYTES, _STRING_HEADER_BYTES = 12, 8, 8


class TokenBlock:
    """Whole table entries at the start of ``window``: where their records are, not yet decoded."""

    __slots__ = ("_kinds", "_lengths", "_order", "_starts", "_window", "size")

    def __init__(
        self,
        window: memoryview,
        order: str,
        starts: np.ndarray,
        kinds: np.ndarray,
        lengths: np.ndarray,
        size: int,
    ) -> None:
        """``lengths`` are those of strings; ``size``: the bytes of all entries."""
        self._window = window
        self._order = order
        self._starts = starts
        self._kinds = kinds
        self._lengths = lengths
        self.size = size

    @property
    def entries(self) -> int:
        return len(self._starts) // 2

    def doubles(self, starts: np.ndarray) -> np.ndarray:
        """Returns the numbers of the records at ``starts``."""
        shape = len(self._window) - 7
        everywhere: np.ndarray = np.ndarray(shape, self._order + "f8", self._window, strides=(1,))
        return everywhere[starts + 4]

    def decode(self) -> tuple[np.ndarray | list[Any], list[Any]]:
        """Returns the keys, an array if all are numbers, and the values."""
        keys: np.ndarray | list[Any]
        if (self._kinds[::2] == NUMBER).all():
            keys = self.doubles(self._starts[::2])
        else:
            keys = self._column(0)
        return keys, self._column(1)

    def _column(self, parity: int) -> list[Any]:
        starts, kinds, lengths = self._starts[parity::2], self._kinds[parity::2], self._lengths[parity::2]
        if (kinds == kinds[0]).all():
            return self._decode_kind(int(kinds[0]), starts, lengths)
        values = np.empty(len(starts), object)
        for kind in (NUMBER, STRING, BOOLEAN):
            chosen = kinds == kind
            if chosen.any():
                decoded = self._decode_kind(kind, starts[chosen], lengths[chosen])
                values[chosen] = np.fromiter(decoded, object, len(decoded))
        decoded_column: list[Any] = values.tolist()
        return decoded_column

    def _decode_kind(self, kind: int, starts: np.ndarray, lengths: np.ndarray) -> list[Any]:
        if kind == NUMBER:
            return numbers(self.doubles(starts))
        if kind == BOOLEAN:
            return list((lengths == 1).tolist())
        begins = starts + _STRING_HEADER_BYTES
        text = str(self._window, "latin-1")
        pieces = [text[a:b] for a, b in zip(begins.tolist(), (begins + lengths).tolist(), strict=True)]
        if "".join(pieces).isascii():
            return pieces
        return [piece if piece.isascii() else lua_string(piece.encode("latin-1")) for piece in pieces]


def read_token_block(window: memoryview, order: str, entries: int) -> TokenBlock | None:
    """Reads at most ``entries`` whole table entries from the start of ``window``; None if it starts with
    none.

    ``order``: '<' or '>', the byte order. Keys are numbers or strings, values also booleans.
    """
    bytes_ = np.frombuffer(window, np.uint8)
    if len(bytes_) < 2 * _NUMBER_BYTES:
        return None
    starts, kinds = _candidates(bytes_, order == ">")
    words: np.ndarray = np.ndarray(len(bytes_) - 3, order + "i4", window, strides=(1,))
    lengths = words[np.minimum(starts + 4, len(words) - 1)].astype(np.int64)
    sizes = np.where(kinds == NUMBER, _NUMBER_BYTES, _BOOLEAN_BYTES)
    sizes = np.where(kinds == STRING, _STRING_HEADER_BYTES + np.maximum(lengths, 0), sizes)
    count = _chained(starts, sizes, kinds, lengths, len(bytes_))
    count = min(count - count % 2, 2 * entries)
    boolean_keys = np.flatnonzero(kinds[:count:2] == BOOLEAN)
    if len(boolean_keys):
        count = 2 * int(boolean_keys[0])
    if count == 0:
        return None
    number_keys = starts[:count:2][kinds[:count:2] == NUMBER]
    size = int(starts[count - 1] + sizes[count - 1])
    block = TokenBlock(window, order, starts[:count], kinds[:count], lengths[:count], size)
    if np.isnan(block.doubles(number_keys)).any():
        return None  # the reader, entry by entry, finds the error
    return block


def _candidates(block: np.ndarray, swapped: bool) -> tuple[np.ndarray, np.ndarray]:
    """Returns the positions where a type id of a scalar may be, and which."""
    zero = block == 0
    if swapped:
        low = block[3:]
        zeros = zero[:-3] & zero[1:-2] & zero[2:-1]
    else:
        low = block[:-3]
        zeros = zero[1:-2] & zero[2:-1] & zero[3:]
    sized = ((low == STRING) | (low == BOOLEAN)) & zeros
    found = sized | ((low == NUMBER) & zeros)
    found[4:] &= ~sized[:-4]  # the length of a string, or a boolean's value, not a type id
    starts = np.flatnonzero(found)
    return starts, low[starts]


def _chained(starts: np.ndarray, sizes: np.ndarray, kinds: np.ndarray, lengths: np.ndarray, end: int) -> int:
    """Returns how many of the first candidates are records that follow each other without a gap, inside the
    block."""
    if not len(starts) or starts[0] != 0:
        return 0
    ends = starts + sizes
    good = (ends <= end) & ~((kinds == STRING) & (lengths < 0))
    good[1:] &= ends[:-1] == starts[1:]
    return len(good) if good.all() else int(good.argmin())

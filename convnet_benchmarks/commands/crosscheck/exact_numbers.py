"""Which number type holds whole numbers without rounding them."""

import numpy as np

_ALL_EXACT = 2**53  # up to here a double holds every whole number


def exact_type(numbers: list[int]) -> type[np.float64 | np.int64 | np.uint64] | None:
    """Returns a number type that rounds none of ``numbers``, None if there is none."""
    least, most = min(numbers), max(numbers)
    if max(-least, most) < _ALL_EXACT:
        return np.float64
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
            return dtype
    return np.float64 if all(map(_is_double, numbers)) else None


def _is_double(number: int) -> bool:
    try:
        return int(float(number)) == number
    except OverflowError:
        return False

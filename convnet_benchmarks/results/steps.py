"""Where a history of medians takes a step and stays there: a test of our own, by ranks.

A history is cut where the ranks on both sides differ most (Pettitt 1979, A non-parametric approach to the
change-point problem), if by chance, the same values in another order, so large a difference is rare; then
each part is looked at in the same way. Ranks make it insensitive to single outliers.
"""

import random
from collections.abc import Sequence

_DOUBT = 0.01
_SHUFFLES = 999
FEWEST = 5  # on either side: of fewer values no order is rare


def steps(values: Sequence[float]) -> list[int]:
    """Returns the places at which another level begins, counted from 0; none for fewer than 10 values."""
    found = _steps(values, 0)
    return sorted(found)


def _steps(values: Sequence[float], start: int) -> list[int]:
    if len(values) < 2 * FEWEST:
        return []
    ranks = _ranks(values)
    place, size = _largest(ranks)
    generator = random.Random(1)
    shuffled = list(ranks)
    as_large = 1
    for _ in range(_SHUFFLES):
        generator.shuffle(shuffled)
        as_large += _largest(shuffled)[1] >= size
    if as_large / (_SHUFFLES + 1) > _DOUBT:
        return []
    return [*_steps(values[:place], start), start + place, *_steps(values[place:], start + place)]


def _ranks(values: Sequence[float]) -> list[float]:
    """Returns each value's rank less the mean rank; equal values share theirs."""
    below = [sum(other < value for other in values) for value in values]
    equal = [sum(other == value for other in values) for value in values]
    return [less + (same + 1) / 2 - (len(values) + 1) / 2 for less, same in zip(below, equal, strict=True)]


def _largest(ranks: Sequence[float]) -> tuple[int, float]:
    """Returns the cut with the largest sum of ranks on its left, in standard deviations, and that size."""
    count = len(ranks)
    total, best = 0.0, (0, -1.0)
    for place, rank in enumerate(ranks[: count - FEWEST], 1):
        total += rank
        size = abs(total) / (place * (count - place)) ** 0.5
        if place >= FEWEST and size > best[1]:
            best = (place, size)
    return best

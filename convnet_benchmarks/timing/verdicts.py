"""Whether one thing is faster than another, from pairs of times taken in turns."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from convnet_benchmarks.timing.statistics import FEWEST_FOR_A_VERDICT, median_interval

FASTER, SLOWER, SAME, UNSURE = "FASTER", "SLOWER", "SAME", "UNSURE"
# Of a single old number against the interval of a new one.
OLD_IS_SLOWER, OLD_IS_FASTER = "OLD IS SLOWER", "OLD IS FASTER"
# Speeds closer than this are called the same: runs of one program differ by as much.
MARGIN = 0.02


@dataclass(frozen=True)
class SpeedUp:
    """``value``: how many times as fast, the median over the pairs; ``low``, ``high``: its 95 % interval."""

    value: float
    low: float
    high: float
    pairs: int
    verdict: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def speed_up(before: Sequence[float], after: Sequence[float]) -> SpeedUp:
    """Compares ``after`` with ``before``, times of the same rounds in the same order, at least one of each.

    A round's two times met the same machine, so their ratio is free of its drift.
    """
    ratios = [a / b for a, b in zip(before, after, strict=True)]
    low, high = median_interval(ratios)
    decided = verdict(low, high) if len(ratios) >= FEWEST_FOR_A_VERDICT else UNSURE
    return SpeedUp(statistics.median(ratios), low, high, len(ratios), decided)


def verdict(low: float, high: float, margin: float = MARGIN) -> str:
    """Returns what may be said of a speed-up that lies between ``low`` and ``high``."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return UNSURE
    if 1 / (1 + margin) <= low and high <= 1 + margin:
        return SAME
    if low > 1:
        return FASTER
    if high < 1:
        return SLOWER
    return UNSURE


def against_old(
    old: float,
    new: tuple[float, float],
    *,
    new_is_a: bool,
    lower_is_faster: bool,
    margin: float,
) -> tuple[float, float, str]:
    """Compares an old number without statistics with the interval of a new one, both above 0.

    Returns what bounds how many times as fast B is as A, and what may be said of the old number.
    """
    low, high = (old / end for end in reversed(new))
    if not lower_is_faster:
        low, high = 1 / high, 1 / low
    found = verdict(low, high, margin)  # on how many times as fast the new one is
    found = {FASTER: OLD_IS_SLOWER, SLOWER: OLD_IS_FASTER}.get(found, found)
    return (1 / high, 1 / low, found) if new_is_a else (low, high, found)


def by_how_much(verdict: str, ratio: float | None) -> str:
    """Returns the verdict with its factor, where it is about an old number: OLD IS SLOWER by 3.1x."""
    if verdict not in (OLD_IS_SLOWER, OLD_IS_FASTER) or not ratio:
        return verdict
    return f"{verdict} by {max(ratio, 1 / ratio):.3g}x"

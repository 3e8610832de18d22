"""How many times as fast one measurement is as another, and what may be said of it."""

import math
from dataclasses import dataclass, replace

from convnet_benchmarks.results.measurement import LATENCY, THROUGHPUT, TIME, Measurement
from convnet_benchmarks.timing.statistics import FEWEST_FOR_A_VERDICT
from convnet_benchmarks.timing.verdicts import MARGIN, SAME, UNSURE, against_old, verdict

# For memory, accuracy and counts: only whether the numbers are the same.
EQUAL, DIFFERS = "EQUAL", "DIFFERS"
NO_INTERVAL = "a single number has no interval"


@dataclass(frozen=True)
class Ratio:
    """B compared with A: how many times as fast B is; for other quantities, B's value divided by A's.

    ``low`` and ``high`` bound it with at least 95 % confidence; None if there are too few samples.
    """

    value: float | None  # None if A is zero, the units differ or no number holds the quotient
    low: float | None
    high: float | None
    verdict: str
    reason: str = ""  # why the verdict is UNSURE


def ratio(a: Measurement | None, b: Measurement | None, margin: float = MARGIN) -> Ratio | None:
    """Compares B with A; returns None if one of them is missing.

    What disturbs a measurement makes it slower: the slower one of the two must not be marked as noisy.
    """
    if a is None or b is None:
        return None
    found = _ratio(a, b, margin)
    if found.verdict in (EQUAL, DIFFERS, SAME, UNSURE) or found.value is None:
        return found
    slower = a if found.value > 1 else b
    if not slower.noise:
        return found
    reason = f"the slower one is marked {slower.noise}: use --processes 8"
    return replace(found, verdict=UNSURE, reason=reason)


def _ratio(a: Measurement, b: Measurement, margin: float) -> Ratio:
    if a.unit != b.unit:
        return Ratio(None, None, None, UNSURE, f"A is in {a.unit or 'no unit'}, B in {b.unit or 'no unit'}")
    lower_is_faster = _lower_is_faster(a)
    if lower_is_faster is None:
        return Ratio(_quotient(b.value, a.value), None, None, EQUAL if a.value == b.value else DIFFERS)
    slow, fast = (a, b) if lower_is_faster else (b, a)
    value = _quotient(slow.value, fast.value)
    intervals = [one.interval for one in (a, b) if not _is_single(one)]
    if len(intervals) == 1 and intervals[0] and min(a.value, b.value, intervals[0][0]) > 0:
        return _of_old(a, b, value, margin)
    if slow.interval is None or fast.interval is None or min(slow.interval[0], fast.interval[0]) <= 0:
        fewest = min((one.samples for one in (a, b) if not _is_single(one)), default=0)
        reason = f"{fewest} samples, {FEWEST_FOR_A_VERDICT} needed" if fewest else NO_INTERVAL
        return Ratio(value, None, None, UNSURE, reason)
    # Whatever the two medians are within their intervals, their ratio is within these bounds.
    low = _quotient(slow.interval[0], fast.interval[1])
    high = _quotient(slow.interval[1], fast.interval[0])
    if low is None or high is None:
        return Ratio(value, None, None, UNSURE, "one is too many times the other")
    return Ratio(value, low, high, *_verdict(low, high, margin))


def _is_single(one: Measurement) -> bool:
    """Returns whether it is a number without statistics, as in a legacy log."""
    return one.samples == 0 and one.low is None and one.high is None


def _of_old(a: Measurement, b: Measurement, value: float | None, margin: float) -> Ratio:
    """Compares a number without statistics with the interval of a median; ``value`` as in Ratio."""
    old, new = (a, b) if _is_single(a) else (b, a)
    assert new.interval is not None
    low, high, found = against_old(
        old.value,
        new.interval,
        new_is_a=new is a,
        lower_is_faster=_lower_is_faster(new) is True,
        margin=margin,
    )
    return Ratio(value, low, high, found, "the new interval holds the old number" if found == UNSURE else "")


def _verdict(low: float, high: float, margin: float) -> tuple[str, str]:
    found = verdict(low, high, margin)
    return found, "the intervals overlap" if found == UNSURE else ""


def _lower_is_faster(measurement: Measurement) -> bool | None:
    """Returns whether a smaller value is a higher speed; None for memory, accuracy and counts."""
    if measurement.quantity.startswith((TIME, LATENCY)):
        return True
    if measurement.quantity == THROUGHPUT or measurement.unit.endswith("/s"):
        return False
    return True if measurement.unit in ("ms", "s", "us", "ns") else None


def _quotient(a: float, b: float) -> float | None:
    quotient = a / b if b else math.inf
    return quotient if math.isfinite(quotient) else None

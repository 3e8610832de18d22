"""The statistics of one thing in several processes: both kinds of noise, within and between them.

A process has its own layout of memory and its own start of caches and allocator, which shift all its passes
alike; no number of passes in one process shows by how much.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convnet_benchmarks.timing.statistics import (
    FEWEST_FOR_AN_INTERVAL,
    STABLE,
    STABLE_HALF_WIDTH,
    median_interval,
)

PROCESSES_DIFFER = "processes differ"
_DIFFER_ADVICE = "more of them (--processes) narrow the interval"
# Too few for how much they differ: their range stands in for the interval.
TOO_FEW_PROCESSES = "too few processes"
_TOO_FEW_ADVICE = f"the range is shown, not an interval: use --processes {FEWEST_FOR_AN_INTERVAL} or more"
# Student's t, 97.5 %, by the number of values: two to five of them.
_STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
# An interval that reaches from less than half of the figure to more than twice says nothing about it.
_FARTHEST = math.log(2)


@dataclass(frozen=True)
class Interval:
    """The median of several processes' medians; ``given``: whether ``low`` to ``high`` is its 95 % interval,
    and not only the range of the processes.
    """

    middle: float
    low: float
    high: float
    given: bool = True


def combined(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns one summary for those of several processes: the median of their medians, with an interval that
    holds both kinds of noise.
    """
    found = combined_interval([(one["median"], one["low"], one["high"]) for one in summaries])
    said = {"verdict": STABLE, "advice": ""}
    if not found.given:
        said = {"verdict": TOO_FEW_PROCESSES, "advice": _TOO_FEW_ADVICE}
    elif (found.high - found.low) / 2 > STABLE_HALF_WIDTH * found.middle:
        differ = {"verdict": PROCESSES_DIFFER, "advice": _DIFFER_ADVICE}
        said = next((dict(one) for one in summaries if one["verdict"] != STABLE), differ)
    return {
        **summaries[-1],
        "samples": sum(one["samples"] for one in summaries),
        "median": found.middle,
        "low": found.low,
        "high": found.high,
        "minimum": min(one["minimum"] for one in summaries),
        "mean": statistics.fmean(one["mean"] for one in summaries),
        "outliers": sum(one["outliers"] for one in summaries),
        **{name: said[name] for name in ("verdict", "advice") if name in summaries[-1]},
    }


def combined_interval(intervals: Sequence[tuple[float, float, float]]) -> Interval:
    """Returns the median of several processes' medians, with its 95 % interval.

    ``intervals``: of each process the median and the ends. From six processes on it is the interval of their
    medians by order statistics, widened by the noise within a process. With fewer no order statistics reach
    95 %: it is Student's, of the medians' logarithms, as times are positive, and holds every process's own
    interval. Where that would reach beyond half or twice the figure, none is given but the range of the
    processes' own. Of one process it is that process's.
    """
    medians = [median for median, _, _ in intervals]
    count, middle = len(medians), statistics.median(medians)
    if count >= FEWEST_FOR_AN_INTERVAL:
        within = statistics.median((high - low) / 2 for _, low, high in intervals) / count**0.5
        low, high = median_interval(medians)
        return Interval(middle, max(low - within, min(low for _, low, _ in intervals)), high + within)
    low, high = min(low for _, low, _ in intervals), max(high for _, _, high in intervals)
    if count == 1:
        return Interval(middle, low, high)
    logarithms = [math.log(median) for median in medians]
    centre = statistics.fmean(logarithms)
    reach = _STUDENT[count] * statistics.stdev(logarithms) / count**0.5
    if reach > _FARTHEST:
        return Interval(middle, low, high, given=False)
    return Interval(middle, min(low, math.exp(centre - reach)), max(high, math.exp(centre + reach)))


def noise_of(verdict: str, several: bool) -> str:
    """Returns how a figure is marked in comparisons, '' if nothing speaks against its interval.

    ``several``: whether it is of several processes, whose interval holds their noise, if there is one.
    """
    return "" if verdict == STABLE or (several and verdict != TOO_FEW_PROCESSES) else verdict


def combined_conditions(seen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns one account of the machine (``Conditions.as_dict``) for those of several processes."""
    if not seen:
        return {}
    clocks = [one["clock_mhz"] for one in seen if one["clock_mhz"]]
    counted = [name for name in seen[0] if name.endswith("_per_pass") or name == "busy_cores"]
    found: dict[str, Any] = {
        "clock_mhz": {
            "lowest": min(clock["lowest"] for clock in clocks),
            "highest": max(clock["highest"] for clock in clocks),
        }
        if clocks
        else None,
        "clocks": [look for one in seen for look in one.get("clocks", ())],
        "throttled_passes": sum(one["throttled_passes"] for one in seen),
    }
    for name in counted:
        values = [one[name] for one in seen if one.get(name) is not None]
        found[name] = statistics.median(values) if values else None
    return found


def several_note(counts: Sequence[int]) -> list[str]:
    """Returns a line for below a table of figures from so many processes each; none where all are of one."""
    if max(counts, default=1) == 1:
        return []
    least, most = min(counts), max(counts)
    several = str(least) if least == most else f"{least} to {most}"
    return [f"medians of {several} processes; the intervals hold the noise within and between them"]

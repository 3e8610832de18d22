"""The statistics of one thing in several processes: both kinds of noise, within and between them.

A process has its own layout of memory and its own start of caches and allocator, which shift all its passes
alike; no number of passes in one process shows by how much.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from convnet_benchmarks.timing.statistics import FEWEST_FOR_AN_INTERVAL, STABLE_HALF_WIDTH, median_interval

PROCESSES_DIFFER = "processes differ"
_ADVICE = "more of them (--processes) narrow the interval"
# Student's t, 97.5 %, by the number of values: two to five of them.
_STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}


def combined(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns one summary for those of several processes: the median of their medians, with an interval that
    holds both kinds of noise.
    """
    intervals = [(one["median"], one["low"], one["high"]) for one in summaries]
    middle, low, high = combined_interval(intervals)
    stable = (high - low) / 2 <= STABLE_HALF_WIDTH * middle
    said = {"verdict": "stable", "advice": ""} if stable else {"verdict": PROCESSES_DIFFER, "advice": _ADVICE}
    if not stable:
        said = next((dict(one) for one in summaries if one["verdict"] != "stable"), said)
    return {
        **summaries[-1],
        "samples": sum(one["samples"] for one in summaries),
        "median": middle,
        "low": low,
        "high": high,
        "minimum": min(one["minimum"] for one in summaries),
        "mean": statistics.fmean(one["mean"] for one in summaries),
        "outliers": sum(one["outliers"] for one in summaries),
        **{name: said[name] for name in ("verdict", "advice") if name in summaries[-1]},
    }


def combined_interval(intervals: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Returns the median of several processes' medians, with the ends of its 95 % interval.

    ``intervals``: of each process the median and the ends. From six processes on it is the interval of their
    medians by order statistics, widened by the noise within a process. With fewer no order statistics reach
    95 %: it is Student's, of the medians' logarithms, as times are positive, and holds every process's own
    interval. Of one process it is that process's.
    """
    medians = [median for median, _, _ in intervals]
    count, middle = len(medians), statistics.median(medians)
    if count >= FEWEST_FOR_AN_INTERVAL:
        within = statistics.median((high - low) / 2 for _, low, high in intervals) / count**0.5
        low, high = median_interval(medians)
        return middle, max(low - within, min(low for _, low, _ in intervals)), high + within
    low, high = min(low for _, low, _ in intervals), max(high for _, _, high in intervals)
    if count > 1:
        logarithms = [math.log(median) for median in medians]
        centre = statistics.fmean(logarithms)
        reach = _STUDENT[count] * statistics.stdev(logarithms) / count**0.5
        low, high = min(low, math.exp(centre - reach)), max(high, math.exp(centre + reach))
    return middle, low, high


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

"""One point measured in several processes: their figures as one record.

A process has its own layout of memory and its own start of caches and allocator, which shift all its passes
alike; no number of passes in one process shows by how much.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from convnet_benchmarks.timing.statistics import FEWEST_FOR_AN_INTERVAL, STABLE_HALF_WIDTH, median_interval

Record = dict[str, Any]


def processes(record: Mapping[str, Any]) -> int:
    """Returns in how many processes a point was measured."""
    return len(record.get("processes", (None,)))


def merged(earlier: Record, new: Record) -> Record:
    """Returns the record of ``new`` with the figures of both; ``earlier`` may be merged already.

    ``processes`` keeps each process's own figures.
    """
    parts: list[Record] = [*earlier.get("processes", [_part(earlier)]), _part(new)]
    passes = _combined([part["pass_ms"] for part in parts])
    phases = {name: _combined([part["phases_ms"][name] for part in parts]) for name in new["phases_ms"]}
    common = [name for name in new["latency_ms"] if all(name in part["latency_ms"] for part in parts)]
    return {
        **new,
        "pass_ms": passes,
        "samples_per_second": new["ran"]["batch_size"] * 1e3 / passes["median"],
        "latency_ms": {
            name: statistics.median(part["latency_ms"][name] for part in parts) for name in common
        },
        "phases_ms": phases,
        "processes": parts,
    }


def _part(record: Mapping[str, Any]) -> Record:
    return {name: record[name] for name in ("pass_ms", "phases_ms", "latency_ms", "time")}


def _combined(summaries: Sequence[Mapping[str, Any]]) -> Record:
    """Returns the median of the processes' medians, with an interval that holds both kinds of noise.

    From six processes on it is the 95 % interval of their medians, widened by the noise within a process;
    with fewer it reaches from the lowest end of a process's interval to the highest.
    """
    medians = [summary["median"] for summary in summaries]
    middle = statistics.median(medians)
    low, high = min(one["low"] for one in summaries), max(one["high"] for one in summaries)
    if len(summaries) >= FEWEST_FOR_AN_INTERVAL:
        within = statistics.median((one["high"] - one["low"]) / 2 for one in summaries)
        between = median_interval(medians)
        within /= len(summaries) ** 0.5
        low, high = between[0] - within, between[1] + within
    verdicts = [one["verdict"] for one in summaries if one["verdict"] != "stable"]
    stable = (high - low) / 2 <= STABLE_HALF_WIDTH * middle
    return {
        **summaries[-1],
        "samples": sum(one["samples"] for one in summaries),
        "median": middle,
        "low": max(low, min(one["minimum"] for one in summaries)),
        "high": high,
        "minimum": min(one["minimum"] for one in summaries),
        "mean": statistics.fmean(one["mean"] for one in summaries),
        "outliers": sum(one["outliers"] for one in summaries),
        "verdict": "stable" if stable else next(iter(verdicts), "processes differ"),
    }

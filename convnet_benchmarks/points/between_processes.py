"""The same thing measured in several processes: their figures as one record, and the order they come in.

A process has its own layout of memory and its own start of caches and allocator, which shift all its passes
alike; no number of passes in one process shows by how much.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

from convnet_benchmarks.points.point import OK
from convnet_benchmarks.timing.statistics import (
    FEWEST_FOR_A_VERDICT,
    FEWEST_FOR_AN_INTERVAL,
    STABLE_HALF_WIDTH,
    median_interval,
)
from convnet_benchmarks.timing.verdicts import UNSURE, verdict

Record = dict[str, Any]
Thing = TypeVar("Thing")

PROCESSES_DIFFER = "processes differ"
_ADVICE = "more of them (--processes) narrow the interval"
# Student's t, 97.5 %, by the number of values: two to five of them.
_STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}


def processes(record: Mapping[str, Any]) -> int:
    """Returns in how many processes a thing was measured."""
    return len(record.get("processes", (None,)))


def processes_note(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a line for below a table of figures that come from several processes."""
    counts = sorted({processes(record) for record in records})
    if not counts or counts[-1] == 1:
        return []
    several = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return [f"medians of {several} processes; the intervals hold the noise within and between them"]


def in_rounds(
    lacking: MutableMapping[Thing, int],
    known: MutableMapping[Thing, Record | None],
    measure: Callable[[list[Thing]], Iterator[tuple[Thing, Record]]],
    merge: Callable[[Record, Record], Record],
) -> Iterator[tuple[Thing, Record]]:
    """Yields every thing with its record each time that it has been measured in one process more.

    ``lacking``: in how many more each is to be measured; ``known``: its record so far, which is kept up to
    date. All things take turns: ``measure`` gets those of a round and measures each in new processes. What
    does not run is not measured again. ``merge``: as ``merged``.
    """
    rounds = max(lacking.values(), default=0)
    for number in range(rounds):
        this_round = [thing for thing, more in lacking.items() if more >= rounds - number]
        for thing, record in measure(this_round):
            earlier = known.get(thing)
            if earlier is not None and record["status"] == earlier["status"] == OK:
                record = merge(earlier, record)
            known[thing] = record
            if record["status"] != OK:
                lacking[thing] = 0
            yield thing, record


def merged(earlier: Record, new: Record) -> Record:
    """Returns the record of the point ``new`` with the figures of both; ``earlier`` may be merged already.

    ``processes`` keeps each process's own figures.
    """
    names = ("pass_ms", "phases_ms", "latency_ms", "conditions", "time")
    parts = [*_parts(earlier, names), _part(new, names)]
    passes = combined([part["pass_ms"] for part in parts])
    phases = {name: combined([part["phases_ms"][name] for part in parts]) for name in new["phases_ms"]}
    common = [name for name in new["latency_ms"] if all(name in part["latency_ms"] for part in parts)]
    return {
        **new,
        "pass_ms": passes,
        "samples_per_second": new["ran"]["batch_size"] * 1e3 / passes["median"],
        "latency_ms": {
            name: statistics.median(part["latency_ms"][name] for part in parts) for name in common
        },
        "phases_ms": phases,
        "conditions": combined_conditions([part["conditions"] for part in parts if "conditions" in part]),
        "processes": parts,
    }


def _parts(record: Mapping[str, Any], names: Sequence[str]) -> list[Record]:
    """Returns each process's own figures."""
    return list(record.get("processes", [_part(record, names)]))


def _part(record: Mapping[str, Any], names: Sequence[str]) -> Record:
    return {name: record[name] for name in names if name in record}


def combined(summaries: Sequence[Mapping[str, Any]]) -> Record:
    """Returns one summary for those of several processes: the median of their medians, with an interval that
    holds both kinds of noise.
    """
    intervals = [(one["median"], one["low"], one["high"]) for one in summaries]
    middle, low, high = combined_interval(intervals)
    verdicts = [one["verdict"] for one in summaries if one["verdict"] != "stable"]
    stable = (high - low) / 2 <= STABLE_HALF_WIDTH * middle
    found = {
        **summaries[-1],
        "samples": sum(one["samples"] for one in summaries),
        "median": middle,
        "low": low,
        "high": high,
        "minimum": min(one["minimum"] for one in summaries),
        "mean": statistics.fmean(one["mean"] for one in summaries),
        "outliers": sum(one["outliers"] for one in summaries),
        "verdict": "stable" if stable else next(iter(verdicts), PROCESSES_DIFFER),
    }
    if "advice" in found and found["verdict"] in ("stable", PROCESSES_DIFFER):
        found["advice"] = "" if stable else _ADVICE
    return found


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


def combined_conditions(seen: Sequence[Mapping[str, Any]]) -> Record:
    """Returns one account of the machine (``Conditions.as_dict``) for those of several processes."""
    if not seen:
        return {}
    clocks = [one["clock_mhz"] for one in seen if one["clock_mhz"]]
    counted = [name for name in seen[0] if name.endswith("_per_pass") or name == "busy_cores"]
    found: Record = {
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


def merged_comparison(earlier: Record, new: Record) -> Record:
    """Returns what ``merged`` does for a record of ``backends``: each variant's times, and its speed-up."""
    parts = [*_parts(earlier, ("results", "time")), _part(new, ("results", "time"))]
    results = {}
    for name, found in new["results"].items():
        of_variant = [part["results"][name] for part in parts if part["results"][name]["status"] == OK]
        results[name] = _merged_variant(found, of_variant) if len(of_variant) == len(parts) else found
    return {**new, "results": results, "processes": parts}


def _merged_variant(new: Record, parts: Sequence[Record]) -> Record:
    passes = combined([part["pass_ms"] for part in parts])
    found = {
        **new,
        "samples_ms": [sample for part in parts for sample in part["samples_ms"]],
        "pass_ms": passes,
        "latency_ms": passes["median"],
        "samples_per_second": new["samples_per_second"] * new["pass_ms"]["median"] / passes["median"],
    }
    if all("speed_up" in part for part in parts):
        found["speed_up"] = _combined_speed_up([part["speed_up"] for part in parts])
    return found


def _combined_speed_up(parts: Sequence[Mapping[str, Any]]) -> Record:
    value, low, high = combined_interval([(part["value"], part["low"], part["high"]) for part in parts])
    pairs = sum(part["pairs"] for part in parts)
    decided = verdict(low, high) if pairs >= FEWEST_FOR_A_VERDICT else UNSURE
    return {"value": value, "low": low, "high": high, "pairs": pairs, "verdict": decided}

"""The same thing measured in several processes: their records as one, and the order they are made in."""

import statistics
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

from convnet_benchmarks.points.point import OK
from convnet_benchmarks.timing.several_processes import (
    combined,
    combined_conditions,
    combined_interval,
    several_note,
)
from convnet_benchmarks.timing.statistics import FEWEST_FOR_A_VERDICT
from convnet_benchmarks.timing.verdicts import UNSURE, verdict

Record = dict[str, Any]
Thing = TypeVar("Thing")


def processes(record: Mapping[str, Any]) -> int:
    """Returns in how many processes a thing was measured."""
    return len(record.get("processes", (None,)))


def processes_note(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the note below a table of figures that come from several processes."""
    return several_note([processes(record) for record in records])


def in_rounds(
    lacking: MutableMapping[Thing, int],
    known: MutableMapping[Thing, Record | None],
    measure: Callable[[list[Thing]], Iterator[tuple[Thing, Record]]],
    merge: Callable[[Record, Record], Record],
) -> Iterator[tuple[Thing, Record]]:
    """Yields every thing with its record each time that it has been measured in one more process.

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
        "conditions": combined_conditions([part["conditions"] for part in parts if "conditions" in part]),
    }
    if all("speed_up" in part for part in parts):
        found["speed_up"] = _combined_speed_up([part["speed_up"] for part in parts])
    return found


def _combined_speed_up(parts: Sequence[Mapping[str, Any]]) -> Record:
    found = combined_interval([(part["value"], part["low"], part["high"]) for part in parts])
    pairs = sum(part["pairs"] for part in parts)
    decides = found.given and pairs >= FEWEST_FOR_A_VERDICT
    decided = verdict(found.low, found.high) if decides else UNSURE
    return {"value": found.middle, "low": found.low, "high": found.high, "pairs": pairs, "verdict": decided}

"""Measurements from the records of a sweep (docs/results.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from convnet_benchmarks import measurements
from convnet_benchmarks.measurements import LARGEST_BATCH, Measurement
from convnet_benchmarks.points import OK

Record = Mapping[str, Any]


def of_points(records: Iterable[Record]) -> list[Measurement]:
    """Of the records of a file of points, or of a sweep's JSON; what did not run has nothing measured."""
    found: list[Measurement] = []
    for record in records:
        if record["status"] == OK:
            found += _of_search(record) if record["kind"] == LARGEST_BATCH else _of_point(record)
    return found


def _of_point(record: Record) -> list[Measurement]:
    """Throughput, latency, memory, and the phases of training."""
    about = _about(record)
    batch, passes = record["point"]["batch_size"], record["pass_ms"]
    throughput = replace(
        about,
        quantity=measurements.THROUGHPUT,
        unit=measurements.IMAGES_PER_SECOND,
        value=record["samples_per_second"],
        low=1e3 * batch / passes["high"],
        high=1e3 * batch / passes["low"],
        samples=passes["samples"],
    )
    found = [throughput]
    for name, milliseconds in record["latency_ms"].items():
        found.append(replace(about, quantity=f"{measurements.LATENCY} {name}", unit="ms", value=milliseconds))
    if record["peak_memory_bytes"] is not None:
        mebibytes = record["peak_memory_bytes"] / 2**20
        found.append(replace(about, quantity=measurements.MEMORY, unit=measurements.MIB, value=mebibytes))
    for phase, summary in record["phases_ms"].items():
        found.append(
            replace(
                about,
                quantity=measurements.TIME,
                unit=measurements.MS_PER_SAMPLE,
                phase=phase,
                value=summary["median"] / batch,
                low=summary["low"] / batch,
                high=summary["high"] / batch,
                samples=summary["samples"],
            )
        )
    return found


def _about(record: Record) -> Measurement:
    point = record["point"]
    conditions = [point["backend"], point["dtype"]]
    if point["threads"] is not None:
        conditions.append(f"{point['threads']} threads")
    if point["input_size"] is not None:
        conditions.append("x".join(map(str, point["input_size"])))
    return Measurement(
        quantity="",
        unit="",
        value=0.0,
        net=point["net"],
        batch=point["batch_size"],
        phase=point["mode"],
        device=record["machine"]["device"],
        software=", ".join(conditions),
    )


def _of_search(record: Record) -> list[Measurement]:
    """The largest batch that ran."""
    largest = float(record["largest_batch"])
    return [replace(_about(record), quantity=LARGEST_BATCH, unit="images", value=largest, batch=None)]

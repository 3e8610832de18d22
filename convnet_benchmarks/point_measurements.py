"""Measurements from the records of a sweep (docs/results.md)."""

from collections.abc import Iterable, Mapping, Sequence
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
        if "results" in record:
            found += _of_comparison(record)
        elif record["status"] == OK:
            found += _of_search(record) if record["kind"] == LARGEST_BATCH else _of_point(record)
    return found


def _of_comparison(record: Record) -> list[Measurement]:
    """The throughput of every variant that ran; its name stands for backend and number format."""
    return [
        _throughput(_about(record, [variant]), result)
        for variant, result in record["results"].items()
        if "samples_per_second" in result
    ]


def _of_point(record: Record) -> list[Measurement]:
    """Throughput, latency, memory, and the phases of training."""
    about = _about(record)
    batch = record["point"]["batch_size"]
    found = [_throughput(about, record)]
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


def _throughput(about: Measurement, figures: Record) -> Measurement:
    passes = figures["pass_ms"]
    assert about.batch is not None
    return replace(
        about,
        quantity=measurements.THROUGHPUT,
        unit=measurements.IMAGES_PER_SECOND,
        value=figures["samples_per_second"],
        low=1e3 * about.batch / passes["high"],
        high=1e3 * about.batch / passes["low"],
        samples=passes["samples"],
    )


def _about(record: Record, kernels: Sequence[str] = ()) -> Measurement:
    """``kernels``: what the point ran on where that is not its backend and number format."""
    point = record["point"]
    conditions = [*(kernels or (point["backend"], point["dtype"]))]
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

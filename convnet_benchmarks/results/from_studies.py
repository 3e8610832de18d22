"""Measurements from the JSON documents of the studies."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from convnet_benchmarks.results.from_points import of_points
from convnet_benchmarks.results.measurement import FRACTION, MS_PER_BATCH, TIME, TOP1, TOP5, Measurement
from convnet_benchmarks.results.ran import ran_of
from convnet_benchmarks.timing.statistics import summarise

Document = Mapping[str, Any]

_OPERATIONS = "operations"
_WITH_UNIT = re.compile(r"(.+) \[(.+)\]")
# Columns of a table that say what was measured, by the field of a measurement that they fill.
_FIELD_OF_COLUMN = {
    "batch size": "batch",
    "layer": "op",
    "operator": "op",
    "backend": "software",
    "dtype": "software",
    "mode": "phase",
}
_ABOUT = {"net", "batch", "phase", "op", "device", "software"}


def study_measurements(document: Document) -> list[Measurement]:
    """Reads what the study measured: with statistics where it keeps its samples, else the numbers of its
    tables.
    """
    read = _READERS.get(document["kind"], of_tables)
    return list(read(document))


def environment_device(environment: Document, device: str | None = None) -> str:
    """Returns the name of ``device`` (cpu, cuda, cuda:N) in a recorded environment; by default of the GPU
    if any.
    """
    gpu = environment["gpu"]
    return str(gpu["name"] if gpu and device != "cpu" else environment["cpu"]["model"])


def of_tables(document: Document) -> Iterator[Measurement]:
    """Yields numbers of the study's tables. Text, and whole numbers under a known name, say what was
    measured.
    """
    device = environment_device(document["environment"]) if document.get("environment") else ""
    about = Measurement(quantity="", unit="", value=0.0, net=_text(document.get("net")), device=device)
    for table in document["tables"]:
        for row in table["rows"]:
            yield from _of_row(replace(about, phase=table["title"]), row)


def _of_row(about: Measurement, row: Document) -> Iterator[Measurement]:
    described: dict[str, Any] = {}
    values: dict[str, float] = {}
    for column, cell in row.items():
        name = _FIELD_OF_COLUMN.get(column, column)
        if isinstance(cell, bool) or cell is None:
            continue
        if name == "batch" and isinstance(cell, int):
            described["batch"] = cell
        elif isinstance(cell, str):
            key = name if name in _ABOUT - {"batch"} else "op"
            described[key] = ", ".join(filter(None, (described.get(key, ""), cell)))
        else:
            values[column] = float(cell)
    for column, value in values.items():
        match = _WITH_UNIT.fullmatch(column)
        quantity, unit = (match[1], match[2]) if match else (column, "")
        yield replace(about, quantity=quantity, unit=unit, value=value, **described)


def _of_ops(document: Document) -> Iterator[Measurement]:
    """Times by layer: each independent run is a sample."""
    for entries in zip(*document["runs"], strict=True):
        first = entries[0]
        ran = ran_of(first, "runs[0]")
        about = Measurement(
            quantity=TIME,
            unit=MS_PER_BATCH,
            value=0.0,
            net=ran.net if ran else _text(document["net"]),
            batch=ran.batch_size if ran else first["batch"],
            device=ran.device_name if ran else environment_device(document["environment"], first["device"]),
            software=ran.software if ran else document["options"]["dtype"],
        )
        yield from _timed(about, [entry["total_ms"] for entry in entries])
        for place, layer in enumerate(first["layers"]):
            one = replace(about, op=f"{layer['path']} {layer['kind']}")
            yield from _timed(one, [entry["layers"][place]["ms"] for entry in entries])


def _timed(about: Measurement, times: Sequence[Any]) -> Iterator[Measurement]:
    """Yields the measurements of one time; ``times`` are numbers, or in training numbers by phase."""
    if isinstance(times[0], Mapping):
        for phase in times[0]:
            yield from_samples(replace(about, phase=phase), [by_phase[phase] for by_phase in times])
    else:
        yield from_samples(replace(about, phase="inference"), times)


def from_samples(about: Measurement, samples: Sequence[float]) -> Measurement:
    """Returns the median of ``samples`` with its interval."""
    summary = summarise(samples)
    return replace(about, value=summary.median, low=summary.low, high=summary.high, samples=summary.samples)


def _of_sweep(document: Document) -> Iterator[Measurement]:
    yield from of_points(document["points"], "points")


def _of_backends(document: Document) -> Iterator[Measurement]:
    yield from of_points(document["comparisons"], "comparisons")


def _of_flops(document: Document) -> Iterator[Measurement]:
    """Yields operations by layer, what was attained of the roofs, and the throughput of each batch size."""
    options, ran = document["options"], ran_of(document, "")
    about = Measurement(
        quantity=_OPERATIONS,
        unit="FLOP",
        value=0.0,
        net=ran.net if ran else _text(document["net"]),
        batch=ran.batch_size if ran else options["batch_size"],
        phase="inference",
        device=ran.device_name if ran else environment_device(document["environment"]),
        software=ran.software if ran else options["dtype"],
    )
    for layer in document.get("counts", {}).get("layers", ()):
        yield replace(about, op=layer["path"], value=float(layer["counted"]))
    for layer in document.get("roofline", {}).get("layers", ()):
        speed = replace(about, quantity="attained", unit="GFLOP/s", op=layer["path"])
        yield replace(speed, value=layer["gflops"])
    machine = {"kind": "point", "machine": {"device": about.device}}
    points = document.get("throughput", {}).get("points", ())
    yield from of_points(({**machine, **point} for point in points), "throughput.points")


def _of_accuracy(document: Document) -> Iterator[Measurement]:
    """Yields the accuracies of each backend."""
    for place, backend in enumerate(document["backends"]):
        ran = ran_of(backend, f"backends[{place}]")
        one = Measurement(
            quantity="",
            unit=FRACTION,
            value=0.0,
            net=ran.net if ran else _text(document["net"]),
            device=ran.device_name if ran else environment_device(document["environment"]),
            software=backend["name"],
        )
        yield replace(one, quantity=TOP1, value=backend["top1"])
        if backend["top5"] is not None:
            yield replace(one, quantity=TOP5, value=backend["top5"])


def _text(value: Any) -> str:
    """Returns a net's name, whether the document has it alone or in a description."""
    if isinstance(value, Mapping):
        value = value.get("name")
    return value if isinstance(value, str) else ""


_READERS: dict[str, Callable[[Document], Iterator[Measurement]]] = {
    "ops": _of_ops,
    "sweep": _of_sweep,
    "backends": _of_backends,
    "flops": _of_flops,
    "accuracy": _of_accuracy,
}

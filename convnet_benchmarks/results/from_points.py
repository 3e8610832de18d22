"""Measurements from the records of a sweep (docs/results.md)."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from convnet_benchmarks.nets.net import size_text
from convnet_benchmarks.points.fields import Fields
from convnet_benchmarks.points.point import OK, STATUSES, Point
from convnet_benchmarks.points.scenario import OFFLINE, SERVER, SINGLE_STREAM
from convnet_benchmarks.results.measurement import (
    LARGEST_BATCH,
    LATENCY,
    MEMORY,
    MIB,
    MS_PER_SAMPLE,
    SERVER_RATE,
    SPEED_UP,
    THROUGHPUT,
    TIME,
    Measurement,
)
from convnet_benchmarks.results.ran import commit_of, read_ran
from convnet_benchmarks.tables import counted
from convnet_benchmarks.timing.several_processes import noise_of
from convnet_benchmarks.workload.variants import SHORT

Record = Mapping[str, Any]


def of_points(records: Iterable[Record], name: str) -> list[Measurement]:
    """Reads the records in the field ``name`` of a study's JSON."""
    found = (of_point(record, f"{name}[{number}]") for number, record in enumerate(records))
    return list(itertools.chain.from_iterable(found))


def of_point(record: Record, place: str = "") -> list[Measurement]:
    """Reads one record of a sweep; a point that did not run has no measurements.

    Raises FieldError for a record that lacks a field or has one of the wrong type. ``place``: where in its
    file it is, '' for a record on a line of its own.
    """
    fields = Fields(record, place)
    status, kind = fields.text("status", *STATUSES), fields.text("kind")
    if kind not in _READERS:
        return _of_comparison(fields)
    return _READERS[kind](fields) if status == OK else []


def _of_comparison(record: Fields) -> list[Measurement]:
    """Returns the throughput of every variant that ran, and its speed-up over the first one."""
    results = record.inner("results")
    ran = [name for name in results if results.inner(name).text("status", *STATUSES) == OK]
    found = []
    for variant in ran:
        figures = results.inner(variant)
        about = _about(record, figures, [variant])
        found.append(_throughput(about, figures, record))
        if "speed_up" in figures:
            found.append(_speed_up(about, figures.inner("speed_up"), next(iter(results))))
    return found


def _speed_up(about: Measurement, figures: Fields, over: str) -> Measurement:
    return replace(
        about,
        quantity=SPEED_UP,
        unit=f"times {over}",
        value=figures.positive("value"),
        low=figures.positive("low"),
        high=figures.positive("high"),
        samples=figures.whole("pairs"),
        verdict=figures.text("verdict"),
    )


def _of_pass(record: Fields) -> list[Measurement]:
    """Returns throughput, latency, memory, and the phases of training."""
    about = _about(record, record)
    found = [_throughput(about, record, record)]
    latencies = record.inner("latency_ms")
    for name in latencies:
        quantity = f"{LATENCY} {name}"
        found.append(replace(about, quantity=quantity, unit="ms", value=latencies.positive(name)))
    if not record.is_null("peak_memory_bytes", "a number of bytes"):
        mebibytes = record.number("peak_memory_bytes") / 2**20
        found.append(replace(about, quantity=MEMORY, unit=MIB, value=mebibytes))
    phases = record.inner("phases_ms")
    return found + [_phase(replace(about, phase=name), phases.inner(name), record) for name in phases]


def _noise(summary: Fields, record: Fields) -> str:
    """Returns how samples are marked."""
    several = "processes" in record and len(record.each("processes")) > 1
    return noise_of(summary.text("verdict"), several) if "verdict" in summary else ""


def _phase(about: Measurement, summary: Fields, record: Fields) -> Measurement:
    assert about.batch is not None
    return replace(
        about,
        quantity=TIME,
        unit=MS_PER_SAMPLE,
        value=summary.positive("median") / about.batch,
        low=summary.positive("low") / about.batch,
        high=summary.positive("high") / about.batch,
        samples=summary.whole("samples"),
        noise=_noise(summary, record),
    )


def _throughput(about: Measurement, figures: Fields, record: Fields) -> Measurement:
    passes = figures.inner("pass_ms")
    assert about.batch is not None
    return replace(
        about,
        quantity=THROUGHPUT,
        unit=f"{about.counts}/s",
        value=figures.positive("samples_per_second"),
        low=1e3 * about.batch / passes.positive("high"),
        high=1e3 * about.batch / passes.positive("low"),
        samples=passes.whole("samples"),
        noise=_noise(passes, record),
    )


def _about(record: Fields, measured: Fields, kernels: Sequence[str] = ()) -> Measurement:
    """Returns the conditions; ``measured`` says what ran, ``kernels`` may say on what instead."""
    point, ran = Point.from_fields(record.inner("point")), read_ran(measured)
    if ran:  # the same software has the same name in every study, but for variables of the environment
        conditions = [ran.software, *(part for name in kernels for part in name.split("+")[1:])]
    else:  # an old file
        name, *variables = kernels[0].split("+") if kernels else [point.backend]
        backend, _, dtype = SHORT.get(name, name).partition(":")
        conditions = [f"{backend}, {dtype or point.dtype}", *variables]
    if point.threads is not None:
        conditions.append(counted(point.threads, "thread"))
    if point.input_size is not None:
        conditions.append(size_text(point.input_size))
    return Measurement(
        quantity="",
        unit="",
        value=0.0,
        net=ran.net if ran else point.net,
        batch=ran.batch_size if ran else point.batch_size,
        phase=point.mode,
        device=ran.device_name if ran else record.inner("machine").text("device"),
        software=", ".join(conditions),
        backend=ran.backend if ran else point.backend,
        dtype=ran.dtype if ran else point.dtype,
        threads=ran.threads if ran else point.threads,
        shape=ran.shape if ran else "",
        commit=commit_of(measured),
        label=record.text("label") if "label" in record else "",
        time=record.text("time") if "time" in record else "",
        counts=ran.unit if ran else "images",
    )


def _of_search(record: Fields) -> list[Measurement]:
    """Returns the largest batch that ran."""
    largest = float(record.whole("largest_batch", least=0))
    about = _about(record, record)
    return [replace(about, quantity=LARGEST_BATCH, unit=about.counts, value=largest, batch=None)]


def _of_single_stream(record: Fields) -> list[Measurement]:
    """Returns the percentiles of the latency; the 90th, which the load is about, with its interval."""
    about = replace(_about(record, record), phase=SINGLE_STREAM, unit="ms")
    latencies, interval = record.inner("latency_ms"), record.inner("p90_interval_ms")
    found = [
        replace(about, quantity=f"{LATENCY} {name}", value=latencies.positive(name)) for name in latencies
    ]
    low, high = interval.positive("low"), interval.positive("high")
    queries, verdict = record.whole("queries"), record.text("verdict")
    return [
        replace(one, low=low, high=high, samples=queries, verdict=verdict)
        if one.quantity == f"{LATENCY} p90"
        else one
        for one in found
    ]


def _of_offline(record: Fields) -> list[Measurement]:
    return [replace(_throughput(_about(record, record), record, record), phase=OFFLINE)]


def _of_server(record: Fields) -> list[Measurement]:
    """Returns the highest rate within the target, up to the lowest that is known to be beyond; none where no
    rate was within.
    """
    rate, target = record.number("queries_per_second"), record.positive("latency_target_ms")
    if not rate:
        return []
    return [
        replace(
            _about(record, record),
            quantity=f"{SERVER_RATE} within {target:g} ms",
            unit="queries/s",
            phase=SERVER,
            value=rate,
            low=rate,
            high=record.positive("beyond_queries_per_second"),
            samples=record.whole("queries"),
            verdict=record.text("verdict"),
        )
    ]


_READERS = {
    "point": _of_pass,
    LARGEST_BATCH: _of_search,
    SINGLE_STREAM: _of_single_stream,
    OFFLINE: _of_offline,
    SERVER: _of_server,
}

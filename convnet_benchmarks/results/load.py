"""Measurements from result files of every kind: runs, points of a sweep, studies, legacy logs."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.logs import LoggedRun
from convnet_benchmarks.legacy.setup import Setup, of_result
from convnet_benchmarks.nets.net import size_text
from convnet_benchmarks.nets.registry import NETS
from convnet_benchmarks.output import SCHEMA
from convnet_benchmarks.points.fields import FieldError, Fields, is_finite, is_whole, shown
from convnet_benchmarks.points.file import is_point_file, latest_lines
from convnet_benchmarks.results.from_points import of_point
from convnet_benchmarks.results.from_studies import environment_device, study_measurements
from convnet_benchmarks.results.line_summaries import line_summaries, per_sample
from convnet_benchmarks.results.measurement import (
    MEMORY,
    MS_PER_BATCH,
    MS_PER_SAMPLE,
    THROUGHPUT,
    TIME,
    Measurement,
    net_key,
)
from convnet_benchmarks.results.ran import Ran, commit_of, ran_of
from convnet_benchmarks.results.runs import load_runs

_TEXTS = ("quantity", "unit", "net", "phase", "op", "device", "software")
_NEVER_NEGATIVE = (TIME, THROUGHPUT, MEMORY)

_PHASES = {":Forward:": "forward", ":Backward:": "backward", ":TOTAL:": "forward+backward"}
_CRITERION_TOTAL = "net and criterion"

_INPUT_SHAPE = re.compile(r" \d+x(\d+(?:x\d+)+)$")
# What soumith/convnet-benchmarks calls nets that have another name here.
_NETS_OF_LOGS = {"AlexNet": "alexnet_owt", "VGG Model-A": "vgg_a"}


@dataclass(frozen=True)
class ResultFile:
    """``kind``: log, points, benchmark, criterion, or the study's name. ``document``: a study's JSON.

    ``runs``: of a legacy script, where the file says how each was started, with its measurements.
    ``records``: of a file of points, the last of each point.
    """

    path: str
    kind: str
    measurements: tuple[Measurement, ...]
    document: Mapping[str, Any] | None = None
    runs: tuple[tuple[Setup, tuple[Measurement, ...]], ...] = ()
    records: tuple[Mapping[str, Any], ...] = ()


def load(path: str) -> ResultFile:
    """Reads a result file or legacy log; raises UserError where it is neither, or holds nothing measured."""
    if is_point_file(path):
        lines = latest_lines(path)
        found = [m for number, record in lines for m in _of_line(path, number, record)]
        return _checked(ResultFile(path, "points", tuple(found), records=tuple(one for _, one in lines)))
    document = _json_document(path)
    if document is None:
        runs = [(run.setup, tuple(of_log(run))) for run in load_runs(path)]
        found = [one for _, measurements in runs for one in measurements]
        known = tuple((setup, ms) for setup, ms in runs if setup is not None)
        return _checked(ResultFile(path, "log", tuple(found), runs=known))
    schema, kind = document.get("schema"), document.get("kind")
    if schema != SCHEMA or not isinstance(kind, str):
        raise UserError(f'{path}: not a result of this program; accepted: "schema": "{SCHEMA}", a "kind"')
    started: tuple[tuple[Setup, tuple[Measurement, ...]], ...] = ()
    try:
        if kind in ("benchmark", "criterion"):
            for name in ("lines", "phases", "options", "backend"):
                Fields(document.get(name, {}), name)
            ran = ran_of(document, "")
            found = _of_run(document, ran)
            started = ((of_result(kind, document, ran), tuple(found)),) if ran else ()
        else:
            found = [_dated(one, document) for one in study_measurements(document)]
    except FieldError as error:
        raise UserError(f"{path}: {error}") from None
    except KeyError as error:
        raise UserError(f"{path}: kind {kind}: field {error} is missing") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise UserError(f"{path}: kind {kind}: {type(error).__name__} {error} in it") from None
    return _checked(ResultFile(path, kind, tuple(found), document, started))


def _dated(one: Measurement, document: Mapping[str, Any]) -> Measurement:
    """Returns a study's measurement with when and for what it was made, where it does not say so itself."""
    time, label = str(document.get("time", "")), str(document.get("label", ""))
    commit = one.commit or commit_of(Fields(document, ""))
    return replace(one, commit=commit, label=one.label or label, time=one.time or time)


def _of_line(path: str, number: int, record: Mapping[str, Any]) -> list[Measurement]:
    try:
        return of_point(record)
    except FieldError as error:
        raise UserError(f"{path}, line {number}: {error}") from None


def load_all(paths: list[str]) -> list[ResultFile]:
    return [load(path) for path in paths]


def _json_document(path: str) -> dict[str, Any] | None:
    """Returns the file's one JSON object; None if it is something else (a log, a file of points)."""
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        if Path(path).suffix.lower() == ".json":
            raise UserError(f"{path}: not a JSON file ({error})") from None
        return None
    return document if isinstance(document, dict) else None


def _checked(file: ResultFile) -> ResultFile:
    """Returns the file, if it measured anything and all of that can be compared and drawn."""
    if not file.measurements:
        raise UserError(f"{file.path}: nothing measured in it")
    for one in file.measurements:
        wrong = _wrong(one)
        if wrong:
            known = (one.phase, one.op, one.quantity)
            what = " ".join(text for text in known if text and isinstance(text, str))
            raise UserError(f"{file.path}: {what}: {wrong}")
    return file


def _wrong(one: Measurement) -> str:
    """Returns which field is not what ``Measurement`` says it is, '' where all are."""
    for name in _TEXTS:
        if not isinstance(getattr(one, name), str):
            return f"{name} is {shown(getattr(one, name))}; accepted: a text"
    for name in ("value", "low", "high"):
        value = getattr(one, name)
        if not (is_finite(value) or (value is None and name != "value")):
            return f"{name} is {shown(value)}; accepted: a finite number"
        if one.quantity in _NEVER_NEGATIVE and value is not None and value < 0:
            return f"{name} is {shown(value)}; accepted: a number from 0 up"
    if one.low is not None and one.high is not None and one.low > one.high:
        return f"its interval is from {one.low:g} to {one.high:g}; accepted: from the lower end to the higher"
    if not (one.batch is None or is_whole(one.batch)):
        return f"batch size is {shown(one.batch)}; accepted: a whole number from 1 up"
    if not is_whole(one.samples, least=0):
        return f"samples is {shown(one.samples)}; accepted: a whole number from 0 up"
    return ""


def of_log(run: LoggedRun) -> list[Measurement]:
    """Returns a log's lines: single numbers, or means, without statistics."""
    times = run.times.items()
    common = about(run)
    return [_per_sample(replace(common, phase=_phase(label, run.kind), value=time)) for label, time in times]


def about(run: LoggedRun) -> Measurement:
    """Returns what a run says of itself, as a measurement of nothing."""
    title = "" if run.command else run.title
    layer = title if title.startswith("input = ") else ""
    return Measurement(
        quantity=TIME,
        unit=run.unit,
        value=0.0,
        net="one convolution" if layer else net_of_log(title) or (run.setup.net if run.setup else ""),
        batch=run.batch_size,
        op=layer,
        device=run.device or "",
        software=run.kernels or run.command or "",
    )


def net_of_log(title: str) -> str:
    """Returns 'alexnet_owt' for 'AlexNet 128x3x224x224', and 'alexnet_owt 3x112x112' for a size that is not
    the net's own: that is other work.
    """
    size = _INPUT_SHAPE.search(title)
    name = title[: size.start()] if size else title
    name = _NETS_OF_LOGS.get(name, name)
    own = [size_text(net.input_size) for net in NETS.values() if net_key(net.name) == net_key(name)]
    return name if size is None or size[1] in own else f"{name} {size[1]}"


def _of_run(document: Mapping[str, Any], ran: Ran | None) -> list[Measurement]:
    """Reads what benchmark.py --json wrote: medians with their intervals where a loop was timed."""
    kind = document["kind"]
    batch = ran.batch_size if ran else _batch_of_old_run(document["options"])
    summaries = line_summaries(document)
    about = Measurement(
        quantity=TIME,
        unit=MS_PER_SAMPLE,
        value=0.0,
        net=ran.net if ran else document["net"]["name"],
        batch=batch,
        device=ran.device_name if ran else environment_device(document["environment"]),
        software=ran.software if ran else f"{document['backend']['name']}, {document['options']['dtype']}",
        backend=ran.backend if ran else document["backend"]["name"],
        dtype=ran.dtype if ran else document["options"]["dtype"],
        threads=ran.threads if ran else None,
        shape=ran.shape if ran else "",
        commit=commit_of(Fields(document, "")),
        label=str(document.get("label", "")),
        time=str(document.get("time", "")),
        counts=ran.unit if ran else "images",
    )
    found = []
    lines = Fields(document["lines"], "lines")
    for label in lines:
        one = replace(about, phase=_phase(label, kind), value=lines.positive(label))
        if label in summaries:
            one = replace(one, **per_sample(summaries[label], batch))
        found.append(one)
    return found


def _batch_of_old_run(options: Mapping[str, Any]) -> int:
    """Returns the batch size of a file that does not say what ran: one sample with -4d_tensor false."""
    return 1 if options["tensor_4d"] is False else Fields(options, "options").whole("batch_size")


def _phase(label: str, kind: str) -> str:
    """Returns 'free updateOutput' for 'free :updateOutput():'."""
    if kind == "criterion" and label == ":TOTAL:":
        return _CRITERION_TOTAL
    return _PHASES.get(label) or re.sub(r":|\(\)", "", label).strip()


def _per_sample(measurement: Measurement) -> Measurement:
    if measurement.unit != MS_PER_BATCH or not measurement.batch:
        return measurement
    value = measurement.value / measurement.batch
    return replace(measurement, unit=MS_PER_SAMPLE, value=value)

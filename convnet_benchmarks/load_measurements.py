"""Measurements from result files of every kind: runs, points of a sweep, studies, legacy logs."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from convnet_benchmarks import measurements
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy_logs import LoggedRun
from convnet_benchmarks.measurements import Measurement
from convnet_benchmarks.point_files import is_point_file, latest, read_points
from convnet_benchmarks.point_measurements import of_points
from convnet_benchmarks.results import SCHEMA
from convnet_benchmarks.run_files import load_runs
from convnet_benchmarks.study_measurements import environment_device, study_measurements

# The lines of the legacy scripts that are sums of others.
_SUMS = {
    ":Forward:": (":updateOutput():",),
    ":Backward:": (":updateGradInput():", ":accGradParameters():"),
    ":TOTAL:": (":updateOutput():", ":updateGradInput():", ":accGradParameters():"),
}
_CRITERION_SUM = (":Net Forward:", ":Criterion Forward:", ":Criterion Backward:", ":Net Backward:")
_PHASES = {":Forward:": "forward", ":Backward:": "backward", ":TOTAL:": "forward+backward"}
_CRITERION_TOTAL = "net and criterion"

_INPUT_SHAPE = re.compile(r" \d+(x\d+)+$")
# What soumith/convnet-benchmarks calls nets that have another name here.
_NETS_OF_LOGS = {"AlexNet": "alexnet_owt", "VGG Model-A": "vgg_a"}


@dataclass(frozen=True)
class ResultFile:
    """``kind``: log, points, benchmark, criterion, or the study's name. ``document``: a study's JSON."""

    path: str
    kind: str
    measurements: tuple[Measurement, ...]
    document: Mapping[str, Any] | None = None


def load(path: str) -> ResultFile:
    """Reads a result file or legacy log; raises UserError where it is neither, or holds nothing measured."""
    if is_point_file(path):
        found = of_points(latest(read_points(path)).values())
        return _nothing_lost(ResultFile(path, "points", tuple(found)))
    document = _json_document(path)
    if document is None:
        found = [m for run in load_runs(path) for m in _of_log(run)]
        return _nothing_lost(ResultFile(path, "log", tuple(found)))
    schema, kind = document.get("schema"), document.get("kind")
    if schema != SCHEMA or not isinstance(kind, str):
        raise UserError(f'{path}: not a result of this program; accepted: "schema": "{SCHEMA}", a "kind"')
    try:
        found = _of_run(document) if kind in ("benchmark", "criterion") else study_measurements(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{path}: kind {kind}: {type(error).__name__} {error} in it") from None
    return _nothing_lost(ResultFile(path, kind, tuple(found), document))


def load_all(paths: list[str]) -> list[ResultFile]:
    return [load(path) for path in paths]


def _json_document(path: str) -> dict[str, Any] | None:
    """The file's one JSON object; None where it is something else (a log, a file of points)."""
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        if Path(path).suffix.lower() == ".json":
            raise UserError(f"{path}: not a JSON file ({error})") from None
        return None
    return document if isinstance(document, dict) else None


def _nothing_lost(file: ResultFile) -> ResultFile:
    if not file.measurements:
        raise UserError(f"{file.path}: nothing measured in it")
    return file


def _of_log(run: LoggedRun) -> list[Measurement]:
    """A log's lines: single numbers, or means, without statistics."""
    title = "" if run.command else run.title
    layer = title if title.startswith("input = ") else ""
    about = Measurement(
        quantity=measurements.TIME,
        unit=run.unit,
        value=0.0,
        net="one convolution" if layer else _net_of_log(title),
        batch=run.batch_size,
        op=layer,
        device=run.device or "",
        software=run.kernels or run.command or "",
    )
    times = run.times.items()
    return [_per_sample(replace(about, phase=_phase(label, run.kind), value=time)) for label, time in times]


def _net_of_log(title: str) -> str:
    """'alexnet_owt' of 'AlexNet 128x3x224x224'."""
    net = _INPUT_SHAPE.sub("", title)
    return _NETS_OF_LOGS.get(net, net)


def _of_run(document: Mapping[str, Any]) -> list[Measurement]:
    """What benchmark.py --json wrote: medians with their intervals where a loop was timed."""
    options, environment, kind = document["options"], document["environment"], document["kind"]
    batch = 1 if options["tensor_4d"] is False else int(options["batch_size"])
    summaries = {label: phase["summary"] for label, phase in document["phases"].items()}
    for label, parts in (_SUMS | {":TOTAL:": _CRITERION_SUM} if kind == "criterion" else _SUMS).items():
        if label in document["lines"] and all(part in summaries for part in parts):
            summaries[label] = _sum([summaries[part] for part in parts])
    about = Measurement(
        quantity=measurements.TIME,
        unit=measurements.MS_PER_SAMPLE,
        value=0.0,
        net=document["net"]["name"],
        batch=batch,
        device=environment_device(environment),
        software=f"{document['backend']['name']}, {options['dtype']}",
    )
    found = []
    for label, line in document["lines"].items():
        one = replace(about, phase=_phase(label, kind), value=float(line))
        if label in summaries:
            summary = summaries[label]
            one = replace(
                one,
                value=summary["median"] / batch,
                low=summary["low"] / batch,
                high=summary["high"] / batch,
                samples=summary["samples"],
            )
        found.append(one)
    return found


def _sum(summaries: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Of phases timed one after the other. The sums of the intervals' ends bound the sum as surely."""
    total: dict[str, Any] = {
        name: sum(summary[name] for summary in summaries) for name in ("median", "low", "high")
    }
    return total | {"samples": min(summary["samples"] for summary in summaries)}


def _phase(label: str, kind: str) -> str:
    """'free updateOutput' of 'free :updateOutput():'."""
    if kind == "criterion" and label == ":TOTAL:":
        return _CRITERION_TOTAL
    return _PHASES.get(label) or re.sub(r":|\(\)", "", label).strip()


def _per_sample(measurement: Measurement) -> Measurement:
    if measurement.unit != measurements.MS_PER_BATCH or not measurement.batch:
        return measurement
    value = measurement.value / measurement.batch
    return replace(measurement, unit=measurements.MS_PER_SAMPLE, value=value)

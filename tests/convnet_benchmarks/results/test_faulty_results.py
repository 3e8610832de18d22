"""Result files with a field missing or of the wrong type: one line that names the place."""

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.commands.compare.rows import compare
from convnet_benchmarks.commands.report.data import ReportData
from convnet_benchmarks.commands.report.machines import machines
from convnet_benchmarks.commands.report.plots import all_plots
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.output import SCHEMA
from convnet_benchmarks.results.load import load
from convnet_benchmarks.workload.ran import Ran
from tests.helpers import made_results
from tests.helpers.commands import run_python

MISSING = object()
FAULTS: tuple[Any, ...] = (MISSING, None, "x", -1, 0, math.nan, 10**400, [])


def training_point() -> dict[str, Any]:
    point = made_results.point("alexnet", 8, 40.0, mode="training", threads=2, input_size=(3, 8, 8))
    return point | {"phases_ms": {"updateOutput": point["pass_ms"]}}


def comparison() -> dict[str, Any]:
    point = training_point()
    ran = {"status": "ok", **{name: point[name] for name in ("samples_per_second", "pass_ms")}}
    results = {"stock": ran, "mm": {"status": "failed", "reason": "killed"}}
    about = {name: point[name] for name in ("schema", "machine", "point", "status")}
    return {**about, "kind": "throughput comparison", "variants": [*results], "results": results}


def flops() -> dict[str, Any]:
    point = {name: value for name, value in training_point().items() if name not in ("kind", "machine")}
    counts = {"layers": [{"path": "0", "counted": 5}]}
    return made_results.flops() | {"counts": counts, "throughput": {"points": [point]}}


def accuracy() -> dict[str, Any]:
    found = [{"name": "stock", "top1": 0.9, "top5": 1.0}]
    about = {"schema": SCHEMA, "kind": "accuracy", "net": "digits", "environment": made_results.ENVIRONMENT}
    return {**about, "backends": found}


def tables() -> dict[str, Any]:
    rows = [{"net": "vgg_a", "batch": 8, "library": "oneDNN", "time [ms]": 1.5}]
    return {"schema": SCHEMA, "kind": "another", "tables": [{"title": "T", "rows": rows}]}


RAN = Ran("vgg_a", 2, (2, 3, 32, 32), "mm", "float32", "cpu", "Testor 9000", 7).as_dict()

DOCUMENTS = {
    "point.jsonl": training_point(),
    "search.jsonl": made_results.search("alexnet", 77),
    "comparison.jsonl": comparison(),
    "server.jsonl": made_results.under_load("server", "alexnet", 30.0),
    "single_stream.jsonl": made_results.under_load("single-stream", "alexnet", 30.0),
    "benchmark.json": made_results.benchmark(),
    "ran.json": made_results.benchmark() | {"ran": RAN},
    "ops.json": made_results.ops(layers=1, runs=2),
    "flops.json": flops(),
    "accuracy.json": accuracy(),
    "tables.json": tables(),
    "sweep.json": {"schema": SCHEMA, "kind": "sweep", "points": [training_point()]},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every field; of a list only the first element."""
    fields = (
        value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    )
    for name, inner in fields:
        yield (*path, name)
        yield from places(inner, (*path, name))


def with_fault(document: dict[str, Any], path: tuple[Any, ...], fault: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    if fault is MISSING:
        del inner[path[-1]]
    else:
        inner[path[-1]] = fault
    return changed


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_faulty_field_is_named_or_does_not_matter(tmp_path: Path, name: str) -> None:
    path, plots = tmp_path / name, all_plots()
    sound = load(made_results.write(path, DOCUMENTS[name])).measurements
    refused = 0
    for place in places(DOCUMENTS[name]):
        for fault in FAULTS:
            made_results.write(path, with_fault(DOCUMENTS[name], place, fault))
            try:
                file = load(str(path))
                for plot in plots.values():
                    plot.chart(ReportData([file], []))
                machines([file])
            except UserError as error:
                refused += 1
                assert str(error).startswith(str(path)) and "\n" not in str(error)
                continue
            rows = compare([sound, file.measurements]).rows
            json.dumps([found.value for row in rows for found in row.ratios if found], allow_nan=False)
    assert refused > 50


@pytest.mark.parametrize("name", ["lines", "phases", "options", "backend"])
def test_a_part_of_a_run_that_is_no_object_is_named(tmp_path: Path, name: str) -> None:
    path = made_results.write(tmp_path / "run.json", with_fault(DOCUMENTS["ran.json"], (name,), None))
    with pytest.raises(UserError, match=f"run.json: field '{name}' is None; accepted: an object"):
        load(path)


@pytest.mark.parametrize("command", ["compare", "report"])
@pytest.mark.parametrize(
    ("place", "fault", "message"),
    [
        (("pass_ms",), MISSING, "field 'pass_ms' is missing; accepted: an object"),
        (
            ("samples_per_second",),
            None,
            "field 'samples_per_second' is None; accepted: a finite number above 0",
        ),
        (
            ("samples_per_second",),
            "x",
            "field 'samples_per_second' is 'x'; accepted: a finite number above 0",
        ),
        (("point", "batch_size"), "x", "field 'point.batch_size' is 'x'; accepted: a whole number from 1 to"),
        (("point", "mode"), [], "field 'point.mode' is []; accepted: inference, training"),
        (("pass_ms", "low"), 0, "field 'pass_ms.low' is 0; accepted: a finite number above 0"),
        (("status",), "fine", "field 'status' is 'fine'; accepted: ok, out of memory, unsupported, failed"),
    ],
)
def test_a_faulty_point_as_typed(
    tmp_path: Path, command: str, place: tuple[str, ...], fault: Any, message: str
) -> None:
    if command == "report":
        pytest.importorskip("bokeh")
    first, second = (made_results.point("alexnet", batch, 40.0) for batch in (1, 8))
    points = made_results.write(tmp_path / "sweep.jsonl", first, with_fault(second, place, fault))
    arguments = [points, points] if command == "compare" else [points, "--out", str(tmp_path / "report.html")]
    done = run_python("-m", "convnet_benchmarks", command, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"convnet-benchmarks {command}: {points}, line 2: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_a_roofline_without_its_roofs_as_typed(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    document = with_fault(made_results.flops(), ("roofline", "roofs", "gbytes"), MISSING)
    path = made_results.write(tmp_path / "flops.json", document)
    done = run_python("-m", "convnet_benchmarks", "report", path, "--out", str(tmp_path / "report.html"))
    assert done.returncode == 2 and not (tmp_path / "report.html").exists()
    assert done.stderr.endswith(
        f"{path}: field 'roofline.roofs.gbytes' is missing; accepted: a finite number above 0\n"
    )
    assert len(done.stderr.splitlines()) == 1


def test_of_a_point_measured_again_only_the_last_counts(tmp_path: Path) -> None:
    faulty = made_results.point("alexnet", 8, 40.0) | {"samples_per_second": None}
    file = load(made_results.write(tmp_path / "s.jsonl", faulty, made_results.point("alexnet", 8, 50.0)))
    assert [one.value for one in file.measurements if one.quantity == "throughput"] == [50.0]

"""Result files are what docs/results.schema.json says, and what differs from it is refused."""

import dataclasses
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import convnet_benchmarks as cb
from convnet_benchmarks.legacy.options import BenchmarkOptions
from convnet_benchmarks.points.point import STATUSES, Point
from convnet_benchmarks.workload.devices import DTYPES
from convnet_benchmarks.workload.ran import Ran
from tests.helpers import own_nets
from tests.helpers.commands import run_python
from tests.helpers.places import ROOT

SCHEMA = json.loads((ROOT / "docs" / "results.schema.json").read_text())
BENCHMARK = str(ROOT / "benchmark.py")
RUN = ("--threads", "1", "-iter", "2", "-batch_size", "2", "--net", "recognize_digits")


def names(of: type) -> set[str]:
    return {field.name for field in dataclasses.fields(of)}


def test_the_schema_has_every_field_of_the_code() -> None:
    definitions = SCHEMA["$defs"]
    assert set(definitions["ran"]["properties"]) == names(Ran)
    assert set(definitions["point"]["properties"]) == names(Point)
    assert set(definitions["options"]["properties"]) <= names(BenchmarkOptions)
    assert definitions["point"]["properties"]["dtype"]["enum"] == list(DTYPES)
    assert set(definitions["figures"]["properties"]["status"]["enum"]) == set(STATUSES)


def written(folder: Path, commands: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """Returns what each command writes with --json, by its name."""
    found = {}
    for name, words in commands.items():
        done = run_python(*words, "--json", f"{name}.json", cwd=folder)
        assert done.returncode == 0, done.stderr
        found[name] = json.loads((folder / f"{name}.json").read_text())
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Real results: of a run, of a study, and a line of a file of points."""
    folder = tmp_path_factory.mktemp("results")
    commands = {
        "engine": (BENCHMARK, *RUN, "--backend", "auto", "--tuning-seconds", "0.2"),
        "flops": ("-m", "convnet_benchmarks", "flops", "--net", "recognize_digits"),
    }
    sequences = cb.benchmark(own_nets.Bert(), {"ids": (2, 8), "mask": (2, 8)}, seconds=0.03, label="ours")
    sequences.save(str(folder / "points.jsonl"))
    (line,) = (folder / "points.jsonl").read_text().splitlines()
    return {**written(folder, commands), "line": json.loads(line)}


def kind_of(document: dict[str, Any]) -> str:
    if document["schema"].startswith("convnet-benchmarks/points/"):
        return "record"
    return "run" if document["kind"] in ("benchmark", "criterion") else "study"


@cache
def validator(definition: str) -> Any:
    made = pytest.importorskip("jsonschema").Draft202012Validator
    made.check_schema(SCHEMA)
    return made({**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{definition}"}]} if definition else SCHEMA)


def problems(document: Any, definition: str = "") -> list[str]:
    errors = validator(definition).iter_errors(document)
    return [f"{list(one.absolute_path)}: {one.message:.200}" for one in errors]


def test_real_results_keep_to_the_schema(results: dict[str, Any]) -> None:
    assert {kind_of(document) for document in results.values()} == {"run", "study", "record"}
    for name, document in results.items():
        assert problems(document, kind_of(document)) == [], name
        assert problems(document) == [], name


@pytest.mark.slow
def test_more_results_keep_to_the_schema(tmp_path: Path) -> None:
    sweep = ("-m", "convnet_benchmarks", "sweep", "--nets", "recognize_digits", "--seconds", "0.05")
    loads = ("--scenario", "single-stream,offline,server", "--latency-target", "50")
    backends = ("-m", "convnet_benchmarks", "backends", "--nets", "recognize_digits", "--batch-size", "2")
    commands = {
        "processes": (BENCHMARK, *RUN, "--processes", "2", "--label", "two"),
        "criterion": (str(ROOT / "benchmark_criterion.py"), *RUN),
        "training": (*sweep, "--batch-sizes", "1", "--modes", "training", "--points", "a.jsonl"),
        "largest": (*sweep, "--batch-sizes", "none", "--largest-batch", "--memory-budget", "450MiB"),
        "loads": (*sweep, "--batch-sizes", "1", *loads),
        "backends": (*backends, "--pairs", "2", "--seconds", "1", "--points", "b.jsonl"),
    }
    for name, document in written(tmp_path, commands).items():
        assert problems(document, kind_of(document)) == [], name
    for file in tmp_path.glob("*.jsonl"):
        for line in file.read_text().splitlines():
            assert problems(json.loads(line), "record") == [], line[:200]


def damaged(document: dict[str, Any], definition: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the document without a field that it must have, and with one of another type."""
    for name in SCHEMA["$defs"][definition]["required"]:
        yield f"without {name}", {key: value for key, value in document.items() if key != name}
        yield f"another {name}", {**document, name: [None, {"no": "such"}]}
    for inner in ("ran", "point"):
        if inner in document:
            yield f"unknown field of {inner}", {**document, inner: {**document[inner], "nonsense": 1}}
            for name in document[inner]:
                yield f"{inner}.{name}", {**document, inner: {**document[inner], name: {"no": "such"}}}


def test_what_is_not_as_the_schema_says_is_refused(results: dict[str, Any]) -> None:
    for name in ("engine", "flops", "line"):
        definition = kind_of(results[name])
        about = "figures" if definition == "record" else definition
        cases = list(damaged(results[name], about))
        assert len(cases) > 8
        for what, document in cases:
            assert problems(document, definition), f"{name}: {what}"


def test_other_documents_are_refused() -> None:
    assert problems({"schema": "convnet-benchmarks/2", "kind": "benchmark"})
    assert problems([]) and problems({})

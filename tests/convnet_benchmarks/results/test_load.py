"""Measurements from files of every kind."""

import json
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.output import SCHEMA
from convnet_benchmarks.results.load import ResultFile, load
from tests.helpers import made_results
from tests.helpers.places import GOLDEN


def only(file: ResultFile, **about: Any) -> Any:
    (found,) = [
        one for one in file.measurements if all(getattr(one, key) == value for key, value in about.items())
    ]
    return found


def test_a_run_has_the_intervals_of_its_loops_per_image(tmp_path: Path) -> None:
    file = load(made_results.write(tmp_path / "run.json", made_results.benchmark(10.0, batch=4)))
    one = only(file, phase="updateOutput")
    assert (one.net, one.batch, one.device, one.software) == ("alexnet_owt", 4, "Testor 9000", "mm, float32")
    assert one.value == pytest.approx(10) and one.samples == 20
    low, high = one.interval
    assert 9.99 < low < 10 < high < 10.01
    assert only(file, phase="dry-run").interval is None


def test_a_sum_of_phases_is_bounded_by_the_sums(tmp_path: Path) -> None:
    file = load(made_results.write(tmp_path / "run.json", made_results.benchmark(10.0, batch=4)))
    one, total = only(file, phase="updateOutput"), only(file, phase="forward+backward")
    assert total.value == pytest.approx(3 * one.value)
    assert total.interval == pytest.approx(tuple(3 * end for end in one.interval))


def test_points_of_a_sweep(tmp_path: Path) -> None:
    failed = made_results.point("vgg_a", 1, 1.0) | {"status": "out of memory"}
    again = made_results.point("alexnet", 8, 50.0)
    records = [made_results.point("alexnet", 8, 40.0), failed, made_results.search("alexnet", 77), again]
    file = load(made_results.write(tmp_path / "sweep.jsonl", *records))
    assert file.kind == "points"
    throughput = only(file, quantity="throughput")  # the last record of a point counts
    assert (throughput.value, throughput.unit, throughput.batch) == (50.0, "images/s", 8)
    assert throughput.low < 50 < throughput.high
    assert only(file, quantity="memory").value == 116
    assert only(file, quantity="largest batch").value == 77
    assert {one.net for one in file.measurements} == {"alexnet"}


def test_a_sweeps_json_is_its_points(tmp_path: Path) -> None:
    document = {"schema": SCHEMA, "kind": "sweep", "points": [made_results.point("alexnet", 8, 40.0)]}
    assert only(load(made_results.write(tmp_path / "s.json", document)), quantity="throughput").value == 40


def test_points_under_load(tmp_path: Path) -> None:
    kinds = ("server", "single-stream", "offline")
    records = [made_results.under_load(kind, "alexnet", 40.0) for kind in kinds]
    nothing = {"queries_per_second": 0.0, "beyond_queries_per_second": 0.0, "verdict": "not met"}
    hopeless = made_results.under_load("server", "vgg16", 1.0) | nothing
    file = load(made_results.write(tmp_path / "load.jsonl", *records, hopeless))
    rate = only(file, phase="server")
    assert (rate.quantity, rate.value, rate.interval) == ("highest rate within 50 ms", 40.0, (40.0, 40.8))
    assert only(file, quantity="latency p90").verdict == "met"
    assert only(file, quantity="latency p50").low is None
    assert only(file, phase="offline").unit == "images/s"
    assert {one.net for one in file.measurements} == {"alexnet"}


def test_independent_runs_are_samples(tmp_path: Path) -> None:
    file = load(made_results.write(tmp_path / "ops.json", made_results.ops(runs=10)))
    layer = only(file, op="layer2 ReLU")
    assert layer.value == pytest.approx(3 * 1.0045) and layer.samples == 10 and layer.interval
    assert only(file, op="").value == pytest.approx(6 * 1.0045)


def test_a_layer_is_timed_on_the_device_that_ran_it(tmp_path: Path) -> None:
    document = made_results.ops(layers=1, runs=1) | {
        "environment": made_results.ENVIRONMENT | {"gpu": {"name": "Big GPU"}}
    }
    document["runs"][0].append(document["runs"][0][0] | {"device": "cuda:0"})
    file = load(made_results.write(tmp_path / "ops.json", document))
    assert [one.device for one in file.measurements if not one.op] == ["Testor 9000", "Big GPU"]


def test_accuracies_of_each_backend(tmp_path: Path) -> None:
    document = {
        "schema": SCHEMA,
        "kind": "accuracy",
        "net": "recognize_digits",
        "backends": [{"name": "stock", "top1": 0.9, "top5": 1.0}, {"name": "mm", "top1": 0.8, "top5": None}],
        "environment": made_results.ENVIRONMENT,
    }
    file = load(made_results.write(tmp_path / "accuracy.json", document))
    assert only(file, quantity="top-1 accuracy", software="mm").value == 0.8
    assert only(file, quantity="top-5 accuracy").software == "stock" and len(file.measurements) == 3


def test_phases_of_training_are_measurements_of_their_own(tmp_path: Path) -> None:
    document = made_results.ops(layers=1, runs=2)
    for run in document["runs"]:
        run[0]["total_ms"] = {"updateOutput": 2.0, "updateGradInput": 3.0}
    file = load(made_results.write(tmp_path / "ops.json", document))
    assert only(file, phase="updateGradInput").value == 3


def test_tables_of_a_study_without_a_reader_of_its_own(tmp_path: Path) -> None:
    rows = [
        {"net": "vgg_a", "batch": 8, "library": "oneDNN on", "time [ms]": 1.5, "images": 7, "left out": None}
    ]
    document = {"schema": SCHEMA, "kind": "another", "tables": [{"title": "T", "rows": rows}]}
    file = load(made_results.write(tmp_path / "b.json", document))
    time = only(file, quantity="time")
    assert (time.unit, time.value, time.net, time.batch, time.op, time.phase) == (
        "ms",
        1.5,
        "vgg_a",
        8,
        "oneDNN on",
        "T",
    )
    assert only(file, quantity="images").value == 7 and len(file.measurements) == 2


def test_legacy_logs() -> None:
    file = load(str(GOLDEN / "logs" / "benchmark_cpu_4d_b4.log"))
    total = only(file, phase="forward+backward")
    assert file.kind == "log" and total.interval is None and total.unit == "ms per sample"


def test_a_published_log_knows_its_nets(tmp_path: Path) -> None:
    log = tmp_path / "titan.log"
    log.write_text(
        "Running on device: GeForce GTX TITAN X\n"
        "ModelType: AlexNet\tKernels: cudnn\tInput shape: 128x3x224x224\n"
        "cudnn    :updateOutput():   25.60\n"
        "CONFIG: input = 3x128x128 * ker = 3x96x11x11 (bs = 128, stride = 1)\n"
        "nn.SpatialConvolutionMM    :TOTAL:   64.00\n"
    )
    net, layer = load(str(log)).measurements
    assert (net.net, net.batch, net.value, net.device) == ("alexnet_owt", 128, 0.2, "GeForce GTX TITAN X")
    assert layer.net == "one convolution" and "11x11" in layer.op and layer.value == 0.5


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("absent.json", None, "No such file"),
        ("x.json", "{", "not a JSON file"),
        ("x.json", "{}", "not a result of this program"),
        ("x.json", json.dumps({"schema": SCHEMA}), "not a result of this program"),
        (
            "x.json",
            json.dumps({"schema": SCHEMA, "kind": "benchmark"}),
            "benchmark: field 'options' is missing",
        ),
        ("x.json", json.dumps({"schema": SCHEMA, "kind": "y", "tables": []}), "nothing measured in it"),
        ("x.log", "hello\n", "no line of a convnet benchmark"),
        ("x.jsonl", '{"schema": "convnet-benchmarks/points/9"}\n', "not a measured point"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, name: str, text: Any, message: str) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=message) as raised:
        load(str(path))
    assert str(raised.value).startswith(str(path))

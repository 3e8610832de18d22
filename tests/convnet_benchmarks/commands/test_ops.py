"""``ops``: the tables of the PaddlePaddle study, their files, interruption, errors."""

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.cli import main
from convnet_benchmarks.commands.ops.measure import run
from convnet_benchmarks.commands.ops.show import mean_of_runs, tables
from convnet_benchmarks.results.load import load
from tests.helpers.commands import default_ctrl_c, run_python
from tests.helpers.fake_gpu import START
from tests.helpers.places import ROOT

COMMAND = ("-m", "convnet_benchmarks", "ops")
SMALL = ("--batch-sizes", "1,3", "--passes", "2", "--threads", "1", "--devices", "cpu")
LAYERS = ["conv2d", "Relu", "pool2d", "batchnorm", "conv2d", "Relu", "pool2d"]


def test_the_tables_have_the_layout_of_the_original_study(tmp_path: Path) -> None:
    files = {name: tmp_path / f"ops.{name}" for name in ("json", "csv", "md")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    done = run_python(*COMMAND, *SMALL, "--runs", "2", *options)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.split("\n\n")
    assert shown[0].splitlines()[1].split() == ["mb=1", "mb=3"]
    assert shown[0].splitlines()[2].startswith("CPU ")
    assert shown[1].startswith("Input set-up")
    assert shown[2].splitlines()[2].startswith("CPU busy cores")
    heading = shown[3].splitlines()[1].split()
    assert heading[:7] == LAYERS and "mul" in heading and heading[-1] == "total"
    assert "aten::mkldnn_convolution" in done.stdout or "aten::convolution" in done.stdout
    result = json.loads(files["json"].read_text())
    assert result["status"] == "complete" and len(result["runs"]) == 2
    for entry in result["mean"]:
        layers = sum(layer["ms"] for layer in entry["layers"])
        assert layers > 0 and entry["outside_ms"] > 0 and entry["setup_ms"] > 0
    assert "mb=3: time by layer" in files["csv"].read_text()
    assert "| CPU |" in files["md"].read_text()


def test_training_has_three_phases_and_a_row_for_each_layer_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "ops.json"
    options = ("--mode", "training", "--runs", "1", "--layout", "rows", "--tables", "total,layers")
    done = run_python(*COMMAND, *SMALL, *options, "--json", str(path))
    assert done.returncode == 0, done.stderr
    assert "CPU accGradParameters" in done.stdout and "mb=3 updateGradInput" in done.stdout
    (entry, _) = json.loads(path.read_text())["mean"]
    phases = {layer["kind"]: layer["ms"] for layer in entry["layers"]}
    assert phases["Conv2d"]["accGradParameters"] > 0
    assert "accGradParameters" not in phases["MaxPool2d"]


def test_the_mean_of_runs_is_over_every_number() -> None:
    runs = [
        [{"device": "cpu", "batch": 2, "layers": [{"path": "a", "ms": ms}], "operators": operators}]
        for ms, operators in ((1.0, {"x": {"calls": 2.0}, "y": {"calls": 1.0}}), (3.0, {"x": {"calls": 4.0}}))
    ]
    assert mean_of_runs(runs) == [
        {
            "device": "cpu",
            "batch": 2,
            "layers": [{"path": "a", "ms": 2.0}],
            "operators": {"x": {"calls": 3.0}},
        }
    ]


def test_what_the_passes_take_beside_time_has_a_table() -> None:
    def entry(batch: int, busy: float, joules: float) -> dict[str, Any]:
        conditions = {
            "clock_mhz": None, "throttled_passes": 2 if batch == 4 else 0, "busy_cores": busy,
            "joules_per_pass": joules,
        }  # fmt: skip
        about = {"device": "cpu", "batch": batch, "setup_ms": 1.0, "total_ms": 2.0}
        return {**about, "conditions": conditions}

    runs = [[entry(1, 1.0, 3.0), entry(4, 2.0, 8.0)], [entry(1, 1.5, 5.0), entry(4, 2.0, 16.0)]]
    options = argparse.Namespace(tables=["total"], layout="auto")
    total, _, used = tables(mean_of_runs(runs), runs, options)
    assert used.rows == [["CPU busy cores", 1.25, 2.0], ["CPU energy [J] per sample", 4.0, 3.0]]
    assert "CPU, mb=4: throttled: the clock fell meanwhile" in total.notes and len(total.notes) == 2


def test_an_interruption_keeps_the_finished_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    finished = [{"device": "cpu", "batch": 1, "setup_ms": 2.0, "total_ms": 5.0}]
    answers = iter([{"measured": finished, "problem": ""}] * 2)

    def call(function: str, request: Any) -> Any:
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr("convnet_benchmarks.commands.ops.call", call)
    path = tmp_path / "ops.json"
    assert main(["ops", "--batch-sizes", "1", "--tables", "total", "--json", str(path)]) == 130
    said = capsys.readouterr()
    assert "mean of 2 runs" in said.out and said.err.endswith("\nconvnet-benchmarks ops: interrupted\n")
    result = json.loads(path.read_text())
    assert result["status"] == "interrupted" and result["runs"] == [finished, finished]


def test_batches_that_are_out_of_memory_leave_the_smaller_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def entry(batch: int) -> dict[str, Any]:
        return {"device": "cpu", "batch": batch, "setup_ms": 2.0, "total_ms": 5.0}

    answers = [(4, [4, 1, 2]), (2, [1, 2]), (None, [1])]  # what does not fit, of which batches

    def call(function: str, request: Any) -> Any:
        too_large, batches = answers.pop(0)
        assert request["batch_sizes"] == batches
        fitting = [entry(batch) for batch in batches if not too_large or batch < too_large]
        problem = f"batch {too_large}: out of memory" if too_large else ""
        return {"measured": fitting, "too_large": too_large, "problem": problem}

    monkeypatch.setattr("convnet_benchmarks.commands.ops.call", call)
    path = tmp_path / "ops.json"
    options = ("--batch-sizes", "4,1,2", "--runs", "3", "--tables", "total", "--json", str(path))
    assert main(["ops", *options]) == 3
    said = capsys.readouterr().err
    assert said.endswith(
        "\nconvnet-benchmarks ops: batch 2: out of memory; the tables have the smaller batches\n"
    )
    result = json.loads(path.read_text())
    assert result["status"] == "out of memory" and result["runs"] == [[entry(1)]] * 3
    assert result["options"]["batch_sizes"] == [4, 1, 2]


HUGE = 10**13  # images: more than any address space


def request(**given: Any) -> dict[str, Any]:
    """What a run is asked for."""
    net = {"net": "recognize_digits", "input_size": None, "seed": 1, "dtype": "float32"}
    how = {"backend": "stock", "mode": "inference", "devices": ["cpu"], "threads": None, "passes": 1}
    return {**net, **how, "tables": ["total"], "cold_cache": False, **given}


def test_a_run_goes_on_with_batches_that_fit() -> None:
    found = run(request(batch_sizes=[2, HUGE, 1, 2 * HUGE]))
    assert [entry["batch"] for entry in found["measured"]] == [2, 1] and found["too_large"] == HUGE
    assert found["problem"] == f"recognize_digits, batch {HUGE}, float32, cpu: out of memory"


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_a_net_that_remembers_its_last_batch_is_measured_at_several_sizes(mode: str) -> None:
    net = {"net": "tests.helpers.own_nets:Remembers", "input_size": [5, 6]}
    found = run(request(**net, mode=mode, batch_sizes=[1, 3]))["measured"]
    assert [entry["batch"] for entry in found] == [1, 3]


@pytest.mark.slow
def test_ctrl_c_keeps_the_finished_runs(tmp_path: Path) -> None:
    path = tmp_path / "ops.json"
    with subprocess.Popen(
        [sys.executable, *COMMAND, *SMALL, "--runs", "1000", "--json", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that Ctrl-C reaches this command's processes and not the tests
        preexec_fn=default_ctrl_c,
    ) as program:
        assert program.stdout is not None and program.stderr is not None
        for line in program.stderr:
            if line.startswith("[2/1000]"):  # the first run has ended
                os.killpg(program.pid, signal.SIGINT)
                break
        said = program.stderr.read()
        shown = program.stdout.read()
    assert program.returncode == 130 and said.endswith("convnet-benchmarks ops: interrupted\n")
    assert "Traceback" not in said and "Total time" in shown
    result = json.loads(path.read_text())
    assert result["status"] == "interrupted" and result["runs"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--net", "recognise"), "option --net: unknown net 'recognise'"),
        (("--batch-sizes", "0"), "--batch-sizes: '0' is not a whole number from 1 up"),
        (("--devices", "tpu"), "option --devices"),
        (("--tables", "layer"), "accepted: total, layers, operators"),
        (("--csv", "/nowhere/f.csv"), "--csv"),
        (("--backend", "auto"), "option --backend: auto joins layers, so that none can be timed; accepted: "),
        (("--backend", "cudagraph"), "unknown backend 'cudagraph' (did you mean cuda-graph?)"),
        (
            ("--backend", "cuda-graph", "--devices", "cpu"),
            "option --backend: backend cuda-graph is for cuda, not for cpu (--devices)",
        ),
        (("--backend", "cuda-graph", "--mode", "training"), "a CUDA graph joins the phases of training"),
        (("--backend", "cuda-graph", "--tables", "total,operators"), "a CUDA graph has no operators"),
    ],
)
def test_bad_options_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main(["ops", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


@pytest.mark.slow
def test_a_net_and_its_layers_as_cuda_graphs(tmp_path: Path) -> None:
    """On the GPU that is not there, whose graphs run the captured operators again."""
    path = tmp_path / "ops.json"
    done = run_python(
        *COMMAND, "--batch-sizes", "1,3", "--passes", "2", "--runs", "1", "--devices", "cuda",
        "--backend", "cuda-graph", "--json", path, fresh=True, environment={"PYTHONPATH": str(START)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (
        "GPU" in done.stdout and "layers run alone" in done.stdout and "PyTorch operator" not in done.stdout
    )
    for entry in json.loads(path.read_text())["runs"][0]:
        assert entry["ran"]["backend"] == "cuda-graph" and entry["ran"]["device"] == "cuda:0"
        assert entry["total_ms"] > 0 and all(layer["ms"] > 0 for layer in entry["layers"])
        assert [layer["kind"] for layer in entry["layers"]][:2] == ["Conv2d", "ReLU"]
    (first, *_) = load(str(path)).measurements
    assert first.software == "cuda-graph, float32"


@pytest.mark.slow
def test_other_kernels_of_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "ops.json"
    options = ("--runs", "1", "--tables", "total,operators", "--backend", "no-onednn", "--json", path)
    done = run_python(*COMMAND, *SMALL, *options)
    assert done.returncode == 0, done.stderr
    assert "aten::mkldnn_convolution" not in done.stdout and "slow_conv2d" in done.stdout
    assert json.loads(path.read_text())["runs"][0][0]["ran"]["backend"] == "no-onednn"

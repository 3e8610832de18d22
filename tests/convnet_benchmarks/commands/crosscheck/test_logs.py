"""crosscheck: logs and result files of runs, label by label."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import run_python
from tests.helpers.crosscheck_files import LOGS, Command
from tests.helpers.places import DATA


def run_json(tmp_path: Path, **changes: Any) -> Path:
    log = (LOGS / "benchmark_cpu.log").read_text()
    model = log[log.index("nn.Sequential") : log.index("\n}\n") + 2]
    lines = dict(line.split("\t") for line in log[log.index(":dry-run") :].strip().splitlines() if line)
    halves = {label: float(value) / 2 for label, value in lines.items()}
    document = {"schema": "convnet-benchmarks/1", "kind": "benchmark", "model": model, "lines": halves}
    document |= changes
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    return path


def batch_of_four_as_one_sample(tmp_path: Path) -> Path:
    """The log of a batch of four, as if it were of one sample."""
    path = tmp_path / "other.log"
    text = (LOGS / "benchmark_cpu_4d_b4.log").read_text()
    path.write_text(text.replace(" -4d_tensor true -batch_size 4", ""))
    return path


def test_two_logs_agree_label_by_label(crosscheck: Command, tmp_path: Path) -> None:
    other = batch_of_four_as_one_sample(tmp_path)
    code, stdout, stderr, report = crosscheck(LOGS / "benchmark_cpu.log", other)
    assert (code, stderr) == (0, "")
    assert stdout.splitlines()[1] == (
        f"B: {other} (log): overfeat_accurate; batch 1; benchmark.lua -sync false -iter 2"
    )
    assert "model: the same 23 modules" in stdout
    (run,) = report["comparisons"]
    rows = {row["label"]: row for row in run["labels"]}
    assert len(rows) == 10
    assert rows[":TOTAL:"]["speedup"] == pytest.approx(472.3740418752 / 490.33889174461)


def test_a_log_and_the_json_of_ours_agree(crosscheck: Command, tmp_path: Path) -> None:
    code, _, _, report = crosscheck(LOGS / "benchmark_cpu.log", run_json(tmp_path))
    assert code == 0
    assert all(row["speedup"] == pytest.approx(2.0) for row in report["comparisons"][0]["labels"])


def test_a_model_of_other_structure_differs(crosscheck: Command, tmp_path: Path) -> None:
    text = (LOGS / "benchmark_cpu.log").read_text()
    changed = "(18): cudnn.SpatialConvolution(4096 -> 2"
    text = text.replace("(18): nn.SpatialConvolutionMM(4096 -> 4096", changed)
    other = tmp_path / "other.log"
    other.write_text(text.replace("(17): nn.ReLU", "(17): cudnn.ReLU"))
    code, stdout, _, report = crosscheck(LOGS / "benchmark_cpu.log", other)
    assert code == 1
    assert report["comparisons"][0]["model"]["differences"] == [
        "model: 18 is nn.SpatialConvolutionMM(4096 -> 4096, 1x1) in A, "
        "cudnn.SpatialConvolution(4096 -> 2, 1x1) in B"
    ]
    assert "model: nn.ReLU in A is cudnn.ReLU in B" in stdout


def test_a_missing_label_differs(crosscheck: Command, tmp_path: Path) -> None:
    code, stdout, *_ = crosscheck(LOGS / "benchmark_cpu.log", run_json(tmp_path, lines={":TOTAL:": 1.0}))
    assert code == 1
    assert ":accGradParameters(): is missing in B" in stdout


def test_single_passes_may_be_left_out(crosscheck: Command, tmp_path: Path) -> None:
    ours = run_json(tmp_path, kind="criterion", lines={"feed moyen": 100.0})
    code, _, _, report = crosscheck(LOGS / "criterion_cpu_4d_b4.log", ours)
    assert code == 0
    (row,) = (row for row in report["comparisons"][0]["labels"] if row["speedup"])
    assert (row["label"], row["a"]) == ("feed moyen", pytest.approx(3748.0425834656 / 4))


@pytest.mark.parametrize(
    ("b", "reason"),
    [
        ("criterion_cpu.log", "kind is benchmark in A, criterion in B"),
        ("benchmark_cpu_4d_b4.log", "batch size is 1 in A, 4 in B"),
    ],
)
def test_unlike_runs_are_refused_with_what_differs(b: str, reason: str) -> None:
    """By crosscheck and compare, in the same words."""
    said = []
    for command in ("crosscheck", "compare"):
        paths = (str(LOGS / "benchmark_cpu.log"), str(LOGS / b))
        done = run_python("-m", "convnet_benchmarks", command, *paths)
        assert (done.returncode, done.stdout) == (2, "")
        said.append(done.stderr.removeprefix(f"convnet-benchmarks {command}: "))
    assert said[0] == said[1] and len(said[0].splitlines()) == 1
    assert said[0].startswith(f"A and B are of unlike runs: {reason}. ")


def test_max_slowdown(crosscheck: Command, tmp_path: Path) -> None:
    logs = LOGS / "benchmark_cpu.log", batch_of_four_as_one_sample(tmp_path)
    assert crosscheck(*logs, "--max-slowdown", "1.1")[0] == 0
    code, stdout, *_ = crosscheck(*logs, "--max-slowdown", "1.05")
    assert code == 1
    assert ":updateOutput(): takes 1.09 times as long in B (at most 1.05 accepted)" in stdout


def test_published_runs_are_paired_by_net_and_kernels(crosscheck: Command, tmp_path: Path) -> None:
    log = DATA / "soumith_imagenet_excerpt.log"
    reordered = tmp_path / "reordered.log"
    text = log.read_text()
    head, *runs = text.split("ModelType:")
    reordered.write_text(head + "".join(f"ModelType:{run}" for run in reversed(runs)))
    code, _, _, report = crosscheck(log, reordered)
    assert code == 0
    assert {row["speedup"] for run in report["comparisons"] for row in run["labels"]} == {1.0}
    fewer = tmp_path / "fewer.log"
    fewer.write_text(head + "ModelType:" + runs[0])
    code, stdout, *_ = crosscheck(log, fewer)
    assert code == 1
    assert stdout.count("no such run in B: ") == 1


@pytest.mark.parametrize("time", ["NaN", "Infinity", "-5", "0", "null", "true", '"5"', "1" + 400 * "0"])
def test_what_is_no_time_in_a_runs_json_is_refused_by_label(tmp_path: Path, time: Any) -> None:
    path = run_json(tmp_path)
    text = path.read_text()
    assert text.count('":TOTAL:": ') == 1
    path.write_text(re.sub(r'(":TOTAL:": )[^,}]+', rf"\g<1>{time}", text))
    done = run_python("-m", "convnet_benchmarks", "crosscheck", str(LOGS / "benchmark_cpu.log"), str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"convnet-benchmarks crosscheck: {path}: label ':TOTAL:' is ")
    assert done.stderr.endswith("; accepted: milliseconds above 0\n") and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("time", ["nan", "-5", "1e999"])
def test_what_is_no_time_in_a_log_is_missing(crosscheck: Command, tmp_path: Path, time: str) -> None:
    log = tmp_path / "b.log"
    text = (LOGS / "benchmark_cpu.log").read_text()
    log.write_text(re.sub(r"(?m)^(:TOTAL:\s+).*$", rf"\g<1>{time}", text))
    code, stdout, *_ = crosscheck(LOGS / "benchmark_cpu.log", log)
    assert code == 1 and ":TOTAL: is missing in B" in stdout


def test_times_of_a_batch_and_of_a_sample_are_brought_together(crosscheck: Command, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("ModelType: AlexNet\tKernels: cudnn\tInput shape: 128x3x224x224\ncudnn  :TOTAL:  80.96\n")
    code, _, _, report = crosscheck(log, run_json(tmp_path, lines={":TOTAL:": 0.316}))
    assert code == 0
    assert report["comparisons"][0]["unit"] == "ms per sample"
    assert report["comparisons"][0]["labels"][0]["speedup"] == pytest.approx(80.96 / 128 / 0.316)

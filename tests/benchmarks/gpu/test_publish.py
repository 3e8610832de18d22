"""Figures: from journals to a file, to the tables of docs/gpu.md and to the report's history."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import figures, journal, publish, tables
from convnet_benchmarks import history
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.phases import PHASES
from tests.helpers.made_results import benchmark
from tests.helpers.places import ROOT

DEVICE = "NVIDIA H200"


def record(part: str, step: str, result: Any, status: str = "ok", reason: str = "") -> dict[str, Any]:
    time = "2027-01-02T03:04:05+00:00"
    return {
        **{"part": part, "step": step, "command": [], "status": status, "reason": reason, "seconds": 1.0},
        **{"time": time, "exit_code": 0, "output": "", "result": result},
    }


def on(device: str) -> dict[str, Any]:
    """What benchmark.py --json writes on ``device``."""
    ran = {
        "net": "alexnet_owt", "batch_size": 2, "input_shape": [2, 3, 224, 224], "backend": "cudnn",
        "dtype": "float32", "device": "cuda:0", "device_name": device, "threads": 16,
    }  # fmt: skip
    return {**benchmark(), "ran": ran}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    machine = {
        "device": DEVICE,
        "environment": {"torch": {"version": "2.11.0"}, "cpu": {"model": "a CPU"}},
        "microseconds": {"to issue one operation": 5.0},
    }
    training = {"alexnet_owt, batch 128, TF32": {"ms": 9.0, "TFLOP/s": 200.0, "share of peak": 0.5}}
    journal.append(tmp_path, record("1", "machine", machine))
    journal.append(tmp_path, record("2", "benchmark.py --cuda --cudnn", on(DEVICE)))
    journal.append(tmp_path, record("2", "benchmark.py", on("a CPU")))
    journal.append(tmp_path, record("3", "peaks", {"training": training}))
    journal.append(tmp_path, record("4", "nccl", None, "failed", "exit code 1: no nccl"))
    return tmp_path


def test_figures_are_those_of_the_gpu(out: Path) -> None:
    found = figures.collect(out)
    assert (found["device"], found["date"]) == (DEVICE, "2027-01-02")
    assert {one["step"] for one in found["figures"]} == {"benchmark.py --cuda --cudnn"}
    assert found["checks"]["training"] and found["steps"][-1]["reason"] == "exit code 1: no nccl"
    assert figures.file_name(found) == "2027-01-02-nvidia-h200.json"
    text = tables.text([found])
    for expected in (
        DEVICE,
        "`benchmark.py --cuda --cudnn`",
        "alexnet_owt, batch 128, TF32",
        "exit code 1: no nccl",
    ):
        assert expected in text, expected


def test_a_free_loop_has_the_host_s_time(tmp_path: Path, out: Path) -> None:
    """The one that is printed; the events of its passes lie where the device does the work."""
    document = on(DEVICE)
    document["phases"]["free :updateOutput():"] = document["phases"][":updateOutput():"]
    document["lines"]["free :updateOutput():"] = 0.001
    journal.append(out, record("first", "lines", {"lines": {"benchmark.py --cuda": document}}))
    found = {(one["step"], one["phase"]): one["value"] for one in figures.collect(out)["figures"]}
    assert found["benchmark.py --cuda", "free updateOutput"] == 0.001
    assert found["benchmark.py --cuda", "updateOutput"] > 0.001


def test_journals_without_a_machine_are_refused(tmp_path: Path) -> None:
    journal.append(tmp_path, record("2", "benchmark.py", None, "failed"))
    with pytest.raises(UserError, match="run part 1"):
        figures.collect(tmp_path)
    with pytest.raises(UserError, match="accepted"):
        figures.read(journal.journal_file(tmp_path, "2"))


def test_what_is_published(out: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("checkout")
    for folder in ("benchmarks/gpu/results", "docs", "convnet_benchmarks/history"):
        (root / folder).mkdir(parents=True)
    page = (ROOT / "docs" / "gpu.md").read_text()
    (root / "docs" / "gpu.md").write_text(page)
    written = publish.publish(out, root)
    assert [path.name for path in written] == [
        "2027-01-02-nvidia-h200.json", "gpu.md", "gpu_2027_01_02_nvidia_h200.json",
    ]  # fmt: skip
    again = (root / "docs" / "gpu.md").read_text()
    assert DEVICE in again and again.startswith(page.partition("<!-- figures")[0])
    publish.publish(None, root)
    assert (root / "docs" / "gpu.md").read_text() == again
    source = history.read_source(json.loads(written[-1].read_text()))
    total = [one for one in source.measurements if one.phase == "forward+backward"]
    assert total and total[0].device == DEVICE and total[0].unit == "ms per sample"


def test_a_second_run_of_a_day_has_a_file_of_its_own(
    out: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("results")
    first = figures.collect(out)
    for _ in range(2):  # published twice
        path = figures.free_file(folder, first)
        path.write_text(json.dumps(first))
    later = {**first, "time": "2027-01-02T09:00:00+00:00"}
    assert figures.free_file(
        folder, later
    ).name == "2027-01-02-nvidia-h200-2.json" and path.name in os.listdir(folder)
    assert (
        figures.title(later) == f"{DEVICE}, 2027-01-02, run 2"
        and figures.title(first) == f"{DEVICE}, 2027-01-02"
    )


def test_tables_of_what_was_chosen_and_trained(out: Path) -> None:
    ms = {"auto": 10.0, "auto by calls": 12.0, "plain loop": 20.0}
    layers = [
        {
            "GFLOP": 5.0,
            "chosen": dict.fromkeys(PHASES, "halves"),
            "ways": {phase: {"cudnn": cudnn, "halves": 1.5} for phase in PHASES},
        }
        for cudnn in (4.0, "differs from float64")
    ]
    tuned = {"tune": {"net, batch 2": {"ms": ms, "seconds": {"choosing": 3.0}, "layers": layers}}}
    phases = {"updateOutput": 1.0, "updateGradInput": 2.0, "accGradParameters": 3.0}
    chosen = {"autotuning": {"batch 64, NCHW, 4 kernels tried": {"seconds": 1.5, **phases}}}
    th = {"ms": 5.0, "device_ms": 4.0, "operators": 9, "launches": 8, "waits": 1}
    program = {
        "program": "a program",
        "differences": [1e-6],
        "th": th,
        "plain": {},
        "share": None,
        "losses": [[1, 1]],
    }
    journal.append(out, record("tune", "tune", tuned))
    journal.append(out, record("first", "autotuning", chosen))
    journal.append(out, record("first", "programs", [program]))
    text = tables.text([figures.collect(out)])
    for expected in (
        "| net, batch 2 | 10 | 12 | 20 | 2 | 3 |",
        "| net, batch 2 | 2 | 4 | 1.5 | 4 | 1.5 | 4 | 1.5 | 3 |",
        "4 kernels tried | 1.5 | 1 | 2 | 3 |",
        "| a program | 1e-06 | 5 | 4 |",
    ):
        assert expected in text, text


def test_the_page_is_what_the_results_say() -> None:
    page = (ROOT / "docs" / "gpu.md").read_text()
    results = sorted((ROOT / "benchmarks" / "gpu" / "results").glob("*.json"))
    assert publish.renewed(page, [figures.read(path) for path in results]) == page
    assert (tables.NOTHING in page) == (not results)

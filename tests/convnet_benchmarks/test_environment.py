"""The recorded environment: plain JSON, with what this machine can say."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from convnet_benchmarks import environment
from convnet_benchmarks.workload.backends import GPU_SWITCHES
from convnet_benchmarks.workload.kernels import environment_of


def test_it_is_json_and_names_what_matters() -> None:
    found = environment.collect(torch.device("cpu"))
    assert json.loads(json.dumps(found)) == found
    assert found["torch"]["version"] == torch.__version__
    assert found["torch"]["threads"] == torch.get_num_threads()
    assert found["cpu"]["model"] and found["cpu"]["logical_cores"] >= 1
    assert found["software"]["packages"]["numpy"]
    assert found["gpu"] is None


def test_variables_that_change_allocation_and_threads_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("HOME_SWEET_HOME", "no")
    variables = environment.collect(torch.device("cpu"))["variables"]
    assert variables["OMP_NUM_THREADS"] == "3"
    assert "HOME_SWEET_HOME" not in variables


@pytest.mark.parametrize(("switch", "tf32"), [("cudnn", False), ("cudnn", True), ("mm", False)])
def test_a_gpu_s_switches_are_those_of_the_run(
    monkeypatch: pytest.MonkeyPatch, switch: str, tf32: bool
) -> None:
    about = {"name": "a GPU", "total_memory": 1, "multi_processor_count": 1, "major": 9, "minor": 0}
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(**about))
    monkeypatch.setattr(environment, "gpu_uuid", lambda device: None)
    before = torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32
    found = environment_of(torch.device("cuda", 0), replace(GPU_SWITCHES[switch], tf32=tf32))["gpu"]
    assert found["tf32_cudnn"] == found["tf32_matmul"] == tf32
    assert found["cudnn_benchmark"] == (switch == "cudnn")
    if hasattr(torch.backends.cudnn, "conv"):
        assert (found["fp32_precision"]["cudnn.conv"] == "tf32") == tf32
    assert before == (torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32)


def test_denormals_are_seen() -> None:
    torch.set_flush_denormal(True)
    try:
        assert environment.collect(torch.device("cpu"))["torch"]["flush_denormals"]
    finally:
        torch.set_flush_denormal(False)
    assert not environment.collect(torch.device("cpu"))["torch"]["flush_denormals"]


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"/proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC\n"}, "AMD EPYC"),
        (
            {"/proc/cpuinfo": "processor\t: 0\n", "lscpu": "CPU(s): 4\nModel name: Neoverse-N1\n"},
            "Neoverse-N1",
        ),
        ({"sysctl": "Apple M2"}, "Apple M2"),
    ],
)
def test_the_processor_has_a_name(monkeypatch: pytest.MonkeyPatch, told: dict[str, str], name: str) -> None:
    monkeypatch.setattr(environment, "_read", told.get)
    monkeypatch.setattr(environment, "_run", lambda command, *_: told.get(command))
    assert environment.machine("cpu")["device"] == name


def test_the_commit_is_that_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert environment.collect(torch.device("cpu"))["commit"] is None
    folder = tmp_path / "theirs"
    folder.mkdir()
    monkeypatch.chdir(folder)
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], check=True)
    (folder / "file").write_text("1")
    told = environment.collect(torch.device("cpu"))["commit"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    assert told == head.strip()

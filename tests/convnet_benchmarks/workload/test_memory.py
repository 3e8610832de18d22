"""Out of memory: how it is recognised, and the batch that is named."""

from pathlib import Path
from typing import Any

import pytest
import torch

from convnet_benchmarks.commands import benchmark
from convnet_benchmarks.legacy.fit import LacksGpuMemoryError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.workload import largest_gpu_batch as searching
from convnet_benchmarks.workload.backends import BACKENDS
from convnet_benchmarks.workload.largest_gpu_batch import fitting_batch, largest_gpu_batch
from convnet_benchmarks.workload.memory import is_out_of_memory


def test_pytorchs_own_refusal_on_a_cpu_is_recognised() -> None:
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**50, dtype=torch.uint8)
    assert is_out_of_memory(error.value)


@pytest.mark.parametrize("error", [MemoryError(), torch.cuda.OutOfMemoryError("CUDA out of memory")])
def test_refusals_are_recognised(error: Any) -> None:
    assert is_out_of_memory(error)


def test_other_errors_are_not() -> None:
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


def test_the_fitting_batch_fits_and_one_more_does_not() -> None:
    fixed, sample, capacity = 1000, 70, 5000
    batch = fitting_batch(fixed + sample, fixed + 2 * sample, capacity)
    assert fixed + batch * sample <= capacity < fixed + (batch + 1) * sample


@pytest.mark.parametrize("place", ["legacy.script.prepare", "nets.engine.prepare"])
def test_running_out_anywhere_is_one_line_and_exit_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(f"convnet_benchmarks.{place}", refuse)
    arguments = ["--net", "googlenet", "-batch_size", "6", "--json", str(tmp_path / "r.json")]
    assert benchmark.command(arguments) == 3
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "the largest batch to try is 3" in message
    assert not list(tmp_path.iterdir())


def test_what_a_gpu_lacks_is_said_before_the_input_is_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = torch.nn.Linear(1, 1)

    def refuse(*_: object) -> None:
        raise LacksGpuMemoryError("needs at least 9.0 GiB of memory", module)

    def tried(*about: Any) -> int:
        assert about[2] is module and about[-1] == 6
        return 5

    monkeypatch.setattr("convnet_benchmarks.legacy.script.prepare", refuse)
    monkeypatch.setattr("convnet_benchmarks.legacy.fit.largest_gpu_batch", tried)
    monkeypatch.setattr("convnet_benchmarks.legacy.fit.CPU", "")  # so that the module counts as a GPU's
    assert benchmark.command(["--net", "googlenet", "-batch_size", "6"]) == 3
    message = capsys.readouterr().err
    assert "option -batch_size 6: needs at least 9.0 GiB of memory; the largest batch to try is 5" in message


def test_running_out_in_a_phase_keeps_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import json

    from convnet_benchmarks.nets.engine import EnginePhases

    def refuse(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(EnginePhases, "updateGradInput", refuse)
    path = tmp_path / "r.json"
    arguments = ["--net", "recognize_digits", "-batch_size", "2", "-convMM", "true", "--json", str(path)]
    assert benchmark.command(arguments) == 3
    assert "the largest batch to try is 1" in capsys.readouterr().err
    result = json.loads(path.read_text())
    assert result["status"] == "out of memory" and result["lines"] == {}


@pytest.mark.parametrize(
    ("asked", "fits"), [(a, f) for a in (1, 2, 3, 40, 10**5) for f in (0, 1, 2, 3, 9, 10, 37) if f < a]
)
def test_the_batch_named_ran_and_is_smaller_than_the_one_that_failed(
    monkeypatch: pytest.MonkeyPatch, asked: int, fits: int
) -> None:
    """Kernels that take more for larger batches than for one or two samples: the guess of 46 is too large."""
    peaks = {1: 70, 2: 90}
    ran = []

    def runs(*about: Any) -> bool:
        ran.append(about[-1])
        return bool(ran[-1] <= fits)

    monkeypatch.setattr(searching, "_runs", runs)
    monkeypatch.setattr(searching, "device_memory", lambda _: 1024)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: peaks[ran[-1]])
    net = registry.find("recognize_digits")
    named = largest_gpu_batch(net, BACKENDS["stock"], torch.nn.Linear(1, 1), net.input_size, below=asked)
    assert named == min(fits, asked - 1) if named < 3 else named in ran and 0.85 * fits < named <= fits

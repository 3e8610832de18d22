"""Measured points: in this process, and in one of their own that may crash."""

import json
import os
import signal
import time
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.points import measure as point_measurement
from convnet_benchmarks.points import workload as point_workload
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.points.process import PointWorker, WorkerEndedError, describe_device, measure_apart
from convnet_benchmarks.timing.loops import Settling
from convnet_benchmarks.timing.statistics import percentile
from convnet_benchmarks.workload.backends import BACKENDS
from tests.helpers.commands import run_python
from tests.helpers.gpu import sized

BRIEF = Settling(fewest_passes=4, least_seconds=0.0, most_seconds=0.2)
# A real net as small as it gets, for the processes that a test cannot patch.
SMALL = Point("googlenet", input_size=(3, 193, 193), threads=1)


def tiny() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 5))


@pytest.fixture
def tiny_net(monkeypatch: pytest.MonkeyPatch) -> str:
    net = Net("tiny", tiny, (3, 8, 8), "this test")
    monkeypatch.setitem(registry.NETS, "tiny", net)
    return "tiny"


@pytest.mark.parametrize("backend", ["stock", "no-onednn", "channels-last", "auto", "mm"])
@pytest.mark.parametrize("mode", ["inference", "training"])
def test_a_point_has_its_figures(tiny_net: str, backend: str, mode: str) -> None:
    result = point_measurement.measure(Point(tiny_net, 4, backend=backend, mode=mode, threads=1), BRIEF)
    assert (result["status"], result["reason"]) == ("ok", "")
    assert result["samples_per_second"] == pytest.approx(4e3 / result["pass_ms"]["median"])
    passes, latency = result["pass_ms"]["samples"], result["latency_ms"]
    told = [name for name, fewest in (("p50", 1), ("p90", 64), ("p99", 662)) if passes >= fewest]
    assert list(latency) == told and latency["p50"] > 0
    assert list(latency.values()) == sorted(latency.values())
    assert result["peak_memory_bytes"] > 2**20
    assert result["parameters"] == 3 * 8 * 9 + 8 + 8 * 36 * 5 + 5
    phases = ["updateOutput", "updateGradInput", "accGradParameters"] if mode == "training" else []
    assert list(result["phases_ms"]) == phases
    assert (result["engine"] is not None) == bool(BACKENDS[backend].engine)
    assert Point.from_dict(json.loads(json.dumps(result, allow_nan=False))["point"]).net == tiny_net


@pytest.mark.parametrize(
    ("point", "status", "reason"),
    [
        (Point("tiny", device="cuda"), "failed", "accepted here: cpu"),
        (Point("tiny", device="tpu"), "failed", "accepted: cpu, cuda"),
        (Point("tiny", backend="no-cudnn"), "unsupported", "no-cudnn is for cuda, not for cpu"),
        (Point("tiny", backend="compile", mode="training"), "unsupported", "inference only"),
        (Point("tiny", dtype="float16", backend="auto"), "unsupported", "CPU engine cannot"),
        (Point("tiny", input_size=(3, 9, 9)), "failed", "shapes cannot be multiplied"),
        (Point("tiny", 2**40), "out of memory", "MemoryError"),
    ],
)
def test_what_cannot_run_says_why(tiny_net: str, point: Any, status: str, reason: str) -> None:
    if point.device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    result = point_measurement.measure(point, BRIEF)
    assert result["status"] == status and reason in result["reason"]
    assert "samples_per_second" not in result


def test_a_missing_compiler_is_named(tiny_net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = point_measurement.measure(Point(tiny_net, backend="compile"), BRIEF)
    assert result["status"] == "unsupported" and "'no-such-compiler' (CXX) was not found" in result["reason"]


def test_settings_are_put_back(tiny_net: str) -> None:
    def state() -> tuple[Any, ...]:
        return torch.get_num_threads(), torch._C._get_mkldnn_enabled(), torch.is_inference_mode_enabled()

    before = state()
    point_measurement.measure(Point(tiny_net, backend="no-onednn", threads=before[0] + 1), BRIEF)
    assert state() == before


@pytest.mark.parametrize("backend", ["no-onednn", "channels-last", "auto", "mm", "direct", "winograd", "fft"])
def test_the_backends_give_the_same_output(tiny_net: str, backend: str) -> None:
    def output(name: str) -> Tensor:
        with point_workload.open_point(Point(tiny_net, 4, backend=name)) as workload:
            return workload.infer().clone()

    torch.testing.assert_close(output(backend), output("stock"), rtol=1e-5, atol=1e-5)


def test_the_input_depends_on_the_seed_only(tiny_net: str) -> None:
    def inputs(**fields: Any) -> Tensor:
        with point_workload.open_point(Point(tiny_net, 4, **fields)) as workload:
            return workload.input

    assert torch.equal(inputs(), inputs(backend="mm", mode="training"))
    assert not torch.equal(inputs(), inputs(seed=2))


def test_a_net_is_tried_in_the_mode_that_it_is_measured_in() -> None:
    point = Point("tests.helpers.own_nets:normalised", 1, input_size=(6,))
    with point_workload.open_point(point) as workload:
        workload.run()
    with (
        pytest.raises(UserError, match="Expected more than 1 value per channel when training"),
        point_workload.open_point(replace(point, mode="training")),
    ):
        pass


def test_points_are_read_back_and_checked() -> None:
    point = Point("tiny", 4, input_size=(3, 8, 8))
    assert Point.from_dict(json.loads(json.dumps(point.as_dict()))) == point
    for wrong in ({"net": "tiny", "mode": "guessing"}, {"net": "tiny", "dtype": "int3"}, {"nets": "tiny"}):
        with pytest.raises(ValueError):
            Point.from_dict(wrong)


def test_a_point_apart_is_the_same_kind_of_record() -> None:
    result = measure_apart(SMALL, BRIEF, cores=sorted(os.sched_getaffinity(0))[:1])
    assert result["status"] == "ok"
    assert result["environment"]["torch"]["threads"] == 1
    assert len(result["environment"]["cpu"]["affinity"]) == 1


def test_limits_and_crashes_end_the_point_only() -> None:
    result = measure_apart(SMALL, BRIEF, memory_budget=64 << 20)
    assert result["status"] == "out of memory" and "memory budget of 0.0625 GiB" in result["reason"]
    result = measure_apart(SMALL, BRIEF, time_limit=0.01)
    assert result["status"] == "failed" and "time limit of 0.01 s" in result["reason"]
    with PointWorker() as worker:
        os.kill(worker.pid, signal.SIGSEGV)
        with pytest.raises(WorkerEndedError, match="killed by signal SIGSEGV") as ended:
            worker.measure(SMALL, BRIEF)
    assert ended.value.status == "failed"


def test_an_exception_of_the_worker_itself_is_its_last_line() -> None:
    with PointWorker() as worker, pytest.raises(WorkerEndedError, match="exit code 1: AttributeError"):
        worker.ask("nothing")


def test_a_worker_ends_with_its_parent() -> None:
    script = (
        "import os, signal, sys\n"
        "from convnet_benchmarks.points.process import PointWorker\n"
        "worker = PointWorker()\n"
        "print(worker.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    pid = int(run_python("-c", script).stdout)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and _runs(pid):
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_devices_are_described_or_refused() -> None:
    assert set(describe_device("cpu", "--device")) == {"device", "torch"}
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match=r"option --device: .*accepted here: cpu"):
            describe_device("cuda", "--device")


def test_percentiles_lie_between_the_samples() -> None:
    assert percentile([3, 1, 2], 50) == 2
    assert percentile([0.0, 10.0], 90) == pytest.approx(9.0)
    assert percentile([7.0], 99) == 7.0


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["stock", "no-cudnn", "tf32", "channels-last"])
@pytest.mark.parametrize("mode", ["inference", "training"])
def test_a_point_on_a_gpu(backend: str, mode: str) -> None:
    net = sized("googlenet", "recognize_digits")
    result = point_measurement.measure(Point(net, 4, "cuda", backend=backend, mode=mode), BRIEF)
    assert (result["status"], result["reason"]) == ("ok", "")
    assert result["reserved_memory_bytes"] >= result["peak_memory_bytes"] > 4 * result["parameters"]
    assert result["environment"]["gpu"]["name"] == describe_device("cuda", "--device")["device"]


@pytest.mark.gpu
def test_a_gpu_recovers_from_running_out_of_memory() -> None:
    before = torch.cuda.memory_allocated()
    net = sized("googlenet", "recognize_digits")
    result = point_measurement.try_point(Point(net, sized(2**16, 2**20), "cuda"))
    assert result["status"] == "out of memory"
    assert torch.cuda.memory_allocated() == before
    assert point_measurement.try_point(Point(net, 1, "cuda"))["status"] == "ok"

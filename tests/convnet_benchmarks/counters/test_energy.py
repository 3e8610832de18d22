"""Energy from counters that begin again: RAPL's in a folder, NVML's in a module made for it."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from convnet_benchmarks import environment
from convnet_benchmarks.counters import open_counters
from convnet_benchmarks.counters.counter import UnreadableError
from convnet_benchmarks.counters.nvml import GpuEnergy, NvmlGpu
from convnet_benchmarks.counters.rapl import RaplEnergy
from convnet_benchmarks.timing.conditions import Conditions, watched
from convnet_benchmarks.timing.loops import HostClock

RANGE = 262_143_328_850


def domain(folder: Path, name: str, kind: str, microjoules: int) -> Callable[[int], int]:
    """Makes a domain of powercap; returns what sets its counter."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "name").write_text(f"{kind}\n")
    (place / "max_energy_range_uj").write_text(f"{RANGE}\n")
    counter = place / "energy_uj"
    counter.write_text(f"{microjoules}\n")
    return lambda now: counter.write_text(f"{now}\n")


def test_packages_and_their_memory_are_added_up_and_nothing_twice(tmp_path: Path) -> None:
    counters = [
        domain(tmp_path, "intel-rapl:0", "package-0", 1_000_000),
        domain(tmp_path, "intel-rapl:0:0", "core", 5),  # a part of the package
        domain(tmp_path, "intel-rapl:0:1", "dram", 0),
        domain(tmp_path, "intel-rapl:1", "package-1", 0),
        domain(tmp_path, "intel-rapl:2", "psys", 7),  # the platform: everything above again
    ]
    energy = RaplEnergy(tmp_path)
    for number, counter in enumerate(counters):
        counter(10_000_000 * (number + 1))
    assert energy.read() == pytest.approx(9 + 30 + 40)


def test_a_counter_that_wraps_around_continues(tmp_path: Path) -> None:
    counter = domain(tmp_path, "intel-rapl:0", "package-0", RANGE - 3_000_000)
    energy = RaplEnergy(tmp_path)
    counter(RANGE - 1_000_000)
    assert energy.read() == pytest.approx(2)
    counter(4_000_000)
    assert energy.read() == pytest.approx(7)
    counter(5_000_000)
    assert energy.read() == pytest.approx(8)


def test_why_there_is_no_energy_of_the_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnreadableError, match="no RAPL packages"):
        RaplEnergy(tmp_path)
    domain(tmp_path, "intel-rapl:0", "package-0", 0)
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("nonsense")
    with pytest.raises(UnreadableError, match="RAPL cannot be read"):
        RaplEnergy(tmp_path)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(UnreadableError, match="by root only"):
        RaplEnergy(tmp_path)


class Nvml(ModuleType):
    """NVIDIA's module with one GPU."""

    NVML_CLOCK_SM = 1

    class NVMLError(Exception):
        pass

    def __init__(self, *, broken: str = "") -> None:
        super().__init__("pynvml")
        self.millijoules, self.mhz, self.broken, self.opened = 5_000, 1980, broken, 0

    def _check(self, function: str) -> None:
        if self.broken == function:
            raise self.NVMLError("Not Supported")

    def nvmlInit(self) -> None:
        self._check("nvmlInit")
        self.opened += 1

    def nvmlShutdown(self) -> None:
        self.opened -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        self._check("nvmlDeviceGetHandleByUUID")
        return uuid

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        self._check("nvmlDeviceGetClockInfo")
        assert (handle, kind) == ("GPU-1", self.NVML_CLOCK_SM)
        return self.mhz

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        self._check("nvmlDeviceGetTotalEnergyConsumption")
        return self.millijoules


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    made = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", made)
    return made


def test_a_gpus_joules_and_clock(nvml: Nvml) -> None:
    energy = GpuEnergy("GPU-1")
    nvml.millijoules = 12_500
    assert energy.read() == pytest.approx(7.5)
    nvml.millijoules = 500  # the driver was loaded again
    assert energy.read() == pytest.approx(8.0)
    gpu = NvmlGpu("GPU-1")
    assert gpu.clock_mhz() == 1980.0
    nvml.broken = "nvmlDeviceGetClockInfo"
    assert gpu.clock_mhz() is None
    for each in (gpu, energy):
        each.close()
    assert nvml.opened == 0


@pytest.mark.parametrize("function", ["nvmlInit", "nvmlDeviceGetTotalEnergyConsumption"])
def test_why_there_is_no_energy_of_the_gpu(nvml: Nvml, function: str) -> None:
    nvml.broken = function
    counters = open_counters("GPU-1")
    assert counters.reasons["gpu_joules"] == "Not Supported" and nvml.opened == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert "[nvml]" in open_counters("GPU-1").reasons["gpu_joules"]


def test_the_conditions_of_a_gpu_have_its_clock_and_energy(
    nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("convnet_benchmarks.timing.conditions.gpu_uuid", lambda device: "GPU-1")
    with watched(torch.device("cuda", 0), HostClock()) as conditions:
        nvml.millijoules += 6_000
        conditions.look(2)
        nvml.mhz = 990
        conditions.start()
        conditions.look(2)
    seen = conditions.as_dict()
    assert seen["gpu_joules_per_pass"] == pytest.approx(1.5)
    assert seen["clocks"] == [[2, 1980.0], [2, 990.0]] and seen["throttled_passes"] == 2
    assert nvml.opened == 0


def test_a_counter_that_disappears_meanwhile_is_ignored(nvml: Nvml) -> None:
    conditions = Conditions(lambda: None, open_counters("GPU-1"))
    nvml.broken = "nvmlDeviceGetTotalEnergyConsumption"
    conditions.look(3)
    assert "gpu_joules_per_pass" not in conditions.as_dict()


def test_the_environment_says_what_is_counted_or_why_not() -> None:
    found = environment.collect(torch.device("cpu"))["counters"]
    assert found == open_counters().reasons | dict.fromkeys(open_counters().readable, "read")
    assert {"instructions", "joules"} == set(found)

"""Times, and counts of what the host asks of the device, over the evaluations of a loss."""

import json
import time
from pathlib import Path
from typing import Any

import torch

_PROFILED = 2  # evaluations whose calls are counted, after the timed ones
_READS = "aten::_local_scalar_dense"


class Meter:
    """Told of every evaluation; writes a JSON object to ``path`` when it has seen enough."""

    def __init__(self, path: Path, warm: int, steps: int, profiled: bool) -> None:
        self._path = path
        self._warm, self._last = warm, warm + steps
        self._end = self._last + (_PROFILED if profiled else 0)
        self._count = 0
        self._losses: list[float] = []
        self._begin = time.perf_counter()
        self._found: dict[str, Any] = {"steps": steps}
        self._profile: Any = None

    def begins(self) -> bool:
        """Returns whether enough has been seen, and nothing more is to be evaluated."""
        number, self._count = self._count, self._count + 1
        if number == self._warm:
            self._found["warm_up_s"] = self._now() - self._begin
            self._begin = self._now()
        if number == self._last:
            self._found["ms"] = 1e3 * (self._now() - self._begin) / max(1, self._last - self._warm)
            self._found["memory_MiB"] = round(torch.cuda.max_memory_allocated() / 2**20)
            self._write()
            if self._end > self._last:
                self._profile = _profiler()
                self._profile.__enter__()
        if number == self._end:
            if self._profile is not None:
                self._now()
                self._profile.__exit__(None, None, None)
                self._found |= _counts(self._profile)
                self._write()
            return True
        return False

    def gave(self, loss: float) -> None:
        if self._count <= self._last:
            self._losses.append(float(loss))

    def _now(self) -> float:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter()

    def _write(self) -> None:
        whole = self._path.with_suffix(".new")  # this process may be ended in the middle
        whole.write_text(json.dumps({**self._found, "losses": self._losses}), encoding="utf-8")
        whole.replace(self._path)


def _profiler() -> Any:
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU]
    if ProfilerActivity.CUDA in torch.profiler.supported_activities():
        activities.append(ProfilerActivity.CUDA)
    return profile(activities=activities)


def _counts(profile: Any) -> dict[str, float]:
    """Returns what one evaluation asks for: operators, launches, waits, numbers read; the device's ms."""
    operators = launches = waits = reads = 0
    busy_us = 0.0
    for event in profile.events():
        name = event.name
        if event.device_type == torch.autograd.DeviceType.CUDA:
            busy_us += event.time_range.elapsed_us()
        elif name.startswith("aten::"):
            operators += event.cpu_parent is None or not event.cpu_parent.name.startswith("aten::")
            reads += name == _READS
        elif "LaunchKernel" in name:
            launches += 1
        elif "Synchronize" in name or name == "cudaMemcpy":
            waits += 1
    found = {"operators": operators, "launches": launches, "waits": waits, "reads": reads}
    return {
        **{name: count / _PROFILED for name, count in found.items()},
        "device_ms": busy_us / 1e3 / _PROFILED,
    }

"""The machine while something is timed: its clock, and the processor time, instructions and energy used.

Read between timed passes, never during one. What a machine does not tell is None, or is not there.
"""

import contextlib
import glob
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from convnet_benchmarks.counters import Counters, open_counters
from convnet_benchmarks.counters.counter import UnreadableError
from convnet_benchmarks.counters.nvml import NvmlGpu
from convnet_benchmarks.environment import gpu_uuid
from convnet_benchmarks.timing.loops import Clock

if TYPE_CHECKING:
    import torch

# A clock below this share of the highest one seen means that the machine was slowed down (nvbench's default).
THROTTLED = 0.75
_PROCESSOR, _WALL, _WAITED = "processor seconds", "wall seconds", "waited seconds"


@dataclass
class Conditions:
    """Looks at a machine before, between and after loops. ``clock_mhz`` reads the clock of its device.

    ``looks``: passes done since the look before, and the clock then.
    """

    clock_mhz: Callable[[], float | None]
    counters: Counters = field(default_factory=lambda: Counters({}, {}))
    looks: list[tuple[int, float | None]] = field(default_factory=list)
    waited_seconds: Callable[[], float | None] = lambda: None  # for a core, of all threads

    def __post_init__(self) -> None:
        self._grown: dict[str, float] = {}
        self._lost: set[str] = set()
        self.looks.append((0, self.clock_mhz()))
        self.start()

    def start(self) -> None:
        """Begins to account for passes; what happened since the last look belongs to none."""
        self._last = self._read(times_last=True)

    def look(self, passes: int) -> None:
        """Notes what ``passes`` took since the start, and the clock after them."""
        self._account()
        self.looks.append((passes, self.clock_mhz()))

    def leaving_out(self, work: Callable[[], None]) -> Callable[[], None]:
        """Returns ``work``, done between passes, such that it is not counted as theirs."""

        def left_out() -> None:
            self._account()
            work()
            self.start()

        return left_out

    def _account(self) -> None:
        for name, reading in self._read().items():
            if name in self._last:
                self._grown[name] = self._grown.get(name, 0.0) + reading - self._last[name]
        self._last = {}

    @property
    def throttled_passes(self) -> int:
        """Returns how many passes ended with a clock far below the highest one seen."""
        highest = max((clock for _, clock in self.looks if clock), default=0.0)
        return sum(passes for passes, clock in self.looks if clock and clock < THROTTLED * highest)

    def as_dict(self) -> dict[str, Any]:
        """Returns what was seen since the start, as plain JSON values; docs/results.md describes them."""
        passes = sum(done for done, _ in self.looks)
        grown = {name: value for name, value in self._grown.items() if name not in self._lost}
        wall, processor = grown.pop(_WALL, 0.0), grown.pop(_PROCESSOR, 0.0)
        clocks = [clock for _, clock in self.looks if clock]
        waited = 1e3 * grown.pop(_WAITED) / passes if passes and _WAITED in grown else None
        return {
            "clock_mhz": {"lowest": min(clocks), "highest": max(clocks)} if clocks else None,
            "clocks": [list(look) for look in self.looks[1:]],
            "throttled_passes": self.throttled_passes,
            "cpu_ms_per_pass": 1e3 * processor / passes if passes else None,
            "waited_ms_per_pass": waited,
            "busy_cores": processor / wall if wall > 0 else None,
            **{f"{name}_per_pass": value / passes for name, value in grown.items() if passes},
        }

    def _read(self, *, times_last: bool = False) -> dict[str, float]:
        """Returns all readings, the times nearest to the passes: reading counters is none of their work."""
        readings: dict[str, float] = {}
        sources: list[tuple[str, Callable[[], float | None]]] = [
            (_WALL, time.perf_counter),
            (_PROCESSOR, time.process_time),
            (_WAITED, self.waited_seconds),
        ]
        sources += [(name, counter.read) for name, counter in self.counters.readable.items()]
        for name, read in reversed(sources) if times_last else sources:
            try:
                value = read()
                if value is not None:
                    readings[name] = value
            except (OSError, ValueError, UnreadableError):  # the driver was unloaded, rights were taken
                self._lost.add(name)
        return readings


@contextlib.contextmanager
def watched(device: "torch.device", clock: Clock) -> Iterator[Conditions]:
    """Yields the conditions of ``device`` from now on, with whatever this machine counts.

    Emptying the cache between the passes that ``clock`` times is left out.
    """
    with contextlib.ExitStack() as stack:
        if device.type != "cuda":
            clock_mhz: Callable[[], float | None] = cpu_clock_mhz
            counters = open_counters()
        else:
            uuid = gpu_uuid(device)
            clock_mhz = _gpu_clock(uuid, device.index or 0, stack)
            counters = open_counters(uuid)
        stack.callback(counters.close)
        waited = CpuWaitedSeconds() if device.type != "cuda" else lambda: None
        conditions = Conditions(clock_mhz, counters, waited_seconds=waited)
        evict = clock.evict
        if evict is not None:
            stack.callback(setattr, clock, "evict", evict)
            clock.evict = conditions.leaving_out(evict)
        yield conditions


class CpuWaitedSeconds:
    """Reads how long this process's threads have been ready without running.

    The second number of Linux's schedstat, in nanoseconds. A thread that has ended counts as it was last
    seen, so that no reading is below an earlier one.
    """

    def __init__(self) -> None:
        self._of_ended = 0
        self._of_threads: dict[str, int] = {}

    def __call__(self) -> float | None:
        """Returns the seconds; None if they are not reported."""
        now: dict[str, int] = {}
        for file in glob.iglob("/proc/self/task/*/schedstat"):
            with contextlib.suppress(OSError, IndexError, ValueError):  # the thread has ended
                now[file] = int(Path(file).read_text().split()[1])
        for file, before in self._of_threads.items():
            if now.get(file, 0) < before:  # ended; a new thread may have its number
                self._of_ended += before
        self._of_threads = now
        return (self._of_ended + sum(now.values())) / 1e9 if now else None


def cpu_clock_mhz() -> float | None:
    """Returns the clock of the fastest core that this process may use."""
    try:
        clocks = psutil.cpu_freq(percpu=True)
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(clocks))
        found = [clocks[core].current for core in allowed if core < len(clocks)]
    except (OSError, NotImplementedError, AttributeError):
        return None
    return float(max(found)) if found else None


def _gpu_clock(uuid: str | None, index: int, stack: contextlib.ExitStack) -> Callable[[], float | None]:
    """Returns what reads the clock of a GPU: NVML, which takes microseconds, or nvidia-smi."""
    if uuid is not None:
        with contextlib.suppress(UnreadableError):
            gpu = NvmlGpu(uuid)
            stack.callback(gpu.close)
            return gpu.clock_mhz
    return partial(smi_clock_mhz, uuid or str(index))


def smi_clock_mhz(gpu: str) -> float | None:
    """Returns the clock of a GPU's multiprocessors, from nvidia-smi; ``gpu``: its UUID or number."""
    if shutil.which("nvidia-smi") is None:
        return None
    query = ["nvidia-smi", f"--id={gpu}", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
        return float(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None

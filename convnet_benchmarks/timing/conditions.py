"""The machine while something is timed: its clock, the processor time and the energy that were used.

Read between timed passes, never during one. What a machine does not tell is None.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

# A clock below this share of the highest one seen means that the machine was slowed down (nvbench's default).
THROTTLED = 0.75
_RAPL = Path("/sys/class/powercap")


@dataclass
class Conditions:
    """Looks at a machine before, between and after loops. ``clock_mhz`` reads the clock of its device.

    ``looks``: passes done since the look before, and the clock then.
    """

    clock_mhz: Callable[[], float | None]
    looks: list[tuple[int, float | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._wall, self._cpu, self._energy = time.perf_counter(), time.process_time(), _energy()
        self.looks.append((0, self.clock_mhz()))

    def look(self, passes: int) -> None:
        """Notes the clock after ``passes`` more passes."""
        self.looks.append((passes, self.clock_mhz()))

    @property
    def throttled_passes(self) -> int:
        """Returns how many passes ended with a clock far below the highest one seen."""
        highest = max((clock for _, clock in self.looks if clock), default=0.0)
        return sum(passes for passes, clock in self.looks if clock and clock < THROTTLED * highest)

    def as_dict(self) -> dict[str, Any]:
        """Returns what was seen since the start, as plain JSON values; docs/results.md describes them."""
        passes = sum(done for done, _ in self.looks)
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        clocks = [clock for _, clock in self.looks if clock]
        return {
            "clock_mhz": {"lowest": min(clocks), "highest": max(clocks)} if clocks else None,
            "throttled_passes": self.throttled_passes,
            "cpu_ms_per_pass": 1e3 * cpu / passes if passes else None,
            "busy_cores": cpu / wall if wall > 0 else None,
            "joules_per_pass": _joules(self._energy, passes),
        }


def cpu_clock_mhz() -> float | None:
    """Returns the clock of the fastest core that this process may use."""
    try:
        clocks = psutil.cpu_freq(percpu=True)
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(clocks))
        found = [clocks[core].current for core in allowed if core < len(clocks)]
    except (OSError, NotImplementedError, AttributeError):
        return None
    return float(max(found)) if found else None


def gpu_clock_mhz(index: int) -> float | None:
    """Returns the clock of a GPU's multiprocessors, from nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        return None
    query = ["nvidia-smi", f"--id={index}", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
        return float(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _energy() -> dict[str, int]:
    """Returns the counters of the processors' packages (RAPL) in microjoules, where they may be read."""
    found = {}
    for domain in sorted(_RAPL.glob("intel-rapl:[0-9]*")):
        if domain.name.count(":") == 1:
            try:
                found[domain.name] = int((domain / "energy_uj").read_text())
            except (OSError, ValueError):
                continue
    return found


def _joules(before: dict[str, int], passes: int) -> float | None:
    """Returns the energy of a pass: of the whole machine's packages, whatever else ran on them."""
    after = _energy()
    if not before or before.keys() != after.keys() or not passes:
        return None
    microjoules = sum(after[name] - before[name] for name in before)
    return microjoules / 1e6 / passes if microjoules >= 0 else None  # a counter began again at 0

"""The counters of this machine: instructions and joules, while something runs."""

from collections.abc import Callable
from dataclasses import dataclass

from convnet_benchmarks.counters.counter import Counter, UnreadableError
from convnet_benchmarks.counters.instructions import InstructionCounter
from convnet_benchmarks.counters.nvml import GpuEnergy
from convnet_benchmarks.counters.rapl import RaplEnergy

INSTRUCTIONS, JOULES, GPU_JOULES = "instructions", "joules", "gpu_joules"


@dataclass(frozen=True)
class Counters:
    """``readable``: the counters of this machine by name, counting. ``reasons``: why there are no others."""

    readable: dict[str, Counter]
    reasons: dict[str, str]

    def close(self) -> None:
        for counter in self.readable.values():
            counter.close()


def open_counters(gpu: str | None = None) -> Counters:
    """Returns everything that can be counted here; ``gpu``: the UUID of the GPU that works, if one does."""
    kinds: dict[str, Callable[[], Counter]] = {INSTRUCTIONS: InstructionCounter, JOULES: RaplEnergy}
    if gpu is not None:
        kinds[GPU_JOULES] = lambda: GpuEnergy(gpu)
    readable: dict[str, Counter] = {}
    reasons = {}
    for name, make in kinds.items():
        try:
            readable[name] = make()
        except UnreadableError as error:
            reasons[name] = str(error).partition(": ")[2] or str(error)
    return Counters(readable, reasons)

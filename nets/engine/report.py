"""The report of a plan: which algorithms it runs and how much memory it holds, for a table or JSON."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from convnet_benchmarks.nets.engine.memory import MemoryReport
from convnet_benchmarks.nets.phases import PHASES


@dataclass(frozen=True)
class Roof:
    """The machine's measured limits: floating-point operations per second, and bytes read and written per
    second."""

    flops: float
    bytes_per_second: float


@dataclass(frozen=True)
class LayerReport:
    """One layer. ``algorithms`` maps each of its phases to the name of its algorithm.

    ``fallback`` says why it does not run by the forced backend; empty if it does. ``of_roof``: the fraction
    of the roofline that a phase reaches, if it has been measured. ``decided_by``: what decided, for phases
    with several kernels to choose from: "timed", "timed quickly" (on a part of the work), "similar shape" or
    "rule" (nothing was timed); "no choice" if only one applies.
    """

    name: str
    kind: str
    algorithms: dict[str, str]
    fallback: str = ""
    of_roof: dict[str, float] = field(default_factory=dict)
    decided_by: dict[str, str] = field(default_factory=dict)

    def cell(self, phase: str) -> str:
        """Returns the text for one phase: its algorithm, and the percentage of the roofline."""
        picked = self.algorithms.get(phase, "-")
        return f"{picked} {self.of_roof[phase]:.0%}" if phase in self.of_roof else picked


@dataclass(frozen=True)
class Report:
    """``compiled``: the compiler of the C code that layers may run, or why there is none; empty for "stock".

    ``roof``: the limits that the layers' fractions refer to, if they have been measured. ``note``: why
    PyTorch runs the net instead of the engine; empty if it does not. ``memory``: None on a GPU, whose memory
    is PyTorch's.
    """

    backend: str
    dtype: str
    threads: int
    layers: tuple[LayerReport, ...]
    memory: MemoryReport | None
    compiled: str
    roof: Roof | None = None
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def rows(self) -> list[tuple[str, ...]]:
        """Returns a table's headings, then a row per layer: name, kind, a cell per phase, and what was left
        out."""
        layers = ((one.name, one.kind, *map(one.cell, PHASES), one.fallback) for one in self.layers)
        return [("layer", "kind", *PHASES, ""), *layers]

    def below(self) -> Iterator[str]:
        if self.compiled:
            yield self.compiled
        if self.roof is not None:
            flops, moved = self.roof.flops / 1e9, self.roof.bytes_per_second / 1e9
            yield f"%: of {flops:.0f} GFLOP/s (a large product) or {moved:.0f} GB/s (a large copy)"

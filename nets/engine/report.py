"""The report of a plan: which algorithms it runs and how much memory it holds, for a table or JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from nets.engine.memory import MemoryReport
from nets.phases import PHASES


@dataclass(frozen=True)
class LayerReport:
    """One layer. ``algorithms`` maps each phase it takes part in to what runs it.

    ``fallback`` says why something else than the forced backend runs it; empty if nothing does.
    """

    name: str
    kind: str
    algorithms: dict[str, str]
    fallback: str = ""


@dataclass(frozen=True)
class Report:
    """``compiled``: who compiled the C code that layers may run, or why there is none; empty for "stock"."""

    backend: str
    dtype: str
    threads: int
    layers: tuple[LayerReport, ...]
    memory: MemoryReport
    compiled: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        """Returns a plain table: one line per layer, one column per phase; below it, who compiled."""
        rows: list[tuple[str, ...]] = [("layer", "kind", *PHASES, "")]
        for layer in self.layers:
            picks = (layer.algorithms.get(phase, "-") for phase in PHASES)
            rows.append((layer.name, layer.kind, *picks, layer.fallback))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ] + [self.compiled] * bool(self.compiled)

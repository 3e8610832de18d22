"""The measurements of a legacy script's run: as JSON, as CSV, and as the lines on stderr."""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import output
from convnet_benchmarks.legacy.options import LegacyOptions
from convnet_benchmarks.legacy.torchrun import Processes
from convnet_benchmarks.tables import Column, Table, counted
from convnet_benchmarks.timing.counted import counted_cells, counted_columns
from convnet_benchmarks.timing.loops import Loop
from convnet_benchmarks.workload.backends import Backend
from convnet_benchmarks.workload.devices import CPU
from convnet_benchmarks.workload.ran import Ran
from nets.net import Net

if TYPE_CHECKING:
    from nets.engine import Report

# Columns of a line, then those of Ran, which are the same in every row.
_CSV_FIGURES = ("label", "ms_per_sample", "median_ms", "low_ms", "high_ms", "minimum_ms", "passes", "verdict")
_CSV_CONDITIONS = ("net", "batch_size", "input_shape", "backend", "dtype", "device", "cold_cache")
CSV_HEADER = (*_CSV_FIGURES, *_CSV_CONDITIONS)
# Threads that work less than this share of the time have waited for something.
_BUSY = 0.9


@dataclass(frozen=True)
class Result:
    """The outcome of a run, complete or not.

    ``status``: complete, interrupted, out of memory or failed. ``lines``: the legacy figures in milliseconds
    per sample; ``loops``: what they came from. ``convolutions``: the kernels that PyTorch selected, with how
    many convolutions each ran. ``scaling``: what several processes compared with one, None for one process.
    """

    kind: str
    status: str
    net: Net
    ran: Ran
    model: str
    parameters: int
    options: LegacyOptions
    backend: Backend
    engine: "Report | None"
    convolutions: Mapping[str, int]
    processes: Processes
    scaling: dict[str, Any] | None
    notes: tuple[str, ...]
    lines: Mapping[str, float]
    loops: Mapping[str, Loop]

    def as_dict(self, environment: dict[str, Any]) -> dict[str, Any]:
        """Returns the content of the result file, with the ``environment`` it was measured in."""
        return {
            "kind": self.kind,
            "status": self.status,
            "ran": self.ran.as_dict(),
            "model": self.model,
            "net": {
                "name": self.net.name,
                "source": self.net.source,
                "parameters": self.parameters,
                "input_shape": list(self.ran.input_shape),
            },
            "options": dataclasses.asdict(self.options),
            "backend": {
                "name": self.backend.name,
                "description": self.backend.description,
                "engine": self.engine.as_dict() if self.engine else None,
                "convolutions": dict(self.convolutions),
            },
            "processes": dataclasses.asdict(self.processes),
            "scaling": self.scaling,
            "notes": list(self.notes),
            "lines": dict(self.lines),
            "phases": {label: _loop_dict(loop) for label, loop in self.loops.items()},
            "environment": environment,
        }

    def as_csv(self) -> str:
        """Returns a row for each line; statistics are empty where a line has no loop of its own."""
        ran = self.ran.as_dict()
        ran["input_shape"] = "x".join(map(str, self.ran.input_shape))
        conditions = [ran[name] for name in _CSV_CONDITIONS]
        rows: list[tuple[object, ...]] = []
        for label, ms in self.lines.items():
            figures: tuple[object, ...] = ("",) * (len(_CSV_FIGURES) - 2)
            if label in self.loops:
                loop, s = self.loops[label], self.loops[label].summary()
                figures = (s.median, s.low, s.high, s.minimum, loop.passes, s.verdict)
            rows.append((label, ms, *figures, *conditions))
        return output.as_csv(CSV_HEADER, rows)

    def summary_lines(self) -> list[str]:
        """Returns what stderr says after a run, above the statistics: conditions, kernels, scaling."""
        import torch

        ran = self.ran
        lines = [
            f"{ran.net}, seed {self.options.seed}, {ran.dtype} on {ran.device}, "
            f"torch {torch.__version__}, {counted(ran.threads, 'thread')}"
            f"{', cold cache' if ran.cold_cache else ''}",
            f"backend {self.backend.name}: {self.backend.description}{self._kernels()}",
        ]
        if self.engine is not None and self.options.backend is not None:
            lines += self.engine.lines()
        elif self.engine is not None and self.engine.compiled.startswith("no "):
            lines.append(f"{self.engine.compiled}; with it the engine is faster (docs/engine.md)")
        if self.scaling is not None:
            lines.append(self.scaling["text"])
        return lines

    def statistics_table(self) -> Table:
        """Returns the statistics of every loop in ms per sample; notes say what to do about noisy ones."""
        table = Table(
            "",
            [
                Column("ms per sample"),
                Column("median"),
                Column("95 % interval"),
                Column("minimum"),
                Column("passes"),
                *counted_columns(loop.conditions for loop in self.loops.values()),
                Column("verdict"),
            ],
        )
        advice: dict[str, None] = {}
        batch = self.ran.batch_size
        for label, loop in self.loops.items():
            s = loop.summary()
            interval = f"{s.low / batch:.4g} .. {s.high / batch:.4g}"
            per_sample = counted_cells(table.columns, loop.conditions, batch)
            figures = [s.median / batch, interval, s.minimum / batch, s.samples, *per_sample]
            table.rows.append([label, *figures, s.verdict])
            if s.advice:
                advice[f"{s.verdict}: {s.advice}"] = None
        table.notes += [*advice, *self._waiting_threads()]
        return table

    def _waiting_threads(self) -> list[str]:
        """Returns a note where the processor time of the loops says that threads waited."""
        found = [loop.conditions.get("busy_cores") for loop in self.loops.values()]
        busy = [cores for cores in found if cores is not None]
        if self.ran.device != CPU or not busy or min(busy) >= _BUSY * self.ran.threads:
            return []
        threads = counted(self.ran.threads, "thread")
        return [
            f"busy cores: {min(busy):.2g} to {max(busy):.2g}, with {threads}: "
            "they waited for other programs, or for each other"
        ]

    def _kernels(self) -> str:
        """Returns the kernels by how many convolutions they ran: PyTorch's, or the engine's per phase."""
        if self.engine is None:
            counts = Counter(self.convolutions)
            return f" (selected: {_counted(counts)})" if counts else ""
        by_phase: dict[str, Counter[str]] = {}
        for layer in self.engine.layers:
            if layer.kind.startswith("Conv"):
                for phase, algorithm in layer.algorithms.items():
                    family = algorithm.partition("(")[0]  # --json has the variants, too
                    by_phase.setdefault(phase, Counter())[family] += 1
        return "".join(f"; {phase}: {_counted(counts)}" for phase, counts in by_phase.items())


def _loop_dict(loop: Loop) -> dict[str, Any]:
    return {
        "passes": loop.passes,
        "seconds": loop.seconds,
        "samples_ms": list(loop.samples_ms),
        "summary": loop.summary().as_dict(),
        "conditions": dict(loop.conditions),
    }


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} x{count}" for name, count in counts.most_common())

"""The measurements of a legacy script's run: as JSON, and as the lines on stderr."""

import dataclasses
import io
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.legacy.options import LegacyOptions
from convnet_benchmarks.legacy.torchrun import Processes
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.tables import Column, Table, counted, terminal_width
from convnet_benchmarks.timing.loops import Loop
from convnet_benchmarks.workload.backends import Backend
from convnet_benchmarks.workload.ran import Ran

if TYPE_CHECKING:
    from convnet_benchmarks.nets.engine import Report


_WORTH_TELLING = 0.5  # seconds


@dataclass(frozen=True)
class Result:
    """The outcome of a run, complete or not.

    ``status``: complete, interrupted, out of memory or failed. ``lines``: the legacy figures in milliseconds
    per sample; ``loops``: what they came from. ``convolutions``: the kernels that PyTorch selected, with how
    many convolutions each ran. ``first_pass``: its seconds, those of choosing the engine's kernels before it,
    and how many it took longer than the next, which finds its kernels loaded and chosen. ``scaling``: what
    several processes compared with one, None for one process.
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
    first_pass: Mapping[str, float]
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
            "label": self.options.label,
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
            "first_pass": dict(self.first_pass),
            "processes": dataclasses.asdict(self.processes),
            "scaling": self.scaling,
            "notes": list(self.notes),
            "lines": dict(self.lines),
            "phases": {label: _loop_dict(loop) for label, loop in self.loops.items()},
            "environment": environment,
        }

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
        longer = self.first_pass.get("longer_than_the_next", 0.0)
        if self.engine is None and longer >= _WORTH_TELLING:
            lines.append(
                f"the first pass took {longer:.1f} s longer than the next: kernels were loaded and chosen; "
                "only :dry-run(): includes that"
            )
        choosing = self.first_pass.get("choosing_seconds", 0.0)
        if choosing >= _WORTH_TELLING:
            lines.append(
                f"choosing kernels took {choosing:.1f} s before the first pass; no figure includes that"
            )
        if self.engine is not None and (decided := _decided_by(self.engine)):
            lines.append(decided)
        if self.engine is not None and self.options.backend is not None:
            lines += _engine_table(self.engine)
        elif self.engine is not None and self.engine.compiled.startswith("no "):
            lines.append(f"{self.engine.compiled}; with it the engine is faster (docs/engine.md)")
        if self.scaling is not None:
            lines.append(self.scaling["text"])
        return lines

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


_DECIDED_BY = {  # in the engine's words and in these
    "timed": "timed",
    "timed quickly": "timed quickly",
    "similar shape": "chosen as for a similar layer",
    "rule": "chosen by a rule, without timing",
}


def _decided_by(engine: "Report") -> str:
    """Returns how many kernels were chosen by what; empty if all were timed, or there was no choice."""
    counts = Counter(by for layer in engine.layers for by in layer.decided_by.values())
    told = [f"{counts[by]} {words}" for by, words in _DECIDED_BY.items() if counts[by]]
    if not told or counts.keys() <= {"timed", "no choice"}:
        return ""
    return f"kernels: {', '.join(told)}; later runs time more of them"


def _engine_table(engine: "Report") -> list[str]:
    """Returns the engine's layers, as many as fit on stderr."""
    headings, *layers = engine.rows()
    table = Table("", [Column(heading) for heading in headings], list(layers), list(engine.below()))
    text = io.StringIO()
    table.show(text, terminal_width(sys.stderr))
    return text.getvalue().splitlines()


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

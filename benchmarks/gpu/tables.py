"""The tables of docs/gpu.md, from files of figures."""

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.gpu.figures import title
from convnet_benchmarks.tables import Cell, Column, Table

_PHASES = ("updateOutput", "updateGradInput", "accGradParameters", "forward+backward")
NOTHING = "No figures exist yet: no machine with a GPU could be had so far."


def tables(figures: dict[str, Any]) -> list[Table]:
    """Returns the tables of one machine; those without a row are left out."""
    made = (
        _lines,
        _criterion_lines,
        _autotuning,
        _tune,
        _tune_layers,
        _formats,
        _peaks,
        _plain,
        _programs,
        _agreement,
        _steps,
    )
    return [table for table in (make(figures) for make in made) if table.rows]


def text(files: Sequence[dict[str, Any]]) -> str:
    """Returns what docs/gpu.md says of the machines measured, the latest first."""
    if not files:
        return NOTHING + "\n"
    parts = []
    for figures in sorted(files, key=lambda one: one["time"], reverse=True):
        parts.append(f"### {title(figures)}\n")
        parts += [table.markdown() for table in tables(figures)]
    return "\n".join(parts)


def _table(title: str, columns: Iterable[str], rows: Iterable[Sequence[Cell]]) -> Table:
    return Table(title, [Column(name) for name in columns], list(rows))


def _lines(figures: dict[str, Any]) -> Table:
    """Returns the command lines of benchmark.py: ms per sample, and the host's for the free loop."""
    return _times(figures, "The command lines", "benchmark.py", (*_PHASES, "free updateOutput"))


def _criterion_lines(figures: dict[str, Any]) -> Table:
    phases = ("Net Forward", "Criterion Forward", "Criterion Backward", "Net Backward", "net and criterion")
    return _times(figures, "The command lines with a criterion", "benchmark_criterion.py", phases)


def _times(figures: dict[str, Any], heading: str, program: str, phases: Sequence[str]) -> Table:
    """Returns the command lines of a program, a row each: ms per sample."""
    rows: dict[str, dict[str, float]] = {}
    for one in figures["figures"]:
        if one["step"].split()[0] == program and one.get("quantity") == "time":
            rows.setdefault(one["step"], {})[one["phase"]] = one["value"]
    return _table(
        heading,
        ["command", *(f"{name} [ms per sample]" for name in phases)],
        [[f"`{step}`", *(times.get(name) for name in phases)] for step, times in rows.items()],
    )


def _formats(figures: dict[str, Any]) -> Table:
    rows = [
        [name, one["ms"], one["TFLOP/s"], one["share of peak"]]
        for name, one in figures["checks"].get("training", {}).items()
    ]
    return _table("Training on cuDNN", ["net", "ms per batch", "TFLOP/s", "share of the measured peak"], rows)


def _peaks(figures: dict[str, Any]) -> Table:
    rows = [
        [name, one["TFLOP/s"], one["of"], one["GB/s"]]
        for name, one in figures["checks"].get("peaks", {}).items()
    ]
    return _table("Peaks of the card, measured", ["format", "TFLOP/s", "of", "GB/s"], rows)


def _plain(figures: dict[str, Any]) -> Table:
    rows = [
        [name, way, one["ms"], one["plain ms"], one["over plain"]]
        for name, ways in figures["checks"].get("plain_loop", {}).items()
        for way, one in ways.items()
    ]
    columns = ["net", "kernels", "phases [ms]", "plain loop [ms]", "phases over plain"]
    return _table("Beside a plain PyTorch loop", columns, rows)


def _autotuning(figures: dict[str, Any]) -> Table:
    rows = [
        [name, one["seconds"], *(one[phase] for phase in _PHASES[:3])]
        for name, one in figures["checks"].get("autotuning", {}).items()
    ]
    columns = ["OverFeat's convolutions", "choosing [s]", *(f"{phase} [ms]" for phase in _PHASES[:3])]
    return _table("What cuDNN's choice of kernels costs and gives", columns, rows)


def _tune(figures: dict[str, Any]) -> Table:
    rows = []
    for name, one in _tuned(figures).items():
        ms, seconds = one["ms"], one["seconds"]
        times = [ms[key] for key in ("auto", "auto by calls", "plain loop")]
        again = seconds.get("with the times kept")
        rows.append([name, *times, ms["plain loop"] / ms["auto"], seconds["choosing"], again])
    columns = ["net", "auto [ms]", "without CUDA graphs [ms]", "plain loop [ms]", "plain loop over auto"]
    columns += ["choosing [s]", "choosing again [s]"]
    return _table("`--backend auto` beside a plain PyTorch loop", columns, rows)


def _tuned(figures: dict[str, Any]) -> dict[str, Any]:
    """Returns the nets that were timed before the check was cut off."""
    return {name: one for name, one in figures["checks"].get("tune", {}).items() if one["ms"]}


def _tune_layers(figures: dict[str, Any]) -> Table:
    """Returns what a net's convolutions and Linear layers take by the plainest way and by the chosen one.

    Only layers whose plainest way is right, or else it was not timed.
    """
    rows = []
    for name, one in _tuned(figures).items():
        layers = one.get("layers", [])
        sums = []
        for phase in _PHASES[:3]:
            of_phase = [(layer["chosen"][phase], layer["ways"][phase]) for layer in layers]
            times = [(next(iter(ways.values())), ways[best]) for best, ways in of_phase if best in ways]
            right = [pair for pair in times if not any(isinstance(ms, str) for ms in pair)]
            sums += [sum(plainest for plainest, _ in right), sum(best for _, best in right)]
        if layers:
            rate = 3 * sum(layer["GFLOP"] for layer in layers) / one["ms"]["auto"]
            rows.append([name, len(layers), *sums, rate])
    columns = ["net", "layers"]
    columns += [f"{phase}, {way} [ms]" for phase in _PHASES[:3] for way in ("cuDNN's estimate", "chosen")]
    return _table("The layers alone", [*columns, "TFLOP/s in a whole pass"], rows)


def _programs(figures: dict[str, Any]) -> Table:
    rows = []
    for name, one in figures["checks"].get("programs", {}).items():
        th, plain = one["th"], one["plain"]
        worst = max(one["differences"], default=None)
        of_th = [th.get(key) for key in ("ms", "device_ms", "operators", "launches", "waits")]
        rows.append([name, worst, *of_th, plain.get("ms"), plain.get("device_ms"), one["share"]])
    columns = ["program", "losses differ by", "th [ms]", "its device [ms]", "operators", "launches", "waits"]
    columns += ["plain PyTorch [ms]", "its device [ms]", "speed of plain PyTorch's"]
    return _table("Old programs under `th`, a step", columns, rows)


def _agreement(figures: dict[str, Any]) -> Table:
    rows = [
        [name, one["difference"], one["of"], one["limit"]]
        for name, one in figures["checks"].get("agreement", {}).items()
    ]
    return _table("Agreement with the CPU", ["net, kernels", "largest difference", "of", "limit"], rows)


def _steps(figures: dict[str, Any]) -> Table:
    rows = [
        [one["part"], one["step"], one["status"], one["reason"]]
        for one in figures["steps"]
        if one["status"] != "ok"
    ]
    return _table("What did not run, or failed", ["part", "step", "status", "reason"], rows)

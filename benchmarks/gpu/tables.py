"""The tables of docs/gpu.md, from files of figures."""

from collections.abc import Iterable, Sequence
from typing import Any

from convnet_benchmarks.tables import Cell, Column, Table

_PHASES = ("updateOutput", "updateGradInput", "accGradParameters", "forward+backward")
NOTHING = "No figures exist yet: no machine with a GPU could be had so far."


def tables(figures: dict[str, Any]) -> list[Table]:
    """Returns the tables of one machine; those without a row are left out."""
    made = (_lines(figures), _formats(figures), _peaks(figures), _plain(figures), _agreement(figures))
    return [table for table in (*made, _steps(figures)) if table.rows]


def text(files: Sequence[dict[str, Any]]) -> str:
    """Returns what docs/gpu.md says of the machines measured, the latest first."""
    if not files:
        return NOTHING + "\n"
    parts = []
    for figures in sorted(files, key=lambda one: one["date"], reverse=True):
        parts.append(f"### {figures['device']}, {figures['date']}\n")
        parts += [table.markdown() for table in tables(figures)]
    return "\n".join(parts)


def _table(title: str, columns: Iterable[str], rows: Iterable[Sequence[Cell]]) -> Table:
    return Table(title, [Column(name) for name in columns], list(rows))


def _lines(figures: dict[str, Any]) -> Table:
    """Returns the command lines of part 2, a row each: ms per sample, and the host's for the free loop."""
    rows: dict[str, dict[str, float]] = {}
    for one in figures["figures"]:
        if one["step"].startswith("benchmark") and one.get("quantity") == "time":
            rows.setdefault(one["step"], {})[one["phase"]] = one["value"]
    free = "free updateOutput"
    columns = ["command", *(f"{name} [ms per sample]" for name in (*_PHASES, free))]
    return _table(
        "The command lines",
        columns,
        [[f"`{step}`", *(times.get(name) for name in (*_PHASES, free))] for step, times in rows.items()],
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

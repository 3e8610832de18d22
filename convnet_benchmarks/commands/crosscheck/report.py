"""The findings of ``crosscheck`` as a plain table and as JSON."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.results.side_by_side import cautions, ratio_cells, ratio_columns, reasons
from convnet_benchmarks.tables import Cell, Column, Table

if TYPE_CHECKING:
    from convnet_benchmarks.commands.crosscheck.runs import LabelComparison, RunComparison
    from convnet_benchmarks.commands.crosscheck.tensors import Comparison

SCHEMA = "convnet-benchmarks/crosscheck-1"


@dataclass(frozen=True)
class Report:
    """``parts`` for stdout, one below the other; ``document`` for --json."""

    agrees: bool
    parts: tuple[str | Table, ...]
    document: dict[str, Any]


def tensor_report(
    names: tuple[str, str],
    comparisons: Sequence["Comparison"],
    kind: str = "tensors",
    notes: Sequence[str] = (),
) -> Report:
    """Returns one row for each path; ``notes`` follow the table."""
    agrees = bool(comparisons) and all(row.verdict == "same" for row in comparisons)
    same = sum(row.verdict == "same" for row in comparisons)
    headings = ("path", "type", "shape", "max error", "relative", "verdict")
    table = Table("", [Column(heading) for heading in headings], [_tensor_row(row) for row in comparisons])
    details = [line for row in comparisons for line in _details(row)]
    verdict = f"{_verdict(agrees)}: {same} of {len(comparisons)} values are the same"
    parts: list[str | Table] = [*_heading(names), table, "", *details, *notes, verdict]
    return Report(agrees, tuple(parts), _document(kind, names, agrees, [asdict(row) for row in comparisons]))


def log_report(
    names: tuple[str, str], headings: Sequence[str], comparisons: Sequence["RunComparison"]
) -> Report:
    """Returns a table for each run: milliseconds in A and B, and how many times as fast B is."""
    agrees = bool(comparisons) and all(run.agrees for run in comparisons)
    parts: list[str | Table] = [*headings, ""]
    for run in comparisons:
        parts += [*([_run_table(run)] if run.labels else []), *run.notes, *run.problems, ""]
    parts += [*cautions([row.ratio for run in comparisons for row in run.labels]), ""]
    agreeing = sum(run.agrees for run in comparisons)
    compared = "labels and structure" if all(run.model for run in comparisons) else "labels"
    parts.append(f"{_verdict(agrees)}: {agreeing} of {len(comparisons)} runs have the same {compared}")
    found = [{**asdict(run), "labels": [_label(row) for row in run.labels]} for run in comparisons]
    return Report(agrees, tuple(parts), _document("logs", names, agrees, found))


def _run_table(run: "RunComparison") -> Table:
    """Returns the labels of a run, with what is known of the models below them."""
    columns = [Column("label"), Column("A", digits=5), Column("B", digits=5), *ratio_columns("B")]
    table = Table(f"{run.title} ({run.unit})" if run.unit else run.title, columns)
    table.rows += [(row.label, row.a, row.b, *ratio_cells(row.ratio)) for row in run.labels]
    table.notes.append("B : A is how many times as fast B is.")
    table.notes += reasons("B", [row.ratio for row in run.labels])
    if run.model is not None and not run.model.differences:
        table.notes.append(f"model: the same {run.model.layers} modules")
    if run.model is not None:
        table.notes += [f"model: {a} in A is {b} in B" for a, b in run.model.implementations]
    return table


def _label(row: "LabelComparison") -> dict[str, Any]:
    found = {} if row.ratio is None else asdict(row.ratio)
    judged = {name: found.get(name) for name in ("low", "high", "verdict", "reason")}
    return {"label": row.label, "a": row.a, "b": row.b, "speedup": row.speedup, **judged}


def _heading(names: tuple[str, str]) -> list[str]:
    return [f"A: {names[0]}", f"B: {names[1]}", ""]


def _verdict(agrees: bool) -> str:
    return "AGREE" if agrees else "DIFFER"


def _document(
    kind: str, names: tuple[str, str], agrees: bool, comparisons: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "kind": kind,
        "a": names[0],
        "b": names[1],
        "verdict": "agree" if agrees else "differ",
        "comparisons": _plain(comparisons),
    }


def _plain(value: Any) -> Any:
    """Turns a value into what JSON has: NaN and infinities become texts, complex numbers pairs."""
    if isinstance(value, dict):
        return {name: _plain(child) for name, child in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _tensor_row(row: "Comparison") -> Sequence[Cell]:
    return (
        row.path,
        _both(row.precisions),
        _both(tuple("" if s is None else "x".join(map(str, s)) or "-" for s in row.shapes or ())),
        row.max_error,
        row.relative_error,
        row.verdict,
    )


def _both(pair: tuple[str, ...] | None) -> str:
    return " | ".join(dict.fromkeys(pair or ()))


def _details(row: "Comparison") -> list[str]:
    """Returns the lines about a difference that stand below the table."""
    if row.verdict != "differs":
        return []
    said = []
    if row.first_difference is not None and row.values is not None:
        place = f"at {list(row.first_difference)} " if row.first_difference else ""
        said.append(f"{row.differing} values, first {place}A {row.values[0]!r}, B {row.values[1]!r}")
    elif row.values is not None:
        said.append(f"A {row.values[0]!r}, B {row.values[1]!r}")
    if row.cause:
        said.append(row.cause)
    return [f"{row.path}: {'; '.join(said)}"] if said else []

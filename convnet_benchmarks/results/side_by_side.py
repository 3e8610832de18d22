"""Texts common to every comparison of files: their contents, their ratios, and why a ratio says nothing."""

from collections import Counter
from collections.abc import Sequence

from convnet_benchmarks.results.measurement import Measurement
from convnet_benchmarks.results.ratio import Ratio
from convnet_benchmarks.tables import Cell, Column
from convnet_benchmarks.timing.verdicts import (
    FASTER,
    OLD_IS_FASTER,
    OLD_IS_SLOWER,
    SAME,
    SLOWER,
    by_how_much,
)


def file_line(letter: str, path: str, kind: str, measurements: Sequence[Measurement]) -> str:
    """Returns a file in a line, with the conditions that all its measurements have."""
    constant = []
    for name in ("net", "batch", "device", "software"):
        values = {getattr(one, name) for one in measurements}
        if len(values) == 1 and (value := values.pop()):
            constant.append(f"batch {value}" if name == "batch" else str(value))
    return f"{letter}: {path} ({kind})" + (f": {'; '.join(constant)}" if constant else "")


def ratio_columns(letter: str) -> list[Column]:
    """Returns the columns of ``ratio_cells``, for the file ``letter`` beside A."""
    return [
        Column(f"{letter} : A", digits=3, key=f"{letter} over A"),
        Column("from", digits=3, key=f"{letter} over A, from"),
        Column("to", digits=3, key=f"{letter} over A, to"),
        Column("verdict", key=f"verdict of {letter}"),
    ]


def ratio_cells(found: Ratio | None) -> list[Cell]:
    """Returns the ratio, its bounds and its verdict."""
    if found is None:
        return [None, None, None, ""]
    return [found.value, found.low, found.high, by_how_much(found.verdict, found.value)]


def reasons(letter: str, ratios: Sequence[Ratio | None]) -> list[str]:
    """Returns the lines below a table on why verdicts are UNSURE."""
    counts = Counter(one.reason for one in ratios if one and one.reason)
    return [f"{letter}: {n} UNSURE because {reason}" for reason, n in counts.items()]


def cautions(ratios: Sequence[Ratio | None]) -> list[str]:
    """Returns the lines below a table on what its verdicts rest on."""
    verdicts = {one.verdict for one in ratios if one}
    found = []
    if verdicts & {OLD_IS_SLOWER, OLD_IS_FASTER}:
        found.append("An old log has one mean per line: the intervals are those of the new run alone.")
    if verdicts & {FASTER, SLOWER, SAME}:
        found.append(
            "The files are separate runs: the difference includes whatever else changed between them."
        )
    return found

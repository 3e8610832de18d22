"""The columns of a table for what this machine counts, per sample: none where it counts nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from convnet_benchmarks.counters import GPU_JOULES, INSTRUCTIONS, JOULES
from convnet_benchmarks.tables import Cell, Column

_COLUMNS = {
    f"{INSTRUCTIONS}_per_pass": Column("instructions", key="instructions_per_sample"),
    f"{JOULES}_per_pass": Column("energy", "J", key="joules_per_sample"),
    f"{GPU_JOULES}_per_pass": Column("GPU's energy", "J", key="gpu_joules_per_sample"),
}


def counted_columns(conditions: Iterable[Mapping[str, Any]]) -> list[Column]:
    """Returns those of which any of ``conditions`` (``Conditions.as_dict``) has a figure."""
    found = {name for one in conditions for name, value in one.items() if value is not None}
    return [column for name, column in _COLUMNS.items() if name in found]


def counted_rows(conditions: Sequence[Mapping[str, Any]], batch_sizes: Sequence[int]) -> list[list[Cell]]:
    """Returns a row for each figure: its heading, then what it is for one sample of each thing."""
    columns = counted_columns(conditions)
    cells = [counted_cells(columns, one, batch) for one, batch in zip(conditions, batch_sizes, strict=True)]
    headings: list[Cell] = [column.title for column in columns]
    return [list(row) for row in zip(headings, *cells, strict=True)]


def counted_cells(
    columns: Sequence[Column], conditions: Mapping[str, Any], batch_size: int
) -> Iterator[Cell]:
    """Yields a cell for each of these columns that is among ``columns``, for one sample of a pass."""
    for name, column in _COLUMNS.items():
        if column in columns:
            value = conditions.get(name)
            yield None if value is None else value / batch_size

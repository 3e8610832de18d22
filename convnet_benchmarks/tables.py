"""Tables of results: through rich on a terminal (where installed), plain in a pipe, as Markdown and CSV."""

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from convnet_benchmarks import output

Cell = str | int | float | None  # None: not measured, an empty cell


@dataclass(frozen=True)
class Column:
    """A heading and, for numbers, their unit and significant digits.

    ``key`` is its name in JSON and CSV, ``missing`` what stands for a number that was not measured.
    """

    heading: str
    unit: str = ""
    digits: int = 4
    key: str = ""
    missing: str = ""

    @property
    def title(self) -> str:
        return f"{self.heading} [{self.unit}]" if self.unit else self.heading

    @property
    def name(self) -> str:
        return self.key or self.title

    def text(self, cell: Cell) -> str:
        if cell is None:
            return self.missing
        if isinstance(cell, float):
            return f"{cell:,.0f}" if abs(cell) >= 10**self.digits else f"{cell:.{self.digits}g}"
        return f"{cell:,}" if isinstance(cell, int) else cell


@dataclass
class Table:
    """``rows`` have a cell for every column; ``notes`` are lines below the table."""

    title: str
    columns: Sequence[Column]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def show(self, stream: TextIO | None = None) -> None:
        """Writes the table to ``stream`` (default: stdout)."""
        stream = sys.stdout if stream is None else stream
        if stream.isatty() and importlib.util.find_spec("rich") is not None:
            self._show_rich(stream)
        else:
            print(self.plain(), file=stream, flush=True)

    def plain(self) -> str:
        """Returns columns aligned with spaces: what a pipe gets."""
        grid = [[column.title for column in self.columns], *self.texts()]
        widths = [max(len(row[i]) for row in grid) for i in range(len(self.columns))]
        numeric = self.numeric()
        lines = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            ).rstrip()
            for row in grid
        ]
        return "\n".join([*([self.title] if self.title else []), *lines, *self.notes])

    def markdown(self) -> str:
        lines = ["| " + " | ".join(_escaped(column.title) for column in self.columns) + " |"]
        lines.append("|" + "|".join("---:" if right else "---" for right in self.numeric()) + "|")
        lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in self.texts()]
        heading = [f"**{self.title}**", ""] if self.title else []
        notes = [line for note in self.notes for line in ("", note)]
        return "\n".join([*heading, *lines, *notes]) + "\n"

    def csv(self) -> str:
        """Returns the numbers in full, empty where not measured."""
        return output.as_csv([column.name for column in self.columns], self.rows)

    def as_dict(self) -> dict[str, Any]:
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": self.notes}

    def texts(self) -> list[list[str]]:
        """Returns the rows as shown."""
        return [
            [column.text(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows
        ]

    def numeric(self) -> list[bool]:
        """Returns which columns hold numbers, and so are aligned to the right."""
        return [any(isinstance(row[i], (int, float)) for row in self.rows) for i in range(len(self.columns))]

    def _show_rich(self, stream: TextIO) -> None:
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = RichTable(title=Text(self.title), title_justify="left", box=box.SIMPLE_HEAD)
        for column, right in zip(self.columns, self.numeric(), strict=True):
            shown.add_column(Text(column.title), justify="right" if right else "left")
        for row in self.texts():
            shown.add_row(*map(Text, row))
        console = Console(file=stream)
        console.print(shown)
        for note in self.notes:
            console.print(Text(note))


def counted(number: int, noun: str) -> str:
    """Returns the number with its noun: 1 thread, 2 threads."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

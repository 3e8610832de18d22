"""Tables of results: fitted to a terminal, plain in a pipe, as Markdown and CSV. No digit is ever cut.

On a terminal too narrow for the columns long texts wrap; where that is not enough, each row becomes a record,
a line for each of its cells.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from convnet_benchmarks import output

if TYPE_CHECKING:
    from rich.console import Console

Cell = str | int | float | None  # None: not measured, an empty cell

_GAP = 2  # spaces between columns
_NARROWEST = 16  # a text column wraps to no less: names, intervals and verdicts stay in one piece
_STYLES = {"FASTER": "green", "SLOWER": "red", "DIFFERS": "red", "noisy": "yellow", "throttled": "yellow"}


@dataclass(frozen=True)
class Column:
    """A heading and, for numbers, their unit and significant digits.

    ``key`` is its name in JSON and CSV, ``missing`` what stands for a number that was not measured.
    ``condition``: where it is the same in all rows, it is shown once, in the title.
    """

    heading: str
    unit: str = ""
    digits: int = 4
    key: str = ""
    missing: str = ""
    condition: bool = False

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
    """``rows`` have a cell for every column; ``heading`` are lines above the table, ``notes`` below it."""

    title: str
    columns: Sequence[Column]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    heading: list[str] = field(default_factory=list)

    def show(self, stream: TextIO | None = None, width: int | None = None) -> None:
        """Writes the table to ``stream`` (default: stdout), in ``width`` columns, by default in those of a
        terminal."""
        stream = sys.stdout if stream is None else stream
        width = width or terminal_width(stream)
        if width is None:
            print(self.plain(), file=stream, flush=True)
        else:
            self._shown_once()._show_fitted(stream, width)

    def plain(self) -> str:
        """Returns columns aligned with spaces, as wide as they are: what a pipe gets."""
        return self._shown_once()._aligned()

    def _aligned(self) -> str:
        grid = [[column.title for column in self.columns], *self.texts()]
        widths = [max(len(row[i]) for row in grid) for i in range(len(self.columns))]
        numeric = self.numeric()
        gap = " " * _GAP
        lines = [
            gap.join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            ).rstrip()
            for row in grid
        ]
        return "\n".join([*self.heading, *([self.title] if self.title else []), *lines, *self.notes])

    def markdown(self) -> str:
        lines = ["| " + " | ".join(_escaped(column.title) for column in self.columns) + " |"]
        lines.append("|" + "|".join("---:" if right else "---" for right in self.numeric()) + "|")
        lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in self.texts()]
        heading = [line for text in self.heading for line in (text, "")]
        heading += [f"**{self.title}**", ""] if self.title else []
        notes = [line for note in self.notes for line in ("", note)]
        return "\n".join([*heading, *lines, *notes]) + "\n"

    def csv(self) -> str:
        """Returns the numbers in full, empty if not measured."""
        return output.as_csv([column.name for column in self.columns], self.rows)

    def as_dict(self) -> dict[str, Any]:
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": [*self.heading, *self.notes]}

    def texts(self) -> list[list[str]]:
        """Returns the rows as shown."""
        return [
            [column.text(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows
        ]

    def numeric(self) -> list[bool]:
        """Returns which columns hold numbers, and so are aligned to the right."""
        return [any(isinstance(row[i], (int, float)) for row in self.rows) for i in range(len(self.columns))]

    def _shown_once(self) -> "Table":
        """Returns the table with the conditions that all rows share in its title."""
        shared = [
            column.condition and len({row[i] for row in self.rows}) == 1
            for i, column in enumerate(self.columns)
        ]
        if not any(shared):
            return self
        said = [text for text, once in zip(self.texts()[0], shared, strict=True) if once and text]
        kept = [i for i, once in enumerate(shared) if not once]
        return Table(
            ": ".join(filter(None, (self.title, ", ".join(said)))),
            [self.columns[i] for i in kept],
            [[row[i] for i in kept] for row in self.rows],
            self.notes,
            self.heading,
        )

    def _show_fitted(self, stream: TextIO, width: int) -> None:
        """Writes the table in at most ``width`` columns."""
        from rich.console import Console
        from rich.text import Text

        # rich takes a dumb terminal's width as told only together with a height.
        console = Console(file=stream, width=width, height=25, highlight=False)
        for line in self.heading:
            console.print(Text(line))
        if self.title:
            console.print(Text(self.title, style="bold"))
        widths = self._widths(width)
        if widths is None:
            self._print_records(console, width)
        else:
            self._print_columns(console, widths)
        for note in self.notes:
            console.print(Text(note))

    def _widths(self, available: int) -> list[int] | None:
        """Returns how wide each column may be; None if even wrapped texts need more than ``available``."""
        grid = self.texts()
        needed, wanted = [], []
        for i, column in enumerate(self.columns):
            words = max(map(len, column.title.split()), default=0)
            lengths = [len(row[i]) for row in grid]
            least = [
                min(length, _NARROWEST) if isinstance(row[i], str) else length
                for length, row in zip(lengths, self.rows, strict=True)
            ]
            needed.append(max([words, *least]))
            wanted.append(max([len(column.title), *lengths]))
        spare = available - sum(needed) - _GAP * (len(needed) - 1)
        if spare < 0:
            return None
        while spare > 0 and needed != wanted:  # the column that lacks most gets the next place
            lacking = [more - now for now, more in zip(needed, wanted, strict=True)]
            needed[lacking.index(max(lacking))] += 1
            spare -= 1
        return needed

    def _print_columns(self, console: "Console", widths: Sequence[int]) -> None:
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = RichTable(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
        for column, right, width in zip(self.columns, self.numeric(), widths, strict=True):
            justify = "right" if right else "left"
            shown.add_column(Text(column.title), justify=justify, width=width, overflow="fold")  # type: ignore[arg-type]
        for row in self.texts():
            shown.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
        console.print(shown)

    def _print_records(self, console: "Console", width: int) -> None:
        """Prints each row as lines of heading and cell, without those that are empty."""
        from rich.table import Table as RichTable
        from rich.text import Text

        longest = max((len(text) for row in self.texts() for text in row), default=0)
        headings = max((len(column.title) for column in self.columns), default=0)
        for_cells = min(longest, max(_NARROWEST, width // 2))
        headings = max(min(8, headings), min(headings, width - _GAP - for_cells))
        for number, row in enumerate(self.texts()):
            shown = RichTable.grid(padding=(0, _GAP, 0, 0))
            shown.add_column(width=headings, overflow="fold", style="bold")
            shown.add_column(width=max(1, width - headings - _GAP), overflow="fold")
            for column, cell in zip(self.columns, row, strict=True):
                if cell:
                    shown.add_row(Text(column.title), Text(cell, style=_STYLES.get(cell, "")))
            if number:
                console.print()
            console.print(shown)


def terminal_width(stream: TextIO) -> int | None:
    """Returns the width in columns of the terminal that ``stream`` writes to; None if it is no terminal."""
    if not stream.isatty():
        return None
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def counted(number: int, noun: str) -> str:
    """Returns the number with its noun: 1 thread, 2 threads."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

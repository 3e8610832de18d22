"""Renews the tables of speed and accuracy in docs/performance.md, README.md and docs/engine.md.

    python -m benchmarks.performance

The figures of benchmarks/NAME.py lie in benchmarks/NAME.json, a record for each table. ``--record TITLE`` of
a benchmark writes the record of that title and machine. A page shows all records of a benchmark, or one of
them, between two marks:

    <!-- speed: NAME -->                    <!-- speed: NAME: TITLE -->
    <!-- end of speed -->                   <!-- end of speed -->
"""

import argparse
import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.helpers import command_line
from convnet_benchmarks.tables import Cell, Column, Table

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/performance.md", "docs/engine.md")
BLOCK = re.compile(r"(<!-- speed: (\w+)(?:: ([^>\n]+))? -->\n)(.*?)(<!-- end of speed -->\n)", re.DOTALL)
DIGITS = 4  # significant ones that are kept


@dataclasses.dataclass(frozen=True)
class Record:
    """A table, and how it was measured. ``commit``: what was measured, or what published older figures."""

    title: str
    machine: str
    date: str
    commit: str
    command: str
    conditions: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: list[str] = dataclasses.field(default_factory=list)

    def markdown(self) -> str:
        columns = [Column(title, digits=DIGITS) for title in self.columns]
        table = Table("", columns, list(self.rows)).markdown()
        measured = f"{self.machine}; {self.date}, commit {self.commit}; {self.conditions}.\n`{self.command}`"
        return "\n".join([table, *(note + "\n" for note in self.notes), measured, ""])


def read(name: str) -> list[Record]:
    """Returns the records of a benchmark; none if nothing has been recorded."""
    path = ROOT / "benchmarks" / f"{name}.json"
    return [Record(**one) for one in json.loads(path.read_text())] if path.exists() else []


def write(name: str, records: Sequence[Record]) -> None:
    text = ",\n".join(_json(record) for record in records)
    (ROOT / "benchmarks" / f"{name}.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")


def _json(record: Record) -> str:
    """Returns the record with a line for each field and each row."""
    fields = {name: json.dumps(value, ensure_ascii=False) for name, value in vars(record).items()}
    rows = ",\n".join(f"   {json.dumps(row, ensure_ascii=False)}" for row in record.rows)
    fields["rows"] = f"[\n{rows}\n  ]"
    return " {\n" + ",\n".join(f'  "{name}": {value}' for name, value in fields.items()) + "\n }"


def renewed(page: str) -> str:
    """Returns a page with the tables between its marks renewed. Raises LookupError for an unknown title."""

    def block(found: re.Match[str]) -> str:
        begin, name, title, _, end = found.groups()
        records = [record for record in read(name) if title in (None, record.title)]
        if not records:
            raise LookupError(f"benchmarks/{name}.json has no record {title or ''}")
        heading = "" if title else "### {}\n\n"
        return (
            begin + "".join("\n" + heading.format(one.title) + one.markdown() for one in records) + "\n" + end
        )

    return BLOCK.sub(block, page)


def renew() -> None:
    for name in PAGES:
        path = ROOT / name
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Returns the parser of a benchmark whose figures can be recorded."""
    made = command_line.parser(name, description)
    made.add_argument("--record", metavar="TITLE", help=f"keeps the table in benchmarks/{name}.json")
    made.add_argument(
        "--machine", metavar="TEXT", help="its name in the record [number and model of the cores]"
    )
    made.add_argument("--conditions", metavar="TEXT", default="", help="what else the record says")
    return made


def report(name: str, table: Table, options: argparse.Namespace) -> None:
    """Shows the table; with ``--record`` it also keeps it and renews the pages."""
    table.show()
    if options.record is None:
        return
    new = Record(
        title=options.record,
        machine=options.machine or _machine(),
        date=time.strftime("%Y-%m-%d"),
        commit=_commit(),
        command=_command(name, sys.argv[1:]),
        conditions=options.conditions or "other programs ran beside it",
        columns=[column.title for column in table.columns],
        rows=[[_rounded(cell) for cell in row] for row in table.rows],
        notes=list(table.notes),
    )
    others = [old for old in read(name) if (old.title, old.machine) != (new.title, new.machine)]
    write(name, [new, *others])
    renew()


def _machine() -> str:
    from convnet_benchmarks.environment import machine

    return f"{os.cpu_count()} cores, {machine('cpu')['device']}"


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--exclude=*", "--abbrev=7", "--dirty=+"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"


def _command(name: str, words: Sequence[str]) -> str:
    """Returns the command line without what concerns this machine or the record alone."""
    kept: list[str] = []
    given = iter(words)
    for word in given:
        if word in ("--record", "--machine", "--conditions"):
            next(given, None)
        elif kept[-1:] in (["--torch7"], ["--before"]):
            kept.append("COMMAND")
        else:
            kept.append(Path(word).name if "/" in word else word)
    return shlex.join(["python", "-m", f"benchmarks.{name}", *kept])


def _rounded(cell: Cell) -> Cell:
    return float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell


def main() -> None:
    command_line.parser("performance", __doc__).parse_args()
    renew()


if __name__ == "__main__":
    main()

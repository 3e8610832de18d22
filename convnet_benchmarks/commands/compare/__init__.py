"""``convnet-benchmarks compare``: the measurements that result files share, with a verdict on each."""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from convnet_benchmarks.commands.compare.gate import EXIT_NONE_SLOWER, EXIT_SLOWER, EXIT_UNSURE, exit_code
from convnet_benchmarks.commands.compare.rows import compare
from convnet_benchmarks.commands.compare.same_options import with_same_options
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy.setup import told
from convnet_benchmarks.options.study import open_output, study_parser
from convnet_benchmarks.results.load import load_all
from convnet_benchmarks.results.side_by_side import cautions, file_line, ratio_cells, ratio_columns, reasons
from convnet_benchmarks.tables import Column, Table
from convnet_benchmarks.timing.statistics import FEWEST_FOR_A_VERDICT

if TYPE_CHECKING:
    from convnet_benchmarks.commands.compare.rows import ComparedRow, Comparison
    from convnet_benchmarks.options.study import StudyOutput
    from convnet_benchmarks.results.load import ResultFile
    from convnet_benchmarks.tables import Cell, Table

SUMMARY = "results and legacy logs side by side: FASTER, SLOWER, SAME or UNSURE"

_DESCRIPTION = f"""\
Compares result files with the first one, A: the --json of any command, a sweep's file of points, or a log of
the Lua scripts, in any mixture. Speeds get a verdict from the 95 % intervals of the medians:

  FASTER, SLOWER  the intervals lie apart
  SAME            they lie within --margin of each other
  UNSURE          they overlap, there are fewer than {FEWEST_FOR_A_VERDICT} samples, or the slower one is
                  marked noisy (measure it with --processes 8)
  OLD IS SLOWER, OLD IS FASTER   a number without statistics, as in a legacy log, lies outside the other
                  file's interval

Of a log of several runs (a README, as pasted) those are compared that were started with the same options.

Other quantities are EQUAL or DIFFER.

Exit code:
  {EXIT_NONE_SLOWER}  nothing is SLOWER than in A, or by no more than --fail-slower
  {EXIT_SLOWER}  something is SLOWER, by more than that
  2  bad input, or nothing in common
  {EXIT_UNSURE}  with --fail-unsure: nothing is SLOWER, but something is UNSURE"""
_EXAMPLES = (
    "before.json after.json",
    "titanx_2015.log ours.json --only forward+backward",
    "main.json branch.json --fail-slower 5 --fail-unsure      in a pipeline",
    "monday.jsonl tuesday.jsonl wednesday.jsonl --only throughput --md table.md",
)


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns the exit code; raises UserError for bad input."""
    parser = study_parser(program, _DESCRIPTION, _EXAMPLES)
    parser.usage = f"{program} A B [C ...] [options]"
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="results and logs; the first is the reference"
    )
    parser.add_argument(
        "--only",
        metavar="TEXT",
        action="append",
        default=[],
        help="only rows that contain TEXT (may be repeated)",
    )
    parser.add_argument(
        "--margin", type=_per_cent, default=2.0, metavar="PERCENT", help="closer than this is SAME [2]"
    )
    parser.add_argument(
        "--fail-slower",
        type=_from_zero,
        default=0.0,
        metavar="PERCENT",
        help=f"exit code {EXIT_SLOWER} only if something SLOWER takes more than PERCENT longer [0]",
    )
    parser.add_argument(
        "--fail-unsure",
        action="store_true",
        help=f"exit code {EXIT_UNSURE} where something may take that much longer, but is UNSURE",
    )
    options = parser.parse_args(arguments)
    if len(options.files) < 2:
        raise UserError("FILE: only one is given; accepted: two or more")
    with open_output("compare", options, inputs=options.files) as output:
        return _compare(options, output)


def _per_cent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage from 0 to below 100")
    return value


def _from_zero(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage from 0 up")
    return value


def _compare(options: argparse.Namespace, output: "StudyOutput") -> int:

    files = with_same_options(load_all(options.files))
    comparison = compare([file.measurements for file in files], options.margin / 100)
    rows = [row for row in comparison.rows if all(text.lower() in _described(row) for text in options.only)]
    if not any(any(row.ratios) for row in rows):
        raise UserError(_nothing_shared(files, rows, options.only))
    table = comparison_table(files, comparison, rows)
    content = {
        "files": [{"path": file.path, "kind": file.kind} for file in files],
        "margin_percent": options.margin,
        "matched_by": comparison.matched_by,
        "rows": [
            {
                "values": [value and asdict(value) for value in row.values],
                "ratios": [found and asdict(found) for found in row.ratios],
            }
            for row in rows
        ],
    }
    output.write([table], content)
    ratios = [found for row in rows for found in row.ratios if found]
    return exit_code(ratios, options.fail_slower, options.fail_unsure)


def _described(row: "ComparedRow") -> str:
    """Returns the text that --only searches, in lower case."""
    one = row.about
    batch = "" if one.batch is None else f"batch {one.batch}"
    conditions = [text for value in row.values if value for text in (value.software, value.device)]
    return " ".join([one.net, batch, one.phase, one.op, one.quantity, one.unit, *conditions]).lower()


def _nothing_shared(files: "Sequence[ResultFile]", rows: "Sequence[ComparedRow]", only: Sequence[str]) -> str:
    if only and not rows:
        return f"option --only: no row contains {' and '.join(map(repr, only))}"
    if len(files) == 2:
        a, b = files
        apart = _differences(a, b) or "they were measured under other conditions"
        return f"A and B share no measurement: {apart}. A has {_contents(a)}; B has {_contents(b)}"
    measured = "; ".join(f"{file.path} has {_contents(file)}" for file in files)
    return f"A shares no measurement with another file: {measured}"


def _differences(a: "ResultFile", b: "ResultFile") -> str:
    """Returns the fields that no measurement of A shares with one of B, with their values."""
    found = []
    for name in ("net", "batch", "phase", "quantity"):
        values = [{getattr(one, name) for one in file.measurements} - {"", None} for file in (a, b)]
        if all(values) and not values[0] & values[1]:
            shown = [", ".join(sorted(map(str, each))[:3]) for each in values]
            found.append(f"{'batch size' if name == 'batch' else name} is {shown[0]} in A, {shown[1]} in B")
    return "; ".join(found)


def _contents(file: "ResultFile") -> str:
    """Returns the first few things that a file has measured."""
    found = dict.fromkeys(
        " ".join(filter(None, (one.net, one.phase, one.quantity))) for one in file.measurements
    )
    names = list(found)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def comparison_table(
    files: "Sequence[ResultFile]", comparison: "Comparison", rows: "Sequence[ComparedRow]"
) -> "Table":
    """Returns the rows that the first file shares with another, with ratio, interval and verdict."""
    letters = [_letter(place) for place in range(len(files))]
    shared = [row for row in rows if any(row.ratios)]
    about = _about_columns(comparison, shared)
    columns = [Column(heading, condition=heading == "quantity") for heading, _ in about]
    columns += [Column("unit", condition=True), Column("A", digits=5)]
    for letter in letters[1:]:
        columns += [Column(letter, digits=5), *ratio_columns(letter)]
    table = Table("", columns)
    for row in shared:
        cells: list[Cell] = [cell(row) for _, cell in about]
        cells += [row.about.unit, row.values[0].value if row.values[0] else None]
        for value, found in zip(row.values[1:], row.ratios, strict=True):
            cells.append(value.value if value else None)
            cells += ratio_cells(found)
        table.rows.append(cells)
    table.heading = [
        file_line(letter, file.path, file.kind, file.measurements)
        for letter, file in zip(letters, files, strict=True)
    ]
    table.notes = _notes(rows, shared, letters) + _conditions(files, letters)
    return table


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else f"F{place + 1}"


def _about_columns(
    comparison: "Comparison", rows: "Sequence[ComparedRow]"
) -> list[tuple[str, "Callable[[ComparedRow], Cell]"]]:
    """Returns the columns that say what was measured: those that tell the rows apart, and the quantity."""
    names = ["net", "batch", "phase", "op", *comparison.matched_by]
    varied = [name for name in names if len({getattr(row.about, name) for row in rows}) > 1]
    chosen = varied or ["phase"]

    def cell(name: str) -> "Callable[[ComparedRow], Cell]":
        return lambda row: getattr(row.about, name) or None

    headings = {"op": "layer"}
    return [(headings.get(name, name), cell(name)) for name in [*chosen, "quantity"]]


def _notes(
    rows: "Sequence[ComparedRow]", shared: "Sequence[ComparedRow]", letters: Sequence[str]
) -> list[str]:

    notes = [
        "B : A is how many times as fast B is; for memory, accuracy and counts: B's value divided by A's."
    ]
    for place, letter in enumerate(letters[1:]):
        found = [row.ratios[place] for row in shared]
        counts = Counter(one.verdict for one in found if one)
        notes.append(
            f"{letter}: "
            + (", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "no measurement in common")
        )
        notes += reasons(letter, found)
    alone = len(rows) - len(shared)
    if alone:
        notes.append(f"{alone} more measurements are in one file only")
    return notes + cautions([one for row in shared for one in row.ratios])


def _conditions(files: "Sequence[ResultFile]", letters: Sequence[str]) -> list[str]:
    """Returns in words what differs of how the files' runs were started, where each has one."""
    first = files[0]
    found = []
    for letter, file in zip(letters[1:], files[1:], strict=True):
        if len(first.runs) == len(file.runs) == 1:
            found += told(first.runs[0][0], file.runs[0][0], ("A", letter))
    return found

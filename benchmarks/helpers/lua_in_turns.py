"""Runs a Lua script that times things under ``th`` and under real Torch7, in turns."""

import argparse
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import performance
from convnet_benchmarks.tables import Cell, Column, Table


def parser_of_rounds(name: str, description: str | None, rounds: int) -> argparse.ArgumentParser:
    """Returns a parser of ``torch7`` and ``rounds``; ``rounds`` is the default number of rounds."""
    parser = performance.parser(name, description)
    parser.add_argument("--torch7", help="a command that runs Lua scripts under real Torch7")
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def options(name: str, description: str | None, rounds: int) -> argparse.Namespace:
    return parser_of_rounds(name, description, rounds).parse_args()


def medians(source: str, torch7: str | None, rounds: int) -> dict[str, dict[str, float]]:
    """Returns the medians over the rounds of what ``source`` prints, as lines of name, tab and number.

    By program ("th", then "Torch7" if ``torch7`` is the command for it), then by name.
    """
    commands = {"th": [sys.executable, "-m", "lua_compat"]}
    if torch7:
        commands["Torch7"] = shlex.split(torch7)
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "timed.lua"
        script.write_text(source)
        for _ in range(rounds):
            for name, command in commands.items():
                samples[name].append(_run(command, script))
    return {
        name: {what: statistics.median(sample[what] for sample in taken) for what in taken[0]}
        for name, taken in samples.items()
    }


def in_turns(unit: str, found: dict[str, dict[str, float]]) -> Table:
    """Returns the medians as a table: a row for each name, with the ratio if there are two programs."""
    both = len(found) == 2
    columns = [
        Column(""),
        *(Column(name, unit) for name in found),
        *([Column("ratio", digits=2)] if both else []),
    ]
    rows: list[Sequence[Cell]] = []
    for what in found["th"]:
        costs = [one[what] for one in found.values()]
        rows.append([what, *costs, *([costs[0] / costs[1]] if both else [])])
    table = Table("", columns, rows)
    if both:
        mean = statistics.geometric_mean([float(row[-1] or 0) for row in rows])
        table.notes.append(f"Geometric mean of the {len(rows)} ratios: {mean:.2f}.")
    return table


def _run(command: list[str], script: Path) -> dict[str, float]:
    output = subprocess.run([*command, str(script)], capture_output=True, text=True, check=True).stdout
    rows = (line.rstrip("\t").split("\t") for line in output.splitlines() if "\t" in line)  # trepl adds one
    return {name: float(cost) for name, cost in rows}

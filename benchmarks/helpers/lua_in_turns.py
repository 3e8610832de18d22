"""Runs a Lua script that times things under ``th``, an older ``th`` and real Torch7, in turns."""

import argparse
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import performance
from convnet_benchmarks.tables import Column, Table

TH = [sys.executable, "-m", "lua_compat"]


def parser_of_rounds(name: str, description: str | None, rounds: int) -> argparse.ArgumentParser:
    """Returns a parser of ``torch7``, ``before`` and ``rounds``, of which ``rounds`` is the default."""
    parser = performance.parser(name, description)
    add_peers(parser)
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def add_peers(parser: argparse.ArgumentParser, torch7_required: bool = False) -> None:
    parser.add_argument(
        "--torch7", required=torch7_required, help="a command that runs Lua scripts under real Torch7"
    )
    parser.add_argument("--before", help="an older th to compare with, too")


def options(name: str, description: str | None, rounds: int) -> argparse.Namespace:
    return parser_of_rounds(name, description, rounds).parse_args()


def commands(given: argparse.Namespace) -> dict[str, list[str]]:
    """Returns the command of each program: "th", then "before" and "Torch7" if they are given."""
    found = {"th": TH}
    peers = {"before": given.before, "Torch7": given.torch7}
    return found | {name: shlex.split(command) for name, command in peers.items() if command}


def medians(source: str, given: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Returns the medians over the rounds of what ``source`` prints, as lines of name, tab and number.

    By program, then by name.
    """
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in commands(given)}
    for _ in range(given.rounds):
        for name, command in commands(given).items():
            samples[name].append(measured(command, source))
    return {
        name: {what: statistics.median(sample[what] for sample in taken) for what in taken[0]}
        for name, taken in samples.items()
    }


def in_turns(unit: str, found: dict[str, dict[str, float]]) -> Table:
    """Returns the medians as a table: a row for each name, with the ratios of th to the other programs."""
    others = [name for name in found if name != "th"]
    ratios = [f"th / {name}" for name in others]
    columns = [
        Column(""),
        *(Column(name, unit) for name in found),
        *(Column(name, digits=2) for name in ratios),
    ]
    table = Table("", columns)
    for what, cost in found["th"].items():
        costs = [found[name][what] for name in others]
        table.rows.append([what, cost, *costs, *(cost / other for other in costs)])
    for ratio, of_rows in zip(ratios, list(zip(*table.rows, strict=True))[len(found) + 1 :], strict=True):
        table.notes.append(
            f"Geometric mean of {ratio}: {statistics.geometric_mean(map(float, of_rows)):.2f}."
        )
    return table


def measured(
    command: Sequence[str], source: str, environment: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Returns the numbers by name that a Lua script prints, run by a command."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "timed.lua"
        script.write_text(source)
        done = subprocess.run(
            [*command, str(script)], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    rows = (
        line.rstrip("\t").split("\t") for line in done.stdout.splitlines() if "\t" in line
    )  # trepl adds one
    return {name: float(cost) for name, cost in rows}

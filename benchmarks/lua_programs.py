"""Measures small training programs, each a process of its own, from its start to its end.

    python -m benchmarks.lua_programs --torch7 COMMAND [--before COMMAND] [--first 1] [--count 200]
                                      [--seconds 100]

Program N is the same each time (benchmarks/helpers). The commands run a Lua script under real Torch7 and an
older th, which take turns with th. Programs that fail in one of them are left out; after so many seconds no
other one begins.
"""

import dataclasses
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import performance
from benchmarks.helpers.lua_in_turns import add_peers, commands
from benchmarks.helpers.training_programs import program
from convnet_benchmarks.tables import Cell, Column, Table

_LARGE = 150  # MB: PyTorch is loaded


def main() -> None:
    parser = performance.parser("lua_programs", __doc__)
    add_peers(parser, torch7_required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=100)
    given = parser.parse_args()
    programs = commands(given)
    measured: list[dict[str, _Cost]] = []
    end = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.lua"
        for number in range(given.first, given.first + given.count):
            if time.monotonic() > end:
                break
            script.write_text(program(number))
            costs = {name: _run([*command, str(script)]) for name, command in programs.items()}
            worked = {name: cost for name, cost in costs.items() if cost}
            if len(worked) == len(programs):
                measured.append(worked)
    if len(measured) < 2:
        parser.error("fewer than two programs ran to their end in each")
    performance.report("lua_programs", _table(measured), given)


@dataclasses.dataclass(frozen=True)
class _Cost:
    """``wall``, ``processor``: seconds. ``memory``: the peak in MB."""

    wall: float
    processor: float
    memory: float


# A small process of its own starts each program, because the peak that the system keeps for a program is not
# less than the memory of the process that started it.
_STARTER = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
start = time.perf_counter()
program = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, used = os.wait4(program, 0)
seconds = time.perf_counter() - start
print(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(status != 0)
"""


def _run(command: Sequence[str]) -> _Cost | None:
    """Returns what a program cost; None if it failed."""
    starter = [sys.executable, "-I", "-S", "-c", _STARTER, *command]
    ended = subprocess.run(starter, stdout=subprocess.PIPE, text=True)
    return None if ended.returncode else _Cost(*map(float, ended.stdout.split()))


def _table(measured: list[dict[str, _Cost]]) -> Table:
    programs = list(measured[0])
    columns = [Column("of the programs")]
    by_column = []
    for name in programs:
        if name != "Torch7":
            columns += [Column(f"{what}, {name} / Torch7", digits=2) for what in ("processor time", "time")]
            by_column.append([costs[name].processor / costs["Torch7"].processor for costs in measured])
            by_column.append([costs[name].wall / costs["Torch7"].wall for costs in measured])
    for name in programs:
        columns += [Column(name, "s", digits=3), Column(f"{name}, peak memory", "MB", digits=3)]
        by_column.append([costs[name].processor for costs in measured])
        by_column.append([costs[name].memory for costs in measured])
    rows: list[Sequence[Cell]] = [
        ["median", *map(statistics.median, by_column)],
        ["90th percentile", *(statistics.quantiles(of, n=10)[-1] for of in by_column)],
    ]
    loaded = sum(costs["th"].memory > _LARGE for costs in measured)
    note = f"{len(measured)} programs, of which {loaded} loaded PyTorch. Seconds are processor time."
    return Table("", columns, rows, [note])


if __name__ == "__main__":
    main()

"""Measures small training programs, each a process of its own, from its start to its end.

    python -m benchmarks.lua_programs --torch7 COMMAND [--first 1] [--count 200] [--seconds 100]

Program N is the same each time (benchmarks/helpers). COMMAND runs a Lua script under real Torch7, which
takes turns with th. Programs that fail there are left out; after so many seconds no other one begins.
"""

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import performance
from benchmarks.helpers.training_programs import program
from convnet_benchmarks.tables import Column, Table

_LARGE = 150  # MB: PyTorch is loaded


def main() -> None:
    parser = performance.parser("lua_programs", __doc__)
    parser.add_argument("--torch7", required=True, help="a command that runs Lua scripts under real Torch7")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=100)
    given = parser.parse_args()
    measured: list[tuple[float, ...]] = []
    end = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.lua"
        for number in range(given.first, given.first + given.count):
            if time.monotonic() > end:
                break
            script.write_text(program(number))
            theirs = _run([*shlex.split(given.torch7), str(script)])
            ours = _run([sys.executable, "-m", "lua_compat", str(script)])
            if theirs and ours:
                measured.append((ours[1] / theirs[1], ours[0] / theirs[0], ours[1], theirs[1], ours[2]))
    performance.report("lua_programs", _table(measured), given)


def _run(command: Sequence[str]) -> tuple[float, float, float] | None:
    """Returns seconds of wall and processor time and the peak memory in MB; None if the program failed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    return (
        None
        if status
        else (time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
    )


def _table(measured: list[tuple[float, ...]]) -> Table:
    columns = [
        Column("of the programs"),
        Column("processor time, th / Torch7", digits=2),
        Column("time, th / Torch7", digits=2),
        Column("th", "s", digits=3),
        Column("Torch7", "s", digits=3),
        Column("th's peak memory", "MB", digits=0),
    ]
    table = Table("", columns)
    by_column = list(zip(*measured, strict=True))
    table.rows.append(("median", *map(statistics.median, by_column)))
    table.rows.append(("90th percentile", *(statistics.quantiles(of, n=10)[-1] for of in by_column)))
    loaded = sum(row[-1] > _LARGE for row in measured)
    table.notes.append(
        f"{len(measured)} programs, of which {loaded} loaded PyTorch. Seconds are processor time."
    )
    return table


if __name__ == "__main__":
    main()

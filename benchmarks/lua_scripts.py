"""Measures whole Lua scripts of other people under ``th`` and under real Torch7, in turns.

    python -m benchmarks.lua_scripts FOLDER --torch7 COMMAND [--rounds 3] [--only NAME ...] [--start]

FOLDER holds checkouts, each named OWNER+NAME, of the repositories in tests/compatibility/commands/timed.py
and of the packages that they require (``python -m tests.compatibility`` wants the same folder). COMMAND is a
Torch7's th. The scripts run unmodified, on one thread, on small data that are made from a seed. The output is
a table of medians: seconds of user CPU time without the start-up, their ratio in pairs of runs, the wall time
as it was, and the peak of memory.

The start-up is what the same program takes to load torch, nn, nngraph, optim and image, or the script with
nothing to do where it has such a form, and what a call of the BLAS or of a kernel adds, where a script has
made th load PyTorch's library or all of PyTorch; it is measured in every round. ``--start`` measures only
that.
"""

import os
import shlex
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import performance
from convnet_benchmarks.tables import Cell, Column, Table
from tests.compatibility import programs
from tests.compatibility.__main__ import link_rocks
from tests.compatibility.commands.timed import TIMED, Timed
from tests.compatibility.repository import Run
from tests.compatibility.stages import copy_with_data, limited_script, sides_of

_ENDED_AFTER = 600.0
_PACKAGES = "require 'nn' require 'nngraph' require 'optim' require 'image'"
# What th may load beside them: the mark in the names of a process's libraries, and a call that loads it, and
# waits to be seen
_SEEN_IN = 0.3  # seconds
_WAITS = f"require('sys').sleep({_SEEN_IN})"
_LOADED_FOR = {
    "": ("", ""),
    "NumPy's BLAS": ("openblas", f"torch.mm(torch.randn(300, 300), torch.randn(300, 300)) {_WAITS}"),
    "PyTorch's library": ("libtorch_cpu", f"torch.exp(torch.randn(2000000)) {_WAITS}"),
    "PyTorch": ("libtorch_python", f"torch.eig(torch.eye(3)) {_WAITS}"),
}


@dataclass(frozen=True)
class Cost:
    """``cpu``: user CPU time. ``loaded``: what was in memory, of ``_LOADED_FOR``."""

    cpu: float
    wall: float
    memory_mb: float
    loaded: str


class _Watch:
    """Looks at the libraries of a running program ten times a second."""

    def __init__(self) -> None:
        self.found = ""
        self._ended = threading.Event()

    def start(self, pid: int) -> None:
        threading.Thread(target=self._look, args=(pid,), daemon=True).start()

    def _look(self, pid: int) -> None:
        while not self._ended.wait(0.1):
            try:
                libraries = Path(f"/proc/{pid}/maps").read_text()
            except OSError:
                return
            found = [name for name, (mark, _) in _LOADED_FOR.items() if mark in libraries][-1]
            self.found = found or self.found  # a program that has ended has no libraries any longer

    def end(self) -> None:
        self._ended.set()


def _cost(command: Sequence[str], folder: Path, environment: dict[str, str], stdin: str = "") -> Cost:
    watch = _Watch()
    outcome = programs.run(command, folder, environment, _ENDED_AFTER, stdin, watch.start)
    watch.end()
    if not outcome.ok:
        raise RuntimeError(f"{shlex.join(command)}: {outcome.problem}")
    return Cost(outcome.user_seconds, outcome.seconds, outcome.memory_mb, watch.found)


Sides = dict[str, Callable[[Run, Path], list[str]]]
Costs = dict[str, Cost]  # by side


def _measure(
    script: Timed, source: Path, rocks: Sequence[Path], sides: Sides, place: Path
) -> tuple[Costs, Costs]:
    """Returns what a script, and its idle form, cost on every side, each in a fresh copy of its
    repository."""
    costs: Costs = {}
    idle: Costs = {}
    for side, command in sides.items():
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            folder = copy_with_data(source, Path(scratch) / "copy", script.data)
            for run in (*script.before, *([script.idle] if script.idle else []), script.run):
                where = folder / run.folder
                variables = programs.surroundings(rocks, (*run.environment, ("OMP_NUM_THREADS", "1")))
                found = _cost(command(run, where), where, variables, run.stdin)
                (idle if run is script.idle else costs)[side] = found
    return costs, idle


def _starts(sides: Sides, place: Path) -> dict[tuple[str, str], Cost]:
    """Returns the cost of starting each side, with each of what ours may load.

    Raises RuntimeError if a call does not load what it is for.
    """
    variables = programs.surroundings((), (("OMP_NUM_THREADS", "1"),))
    found = {
        (side, loaded): _cost(command(Run.code(f"{_PACKAGES} {call}"), place), place, variables)
        for side, command in sides.items()
        for loaded, (_, call) in _LOADED_FOR.items()
        if side == "th" or not loaded
    }
    for (side, loaded), cost in found.items():
        if side == "th" and cost.loaded != loaded:
            raise RuntimeError(f"{_LOADED_FOR[loaded][1]} loads {cost.loaded or 'nothing'}, not {loaded}")
    return found


class Results:
    """Collects costs: a row of figures for every script."""

    def __init__(self, sides: Sequence[str]) -> None:
        self.starts: dict[tuple[str, str], list[Cost]] = {}
        self.ratios: list[float] = []
        columns = [Column("script"), *(Column(side, "s", digits=3) for side in sides)]
        columns += [Column("ratio", digits=2)] if len(sides) == 2 else []
        columns += [Column(f"{side}, wall", "s", digits=3) for side in sides]
        columns += [Column(f"{side}, peak", "MB", digits=3) for side in sides]
        self.table = Table("", [*columns, Column("loads")])

    def add_starts(self, found: dict[tuple[str, str], Cost]) -> None:
        for key, cost in found.items():
            self.starts.setdefault(key, []).append(cost)

    def _start(self, side: str, cost: Cost, idle: Costs) -> float:
        loaded = cost.loaded if side == "th" else ""
        if side not in idle:
            return self._common_start(side, loaded)
        # the idle form may have loaded less than the script
        before = idle[side].loaded if side == "th" else ""
        return idle[side].cpu + self._common_start(side, loaded) - self._common_start(side, before)

    def _common_start(self, side: str, loaded: str) -> float:
        return statistics.median(start.cpu for start in self.starts[side, loaded])

    def start_lines(self) -> list[str]:
        lines = []
        for (side, loaded), costs in self.starts.items():
            what = f"Start of {side}" + (f" with {loaded}" if loaded else "")
            cpu, wall = (statistics.median(getattr(c, name) for c in costs) for name in ("cpu", "wall"))
            wall -= _SEEN_IN if loaded else 0
            lines.append(f"{what}: {cpu:.2f} s of user CPU time, {wall:.2f} s of wall time.")
        return lines

    def add_row(self, label: str, measured: Sequence[tuple[Costs, Costs]]) -> None:
        """Raises RuntimeError for a script that works no longer than it takes to start."""
        rounds = [costs for costs, _ in measured]
        row: list[Cell] = [label]
        worked = {}
        for side in rounds[0]:
            worked[side] = [
                costs[side].cpu - self._start(side, costs[side], idle) for costs, idle in measured
            ]
            if min(worked[side]) <= 0:
                raise RuntimeError(f"{side} takes no longer than to start: it needs more to do")
            row.append(statistics.median(worked[side]))
        if len(worked) == 2:
            pairs = zip(*worked.values(), strict=True)
            self.ratios.append(statistics.median(ours / theirs for ours, theirs in pairs))
            row.append(self.ratios[-1])
        row += [statistics.median(costs[side].wall for costs in rounds) for side in rounds[0]]
        row += [statistics.median(costs[side].memory_mb for costs in rounds) for side in rounds[0]]
        self.table.rows.append([*row, rounds[0]["th"].loaded])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = performance.parser("lua_scripts", __doc__)
    parser.add_argument("folder", type=Path, help="holds the checkouts, each as OWNER+NAME")
    parser.add_argument("--torch7", metavar="COMMAND", help="a Torch7 to compare with")
    parser.add_argument(
        "--rounds", type=int, default=3, help="runs of every script on each side (%(default)d)"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="parts of the names in the first column")
    parser.add_argument("--start", action="store_true", help="measure only the start-up")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder}: no such folder")
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    source = options.folder.resolve()
    chosen = [
        script for script in TIMED if not options.only or any(part in script.label for part in options.only)
    ]
    if not chosen:
        parser.error(f"--only: the names are {', '.join(script.label for script in TIMED)}")
    torch7 = shlex.split(os.path.expanduser(options.torch7)) if options.torch7 else None
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        (place / "rocks").mkdir()
        link_rocks(source, place / "rocks")
        rocks = [place / "rocks" / "any"]
        commands = [side.command for side in sides_of(torch7 or (), limited_script(place))]
        sides = dict(zip(("th", "Torch7") if torch7 else ("th",), commands, strict=False))
        results = Results(list(sides))
        for _ in range(options.rounds):
            results.add_starts(_starts(sides, place))
        if options.start:
            print("\n".join(results.start_lines()))
            return 0
        for script in chosen:
            folder = source / script.repository.replace("/", "+")
            if not folder.is_dir():
                print(f"{script.label}: no {folder.name} in {source}", file=sys.stderr)
                continue
            try:
                costs = [_measure(script, folder, rocks, sides, place) for _ in range(options.rounds)]
                results.add_row(script.label, costs)
                print(*results.table.texts()[-1], sep="\t", file=sys.stderr, flush=True)
            except RuntimeError as problem:
                print(f"{script.label}: {problem}", file=sys.stderr, flush=True)
                failed = True
    results.table.notes += results.start_lines()
    if len(results.ratios) > 1:
        mean = statistics.geometric_mean(results.ratios)
        results.table.notes.append(f"Geometric mean of the ratios: {mean:.2f}.")
    performance.report("lua_scripts", results.table, options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

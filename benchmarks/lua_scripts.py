"""Measures whole Lua scripts of other people under ``th`` and under real Torch7, in turns.

    python -m benchmarks.lua_scripts FOLDER --torch7 COMMAND [--rounds 3] [--only NAME ...] [--start]

FOLDER holds checkouts, each named OWNER+NAME, of the repositories in tests/compatibility/commands/timed.py
and of the packages that they require (``python -m tests.compatibility`` wants the same folder). COMMAND is a
Torch7's th. The scripts run unmodified, on one thread, on small data that are made from a seed. The output is
a table of medians: seconds of user CPU time without the start-up, their ratio in pairs of runs, the wall time
as it was, and the peak of memory.

The start-up is what the same program takes to load torch, nn, nngraph, optim and image, or the script with
nothing to do where it has such a form, and, where a script has made th load PyTorch, what a call of a kernel
adds; it is measured in every round. ``--start`` measures only that.
"""

import argparse
import math
import os
import shlex
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.compatibility import programs
from tests.compatibility.__main__ import link_rocks
from tests.compatibility.commands.timed import TIMED, Timed
from tests.compatibility.repository import Run
from tests.compatibility.stages import copy_with_data, limited_script, sides_of

_ENDED_AFTER = 600.0
_PACKAGES = "require 'nn' require 'nngraph' require 'optim' require 'image'"
_CALL_OF_A_KERNEL = "torch.svd(torch.randn(9, 9))"


@dataclass(frozen=True)
class Cost:
    """``cpu``: user CPU time. ``loaded``: whether PyTorch was in memory."""

    cpu: float
    wall: float
    memory_mb: float
    loaded: bool


class _Watch:
    """Looks at the libraries of a running program ten times a second."""

    def __init__(self) -> None:
        self.found = False
        self._ended = threading.Event()

    def start(self, pid: int) -> None:
        threading.Thread(target=self._look, args=(pid,), daemon=True).start()

    def _look(self, pid: int) -> None:
        while not self.found and not self._ended.wait(0.1):
            try:
                self.found = "libtorch_cpu" in Path(f"/proc/{pid}/maps").read_text()
            except OSError:
                return

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


def _starts(sides: Sides, place: Path) -> dict[tuple[str, bool], Cost]:
    """Returns the cost of starting each side: without a kernel (False) and with one."""
    variables = programs.surroundings((), (("OMP_NUM_THREADS", "1"),))
    return {
        (side, kernel): _cost(command(Run.code(code), place), place, variables)
        for side, command in sides.items()
        for kernel, code in ((False, _PACKAGES), (True, f"{_PACKAGES} {_CALL_OF_A_KERNEL}"))
    }


class Table:
    """Collects costs and prints a row for every script."""

    def __init__(self) -> None:
        self.starts: dict[tuple[str, bool], list[Cost]] = {}
        self.ratios: list[float] = []

    def add_starts(self, found: dict[tuple[str, bool], Cost]) -> None:
        for key, cost in found.items():
            self.starts.setdefault(key, []).append(cost)

    def _start(self, side: str, cost: Cost, idle: Costs) -> float:
        kernel = side == "ours" and cost.loaded
        common = statistics.median(start.cpu for start in self.starts[side, kernel])
        if side not in idle:
            return common
        if not kernel or idle[side].loaded:
            return idle[side].cpu
        return idle[side].cpu + common - statistics.median(start.cpu for start in self.starts[side, False])

    def print_starts(self) -> None:
        for (side, kernel), costs in self.starts.items():
            what = f"start of {side}" + (", a kernel called" if kernel else "")
            cpu, wall = (statistics.median(getattr(c, name) for c in costs) for name in ("cpu", "wall"))
            print(f"{what:36}{cpu:9.2f} s of CPU time{wall:9.2f} s", flush=True)

    def print_row(self, label: str, measured: Sequence[tuple[Costs, Costs]]) -> None:
        """Raises RuntimeError for a script that works no longer than it takes to start."""
        rounds = [costs for costs, _ in measured]
        cells, worked = [f"{label:28}"], {}
        for side in rounds[0]:
            worked[side] = [
                costs[side].cpu - self._start(side, costs[side], idle) for costs, idle in measured
            ]
            if min(worked[side]) <= 0:
                raise RuntimeError(f"{side} takes no longer than to start: it needs more to do")
            cells.append(f"{statistics.median(worked[side]):9.2f}")
        if len(worked) == 2:
            pairs = zip(*worked.values(), strict=True)
            self.ratios.append(statistics.median(ours / theirs for ours, theirs in pairs))
            cells.append(f"{self.ratios[-1]:7.2f}")
        cells += [f"{statistics.median(r[side].wall for r in rounds):9.2f}" for side in rounds[0]]
        cells += [f"{statistics.median(r[side].memory_mb for r in rounds):8.0f}" for side in rounds[0]]
        cells.append("   loads PyTorch" if rounds[0]["ours"].loaded else "")
        print("".join(cells), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.lua_scripts", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
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
    table = Table()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        (place / "rocks").mkdir()
        link_rocks(source, place / "rocks")
        rocks = [place / "rocks" / "any"]
        sides = {side.name: side.command for side in sides_of(torch7 or (), limited_script(place))}
        if torch7 is None:
            del sides["Torch7"]
        for _ in range(options.rounds):
            table.add_starts(_starts(sides, place))
        table.print_starts()
        if options.start:
            return 0
        names = list(sides)
        heads = [*(f"{name}, s" for name in names), *(["ratio"] if len(names) == 2 else [])]
        heads += [*(f"{name}, wall" for name in names), *(f"{name}, MB" for name in names)]
        print(f"{'user CPU time':28}{'  '.join(heads)}")
        for script in chosen:
            folder = source / script.repository.replace("/", "+")
            if not folder.is_dir():
                print(f"{script.label:28}no {folder.name} in {source}", file=sys.stderr)
                continue
            try:
                table.print_row(
                    script.label,
                    [_measure(script, folder, rocks, sides, place) for _ in range(options.rounds)],
                )
            except RuntimeError as problem:
                print(f"{script.label:28}{problem}", file=sys.stderr, flush=True)
                failed = True
    if len(table.ratios) > 1:
        mean = math.exp(statistics.fmean(map(math.log, table.ratios)))
        print(f"{'geometric mean of the ratios':46}{mean:7.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

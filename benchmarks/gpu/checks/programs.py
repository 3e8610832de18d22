"""Old programs of Torch7, each some steps under th: losses against the CPU's, speed against plain PyTorch.

A line of JSON for each program is added to RESULT as it ends; a summary goes to stdout.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from benchmarks.gpu.training.programs import COMPARED, PROGRAMS, SMALL, TIMED, Program

_FEWEST = 0.9  # th's speed, as a share of plain PyTorch's
_SECONDS = 25.0  # for the timed run of one program by th, or by PyTorch
_TOGETHER_SECONDS = 40.0  # for all runs whose losses are compared
_ALL_SECONDS = 135.0
_SHARE_OF_CORES = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // len(PROGRAMS)))}
_SLOWER = 6.0  # a rehearsal on the CPU may take so many times as long


class Child:
    """A run of benchmarks/gpu/training/one.py, which loads everything and waits for ``go``."""

    def __init__(self, way: str, program: Program, size: str, checkouts: Path, folder: Path) -> None:
        name = f"{way} {size} {program.name}"
        self.result, self._log = folder / f"{name}.json", folder / f"{name}.log"
        words = (
            "-m",
            "benchmarks.gpu.training.one",
            way,
            program.name,
            size,
            str(checkouts),
            str(self.result),
        )
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *words],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(_SHARE_OF_CORES if way == "cpu" else {})},
            )

    def go(self) -> None:
        stdin: IO[bytes] | None = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(b"\n")
            stdin.close()
        except BrokenPipeError:
            pass  # it has ended; found() says why

    def found(self, seconds: float) -> dict[str, Any]:
        """Returns what it measured; under ``failed`` why it did not, or not within ``seconds`` from now."""
        failed = ""
        try:
            code = self._process.wait(max(0.1, seconds))
        except subprocess.TimeoutExpired:
            self.end()
            failed = "out of time"
        else:
            failed = "" if code == 0 else self._last_words(code)
        measured = json.loads(self.result.read_text(encoding="utf-8")) if self.result.exists() else {}
        return {**measured, **({"failed": failed} if failed else {})}

    def _last_words(self, code: int) -> str:
        said = self._log.read_text(encoding="utf-8", errors="replace").partition("stack traceback:")[0]
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        return f"exit code {code}: {lines[-1][:200] if lines else ''}"

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def main() -> int:
    """Returns 1, and says why on stderr, where a run failed, losses differ, or th is too slow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path, metavar="RESULT", help="the file to add lines of JSON to")
    parser.add_argument("--checkouts", type=Path, default=Path(".checkouts"), metavar="FOLDER")
    parser.add_argument("--small", action="store_true", help="sizes that a CPU can do")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="programs whose names have one of these")
    options = parser.parse_args()
    chosen = [
        one
        for one in PROGRAMS
        if (options.checkouts / one.folder).is_dir()
        and (not options.only or any(word in one.name for word in options.only))
    ]
    if not chosen:
        print(f"programs: none of the programs' checkouts is in {options.checkouts}", file=sys.stderr)
        return 2
    missed = []
    with tempfile.TemporaryDirectory() as folder, options.result.open("a", encoding="utf-8") as file:
        for record in _measured(chosen, options.checkouts.resolve(), Path(folder), options.small):
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(line(record), flush=True)
            missed += [f"{record['program']}: {problem}" for problem in record["missed"]]
    for problem in missed:
        print(problem, file=sys.stderr)
    return 1 if missed else 0


def _measured(programs: list[Program], checkouts: Path, folder: Path, small: bool) -> Any:
    """Yields a record for each program: first all losses at once, then each one's times, alone."""
    slower = _SLOWER if small else 1.0
    last = time.monotonic() + slower * _ALL_SECONDS
    children: list[Child] = []

    def start(way: str, program: Program, size: str) -> Child:
        children.append(Child(way, program, size, checkouts, folder))
        return children[-1]

    try:
        compared: dict[str, list[dict[str, Any]]] = {}
        for together in [[one] for one in programs] if small else [programs]:
            pairs = {
                one.name: [start(way, one, SMALL if small else COMPARED) for way in ("th", "cpu")]
                for one in together
            }
            for child in (child for pair in pairs.values() for child in pair):
                child.go()
            end = time.monotonic() + slower * _TOGETHER_SECONDS
            for name, pair in pairs.items():
                compared[name] = [child.found(end - time.monotonic()) for child in pair]
        runs = [(way, one) for one in programs for way in ("th", "plain")]
        ready: list[Child] = []
        found: list[dict[str, Any]] = []
        for number, (_, one) in enumerate(runs):
            # The next one is loading while this one runs; it computes nothing yet.
            ready += [start(*run, SMALL if small else TIMED) for run in runs[len(ready) : number + 2]]
            ready[number].go()
            found.append(ready[number].found(min(slower * _SECONDS, last - time.monotonic())))
            if number % 2:
                yield judge(one, small, *compared[one.name], *found[-2:])
    finally:
        for child in children:
            child.end()


def judge(
    program: Program,
    small: bool,
    th: dict[str, Any],
    cpu: dict[str, Any],
    timed: dict[str, Any],
    plain: dict[str, Any],
) -> dict[str, Any]:
    """Returns the record of a program from its four runs: th on the GPU and on the CPU for the losses, th and
    PyTorch for the times."""
    size = program.sizes[SMALL if small else TIMED]
    tolerance = program.sizes[SMALL if small else COMPARED].tolerance
    runs = {"th on the GPU": th, "th on the CPU": cpu, "th": timed, "plain PyTorch": plain}
    missed = [f"{name}: {run['failed']}" for name, run in runs.items() if "failed" in run]
    losses = list(zip(th.get("losses", []), cpu.get("losses", []), strict=False))
    if not losses:
        missed.append("no losses to compare")
    differences = [abs(ours - theirs) / max(abs(theirs), 1e-12) for ours, theirs in losses]
    if differences and not max(differences) <= tolerance:
        missed.append(f"losses differ from the CPU's by up to {max(differences):.1e}; at most {tolerance:g}")
    share = plain["ms"] / timed["ms"] if "ms" in timed and "ms" in plain else None
    if share is not None and share < _FEWEST and not small:
        missed.append(f"{share:.2f} of plain PyTorch's speed; at least {_FEWEST}")
    for run in (timed, plain):
        if "ms" in run:
            run["per_s"] = 1e3 * size.batch / run["ms"]
            run.pop("losses", None)
    return {
        "program": program.name,
        "unit": program.unit,
        "losses": losses,
        "differences": differences,
        "tolerance": tolerance,
        "th": timed,
        "plain": plain,
        "share": share,
        "missed": missed,
    }


_COUNTED = ("operators", "launches", "waits", "reads")


def line(record: dict[str, Any]) -> str:
    """Returns a program's line of the summary: th's figure first, plain PyTorch's after the slash."""
    parts = [record["program"]]
    if record["differences"]:
        parts.append(f"losses differ by {max(record['differences']):.1e}")
    th, plain = record["th"], record["plain"]
    if record["share"] is not None:
        parts.append(f"{th['per_s']:.1f} / {plain['per_s']:.1f} {record['unit']}/s = {record['share']:.2f}")
        parts.append(f"{th['ms']:.3g} / {plain['ms']:.3g} ms")
    for name in ("device_ms", *_COUNTED):
        if name in th and name in plain:
            parts.append(f"{name.replace('_ms', '')} {th[name]:.4g} / {plain[name]:.4g}")
    return "; ".join(parts)


if __name__ == "__main__":
    sys.exit(main())

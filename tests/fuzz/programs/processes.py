"""The processes that run the programs, and what ends them."""

import atexit
import ctypes.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.helpers.places import ROOT

_SOURCE = Path(__file__).with_name("guard_pages.c")
_BATCH = 500  # programs between two lines of a worker
_PER_PROCESS = 40 * _BATCH
_MEGABYTES = 600
_SECONDS_OF_A_BATCH = 600


class Defect(Exception):
    """A program ended its process; the text has its calls."""


@dataclass(frozen=True)
class Total:
    calls: int
    raised: int
    conditions: str


@cache
def _watchers() -> list[tuple[str, Path]]:
    """Returns the libraries, loaded ahead of the C library, that find wrong accesses: what each does, and it.

    Guard pages take a C compiler, MALLOC_CHECK_ a C library that still has it.
    """
    found: list[tuple[str, Path]] = []
    compiler = shutil.which("cc")
    if compiler and sys.platform == "linux":
        library = Path(tempfile.mkdtemp()) / "guard_pages.so"
        atexit.register(shutil.rmtree, library.parent, ignore_errors=True)
        flags = ["-O1", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
        subprocess.run([compiler, *flags], check=True)
        found.append(("guard pages", library))
    if checks := ctypes.util.find_library("c_malloc_debug"):
        found.append(("MALLOC_CHECK_", Path(checks)))
    return found


def conditions() -> str:
    """Returns what watches over memory here, in words."""
    return " or ".join(name for name, _ in _watchers()) or "nothing watches over memory"


def _command(first: int, count: int, batch: int) -> list[str]:
    module = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.programs.worker"]
    return [*module, str(first), str(count), str(batch), str(_MEGABYTES)]


def _environment(first: int) -> dict[str, str]:
    """Most processes have guard pages, every fourth the checks of the C library: not both work at once."""
    given = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_PERTURB_": "165"}
    if watchers := _watchers():
        turn = 3 if first // _PER_PROCESS % 4 == 3 else 0
        name, library = watchers[min(turn, len(watchers) - 1)]
        given["LD_PRELOAD"] = str(library)
        given["MALLOC_CHECK_"] = "3" if name == "MALLOC_CHECK_" else "0"
    return given


def run(first: int, count: int) -> Total:
    """Runs the programs from ``first`` on. Raises Defect for the first that ends its process."""
    calls = raised = 0
    for start in range(first, first + count, _PER_PROCESS):
        made = _run_in_one_process(start, min(_PER_PROCESS, first + count - start))
        calls, raised = calls + made[0], raised + made[1]
    return Total(calls, raised, conditions())


def _run_in_one_process(first: int, count: int, batch: int = _BATCH) -> tuple[int, int]:
    if count == 1:
        raise Defect(_shown(first))
    seconds = _SECONDS_OF_A_BATCH * (1 + count // _BATCH)
    command = _command(first, count, batch)
    result = subprocess.run(
        command, cwd=ROOT, env=_environment(first), capture_output=True, text=True, timeout=seconds
    )
    lines = [[int(word) for word in line.split()] for line in result.stdout.splitlines()]
    if result.returncode == 0 and lines and lines[-1][0] == first + count:
        return lines[-1][1], lines[-1][2]
    begun = lines[-1][0] if lines else first
    if batch > 1:  # once more, each program on its own
        _run_in_one_process(begun, min(batch, first + count - begun), batch=1)
    end = f"ended with {result.returncode}: {result.stderr.strip()[-2000:]}"
    raise Defect(f"a program from {begun} to {min(begun + batch, first + count) - 1} {end}")


def _shown(number: int) -> str:
    command = _command(number, 1, 1)
    result = subprocess.run(command, cwd=ROOT, env=_environment(number), capture_output=True, text=True)
    return f"{result.stderr}\nended with {result.returncode}"

"""The processes that run the programs, and what ends them."""

import atexit
import ctypes.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.fuzz.counts import Counts
from tests.helpers.places import ROOT

_SOURCE = Path(__file__).with_name("guard_pages.c")
_PER_PROCESS = 40_000
_MEGABYTES = 200
_SHOWN = 20_000  # characters


class Defect(Exception):
    """A program ended its process; the text has its calls."""


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


def environment(turn: int) -> dict[str, str]:
    """Most turns have guard pages, every fourth the checks of the C library: not both work at once."""
    given = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_PERTURB_": "165"}
    if watchers := _watchers():
        name, library = watchers[min(3 if turn % 4 == 3 else 0, len(watchers) - 1)]
        given["LD_PRELOAD"] = str(library)
        given["MALLOC_CHECK_"] = "3" if name == "MALLOC_CHECK_" else "0"
    return given


def run(first: int, count: int, counts: Counts) -> None:
    """Runs the programs from ``first`` on, and counts them. Raises Defect where one ends its process."""
    for start in range(first, first + count, _PER_PROCESS):
        for made in _run_in_one_process(start, min(_PER_PROCESS, first + count - start)):
            counts.add(made)


def _run_in_one_process(first: int, count: int, *more: str) -> Iterator[dict[str, int | list[int]]]:
    """Yields what the worker says of each batch."""
    module = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.programs.worker"]
    command = [*module, str(first), str(count), str(_MEGABYTES), *more]
    with tempfile.TemporaryFile() as errors:
        worker = subprocess.Popen(
            command, cwd=ROOT, env=environment(first // _PER_PROCESS), stdout=subprocess.PIPE, stderr=errors
        )
        assert worker.stdout is not None
        with worker:
            yield from map(json.loads, worker.stdout)
        errors.seek(0)
        if worker.returncode:
            text = errors.read().decode(errors="replace")
            text = text if len(text) < _SHOWN else f"{text[: _SHOWN // 2]}\n...\n{text[-_SHOWN // 2 :]}"
            raise Defect(f"{text}\nended with {worker.returncode}")
        if more:
            raise Defect(errors.read().decode(errors="replace"))


def show(number: int) -> str:
    """Runs one program; returns its calls, and how its process ended."""
    try:
        for _ in _run_in_one_process(number, 1, "show"):
            pass
    except Defect as shown:
        return str(shown)
    raise AssertionError

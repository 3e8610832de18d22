"""Starting th, or Torch7's th, on a copy of a repository, and measuring it."""

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.commands import run_python
from tests.helpers.places import ROOT

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*[A-Za-z_])")
_MOST_OUTPUT = 1 << 20
# A command may take so many times its limit where it waits: for a busy processor, for a file, for nothing.
_PATIENCE = 10
# Lines of stderr that accompany a problem, or none.
_NO_PROBLEM = ("stack traceback", "\t", "th: --cpu-as-cuda: the CPU stands in")


@dataclass(frozen=True)
class Outcome:
    """``problem``: the first line that says what went wrong; empty if nothing did.

    ``seconds``: by the clock on the wall; ``user_seconds``: of processor time.
    """

    exit_code: int
    stdout: str
    problem: str
    seconds: float
    memory_mb: float
    user_seconds: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether it ended by itself, not for want of time."""
        return self.exit_code != -signal.SIGKILL

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


def _first_problem(stderr: str, exit_code: int, seconds: float) -> str:
    if exit_code == 0:
        return ""
    if exit_code == -signal.SIGKILL:
        return f"stopped after {seconds:.0f} s of processor time"
    lines = [line for line in stderr.splitlines() if line.strip() and not line.startswith(_NO_PROBLEM)]
    said = [line for line in lines if re.search(r"\.lua:\d+:|^th: |[Ee]rror", line)]
    return ((said or lines or [f"exit code {exit_code}"])[-1 if not said else 0]).strip()[:300]


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    limit: float,
    stdin: str = "",
    started_as: Callable[[int], None] = lambda pid: None,
) -> Outcome:
    """Runs a command in a folder, at a low priority, and ends it after ``limit`` seconds of processor time.

    Time spent waiting for a busy processor does not count, so that the outcome does not depend on what else
    the machine does; what sleeps is ended, with its children, after ``_PATIENCE`` times as long.

    ``started_as`` is told the number of its process.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        started = time.monotonic()
        process = subprocess.Popen(
            ["nice", *command],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=given,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        seconds_of_processor = max(1, round(limit))
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds_of_processor, seconds_of_processor))
        late = threading.Timer(_PATIENCE * limit, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        peaks: list[float] = []
        threading.Thread(target=_watch_memory, args=(process.pid, peaks), daemon=True).start()
        started_as(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(_MOST_OUTPUT).decode("utf-8", "replace"))
    problem = _first_problem(texts[1], process.returncode, used.ru_utime + used.ru_stime)
    return Outcome(process.returncode, texts[0], problem, seconds, peaks[-1] if peaks else 0, used.ru_utime)


def _watch_memory(pid: int, peaks: list[float]) -> None:
    """Appends the peak of a program's memory in MB from time to time, until it ends.

    What wait4 returns is not less than the memory of the process that started it.
    """
    status = Path(f"/proc/{pid}/status")
    with contextlib.suppress(OSError):  # it has ended
        while peak := re.search(r"VmHWM:\s*(\d+)", status.read_text()):
            peaks.append(int(peak[1]) / 1024)
            time.sleep(0.05)


def run_forked(words: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float) -> Outcome:
    """Runs th from a process that has PyTorch in memory: what it starts in is not measured."""
    variables = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    started = time.monotonic()
    try:
        ended = run_python(
            "-m", "lua_compat", *words, cwd=folder, environment=variables, timeout=_PATIENCE * limit
        )
    except subprocess.TimeoutExpired:
        return Outcome(-signal.SIGKILL, "", f"stopped after {_PATIENCE * limit:.0f} s", _PATIENCE * limit, 0)
    seconds = time.monotonic() - started
    problem = _first_problem(ended.stderr, ended.returncode, seconds)
    return Outcome(ended.returncode, ended.stdout, problem, seconds, 0)


def th(words: Sequence[str], cuda: bool = False) -> list[str]:
    """Returns the command line of our th."""
    return [sys.executable, "-m", "lua_compat", *(["--cpu-as-cuda"] if cuda else []), *words]


def surroundings(rocks: Sequence[Path], extra: Sequence[tuple[str, str]] = ()) -> dict[str, str]:
    """Returns the variables under which a repository runs: Lua's path has the rocks, Python's our code."""
    places = [f"{rock.parent}/?.lua;{rock.parent}/?/init.lua" for rock in rocks]
    return {"LUA_PATH": ";".join([*dict.fromkeys(places), ";"]), "PYTHONPATH": str(ROOT), **dict(extra)}


def numbers(text: str, pattern: str) -> list[str]:
    """Returns the numbers, as printed, in what ``pattern`` finds in each line: in its groups, if any."""
    found: list[str] = []
    for line in text.splitlines():
        for match in re.finditer(pattern, line):
            pieces = match.groups() or (match[0],)
            found += [number for piece in pieces if piece for number in _NUMBER.findall(piece)]
    return found


def agree(ours: Sequence[str], theirs: Sequence[str], tolerance: float) -> bool:
    return len(ours) == len(theirs) and all(
        abs(float(a) - float(b)) <= tolerance * max(1.0, abs(float(b)))
        for a, b in zip(ours, theirs, strict=True)
    )

"""``th --sandbox``: an untrusted Lua script, in a process of its own with limits.

The process has Torch7 and a few packages loaded, and nothing that reaches files, other processes, Python or
memory; then it enters the layers of the operating system and the script runs. ``worker`` is the process, this
the outside.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

from lua_compat.runtime.script import checked_script
from lua_compat.sandbox.layers import missing
from lua_compat.sandbox.limits import Limits
from lua_compat.sandbox.result import STOPPED, Outcome, read_opening, read_outcome

__all__ = ["STOPPED", "LayersMissing", "Limits", "Outcome", "run"]

# Loading PyTorch and the packages, before the script's own time starts.
_START_SECONDS = 120.0
_CHUNK = 1 << 16

# The environment variables that the process gets: the locations of Python and PyTorch, and their numbers of
# threads. Tokens and passwords are not for untrusted code.
_ENVIRONMENT = {
    "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TMPDIR", "TZ", "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
}  # fmt: skip
_ENVIRONMENT_BEGINS = (
    "ASAN_",
    "COV_",
    "COVERAGE_",
    "GOMP_",
    "KMP_",
    "LC_",
    "MALLOC_",
    "MKL_",
    "OMP_",
    "OPENBLAS_",
)


class LayersMissing(Exception):
    """This machine lacks layers that hold a script even where native code runs."""


class _Stopped(Exception):
    """A limit was reached."""


def run(
    path: str | os.PathLike[str],
    args: Sequence[str] = (),
    limits: Limits | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
    *,
    weaker: bool = False,
) -> Outcome:
    """Runs a Lua script in a sandbox; what it prints goes to ``stdout`` and ``stderr`` (default: ours).

    ``weaker`` accepts that the machine lacks layers of the operating system; ``Outcome.layers`` has those
    that held. Raises LayersMissing where layers are lacking and that is not accepted, FileNotFoundError if
    there is no script, OSError where no process can be made.
    """
    limits = limits or Limits()
    script = checked_script(path, args)
    lacking = missing()
    if lacking and not weaker:
        raise LayersMissing("; ".join(f"no {layer} ({why})" for layer, why in lacking.items()))
    order_in, order_out = os.pipe()
    report_in, report_out = os.pipe()
    numbers = (order_in, report_out, os.getpid())
    command = [sys.executable, "-m", "lua_compat.sandbox.worker", *map(str, numbers)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(order_in, report_out),
        env=_environment(),
        start_new_session=True,  # so that Ctrl-C comes to us alone, and the whole group can be ended
    )
    os.close(order_in)
    os.close(report_out)
    try:
        order = {
            "script": script, "args": list(args), "limits": asdict(limits), "without": list(lacking)
        }  # fmt: skip
        with contextlib.suppress(BrokenPipeError), os.fdopen(order_out, "wb") as pipe:
            pipe.write(json.dumps(order).encode())
        with os.fdopen(report_in, "rb", buffering=0) as report:
            answer = bytearray()
            try:
                _watch(
                    process, report, limits, stdout or sys.stdout.buffer, stderr or sys.stderr.buffer, answer
                )
            except _Stopped as stop:
                return Outcome(STOPPED, f"stopped: {stop}", layers=read_opening(bytes(answer)))
        return read_outcome(bytes(answer), process.wait(), limits)
    finally:
        # before anything is waited for: also a process that has closed its pipes ends here
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _ENVIRONMENT or name.startswith(_ENVIRONMENT_BEGINS)
    }
    return {**kept, "PYTHONPATH": _import_path(), "PYTHONDONTWRITEBYTECODE": "1"}


def _import_path() -> str:
    """Returns where the worker finds this package, whatever the working folder."""
    here = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))


class _Clock:
    """Kills the process when its time is up, even while whoever reads what it prints keeps us waiting."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._timer: threading.Timer | None = None
        self.ran_out = False

    def start(self, seconds: float) -> None:
        self.stop()
        self._timer = threading.Timer(min(max(seconds, 0.0), threading.TIMEOUT_MAX), self._end)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self.ran_out = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _watch(
    process: "subprocess.Popen[bytes]",
    report: IO[bytes],
    limits: Limits,
    out: IO[bytes],
    err: IO[bytes],
    answer: bytearray,
) -> None:
    """Passes on what the process prints until it ends, and collects its report in ``answer``. Raises
    _Stopped."""
    assert process.stdout is not None and process.stderr is not None
    allowed = limits.output_mb << 20
    clock = _Clock(process)
    clock.start(_START_SECONDS)
    try:
        with selectors.DefaultSelector() as selector:
            for stream, target in ((process.stdout, out), (process.stderr, err), (report, None)):
                selector.register(stream, selectors.EVENT_READ, target)
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fileobj)
                        continue
                    allowed -= len(data)
                    if allowed < 0:
                        raise _Stopped(f"the script printed or returned more than {limits.output_mb} MB")
                    if key.data is not None:
                        key.data.write(data)
                        key.data.flush()
                        continue
                    if not answer:  # the opening line says that the script begins
                        clock.start(limits.seconds)
                    answer += data
        # It has closed its pipes, and ends now or when its time is up. It is not reaped yet: the clock must
        # not kill another process of its number.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    finally:
        clock.stop()
    if clock.ran_out:
        raise _Stopped(f"the script took longer than {limits.seconds:g} s" if answer else "it did not start")

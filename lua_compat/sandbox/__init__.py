"""``th --sandbox``: an untrusted Lua script, in a process of its own with limits.

The process has Torch7 and a few packages loaded, and nothing that reaches files, other processes, Python or
memory; then its limits are set and the script runs. ``sandbox_worker`` is the process, this the outside.
"""

import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

STOPPED = 4  # exit code where a limit ended the script

# Loading PyTorch and the packages, before the script's own time starts.
_START_SECONDS = 120.0
_CHUNK = 1 << 16
_LONGEST_HEADER = 1 << 20  # bytes of the report before the values
_MOST_VALUES = 1 << 14  # a function of LuaJIT returns fewer

# What the process gets of our environment: where Python and PyTorch lie and how many threads they use. Tokens
# and passwords are not for untrusted code.
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


@dataclass(frozen=True)
class Limits:
    """The limits of a script: memory beyond the packages', elapsed time, what it prints and returns."""

    memory_mb: int = 1024
    seconds: float = 60.0
    output_mb: int = 64


@dataclass(frozen=True)
class Outcome:
    """The end of a script.

    ``exit_code``: the script's, 1 after an error it did not catch, STOPPED where a limit ended it.
    ``message``: the error or the limit, empty otherwise. ``values``: what the script returned, as
    ``lua_compat.t7`` reads it (numbers, strings, LuaTable, Tensor, ...); None where it returned nothing.
    """

    exit_code: int
    message: str = ""
    values: tuple[Any, ...] = ()


class _Stopped(Exception):
    """A limit was reached."""


def run(
    path: str | os.PathLike[str],
    args: Sequence[str] = (),
    limits: Limits | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
) -> Outcome:
    """Runs a Lua script in a sandbox; what it prints goes to ``stdout`` and ``stderr`` (default: ours).

    Raises FileNotFoundError if there is no script, OSError where no process can be made.
    """
    limits = limits or Limits()
    script = Path(path)
    if not script.is_file():
        raise FileNotFoundError(f"no Lua script {str(path)!r}")
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
        order = {"script": str(script), "args": list(args), "limits": asdict(limits)}
        with contextlib.suppress(BrokenPipeError), os.fdopen(order_out, "wb") as pipe:
            pipe.write(json.dumps(order).encode())
        with os.fdopen(report_in, "rb", buffering=0) as report:
            try:
                answer = _watch(
                    process, report, limits, stdout or sys.stdout.buffer, stderr or sys.stderr.buffer
                )
            except _Stopped as stop:
                return Outcome(STOPPED, f"stopped: {stop}")
        return _outcome(answer, process.wait(), limits)
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
    process: "subprocess.Popen[bytes]", report: IO[bytes], limits: Limits, out: IO[bytes], err: IO[bytes]
) -> bytes:
    """Passes on what the process prints until it ends; its report. Raises _Stopped."""
    assert process.stdout is not None and process.stderr is not None
    answer = bytearray()
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
                    if not answer:  # the first byte says that the script begins
                        clock.start(limits.seconds)
                    answer += data
        # It has closed its pipes, and ends now or when its time is up. It is not reaped yet: the clock must
        # not kill another process of its number.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    finally:
        clock.stop()
    if clock.ran_out:
        raise _Stopped(f"the script took longer than {limits.seconds:g} s" if answer else "it did not start")
    return bytes(answer)


def _outcome(answer: bytes, status: int, limits: Limits) -> Outcome:
    """From the worker's report: a byte at the script's start, a line of JSON at its end, the values.

    Whatever a worker sends that a script has taken over, this is an Outcome.
    """
    header, newline, rest = answer[1:].partition(b"\n")
    if not newline:
        if status < 0:
            return Outcome(
                STOPPED, f"stopped: the process died ({_signal_name(-status)}), perhaps for want of memory"
            )
        return Outcome(STOPPED, f"stopped: the process ended with exit code {status} and no result")
    try:
        exit_code, message, out_of_memory = _read_header(header)
        if out_of_memory:
            return Outcome(STOPPED, f"stopped: the script needed more than {limits.memory_mb} MB of memory")
        return Outcome(exit_code, message, _values(rest))
    except (
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        RecursionError,
        MemoryError,
        EOFError,
    ) as error:
        told = str(error).partition("\n")[0][:200] or type(error).__name__
        return Outcome(STOPPED, f"stopped: the result of the script cannot be read ({told})")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read_header(line: bytes) -> tuple[int, str, bool]:
    if len(line) > _LONGEST_HEADER:
        raise ValueError("its first line is too long")
    ended = json.loads(line)
    if not isinstance(ended, dict):
        raise ValueError("its first line is not the process's")
    code, message, out_of_memory = (ended.get(name) for name in ("exit_code", "message", "out_of_memory"))
    if (
        type(code) is not int
        or abs(code) > 1 << 31
        or type(message) is not str
        or type(out_of_memory) is not bool
    ):
        raise ValueError("its first line is not the process's")
    return code, message.encode("utf-8", "replace").decode(), out_of_memory  # it may hold half characters


def _values(data: bytes) -> tuple[Any, ...]:
    if not data:
        return ()
    from lua_compat import t7  # loads numpy

    table = t7.load(BytesIO(data))
    count = table.get("n") if isinstance(table, t7.LuaTable) else None
    if (
        not isinstance(count, int | float)
        or not math.isfinite(count)
        or count % 1
        or not 0 <= count <= _MOST_VALUES
    ):
        raise ValueError("it does not say how many values there are")
    return tuple(table.get(place) for place in range(1, int(count) + 1))

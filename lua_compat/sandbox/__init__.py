"""``th --sandbox``: an untrusted Lua script, in a process of its own with limits.

The process has Torch7 and a few packages loaded, and nothing that reaches files, other processes, Python or
memory; then its limits are set and the script runs. ``sandbox_worker`` is the process, this the outside.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

STOPPED = 4  # exit code where a limit ended the script

# Loading PyTorch and the packages, before the script's own time starts.
_START_SECONDS = 120.0
_CHUNK = 1 << 16


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
    command = [sys.executable, "-m", "lua_compat.sandbox.worker", str(order_in), str(report_out)]
    environment = {**os.environ, "PYTHONPATH": _import_path(), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(order_in, report_out),
        env=environment,
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
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _import_path() -> str:
    """Returns where the worker finds this package, whatever the working folder."""
    here = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))


def _watch(
    process: "subprocess.Popen[bytes]", report: IO[bytes], limits: Limits, out: IO[bytes], err: IO[bytes]
) -> bytes:
    """Passes on what the process prints until it ends; returns its report. Raises _Stopped."""
    assert process.stdout is not None and process.stderr is not None
    answer = bytearray()
    allowed = limits.output_mb << 20
    deadline, started = time.monotonic() + _START_SECONDS, False
    with selectors.DefaultSelector() as selector:
        for stream, target in ((process.stdout, out), (process.stderr, err), (report, None)):
            selector.register(stream, selectors.EVENT_READ, target)
        while selector.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise _Stopped(
                    f"the script took longer than {limits.seconds:g} s" if started else "it did not start"
                )
            for key, _ in selector.select(remaining):
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
                answer += data
                if not started:  # the first byte says that the script begins
                    started, deadline = True, time.monotonic() + limits.seconds
    return bytes(answer)


def _outcome(answer: bytes, status: int, limits: Limits) -> Outcome:
    """Reads the worker's report: a byte at the script's start, a line of JSON at its end, the values."""
    _, newline, rest = answer[1:].partition(b"\n") if answer else (b"", b"", b"")
    if not newline:
        if status < 0:
            name = signal.Signals(-status).name
            return Outcome(STOPPED, f"stopped: the process died ({name}), perhaps for want of memory")
        return Outcome(STOPPED, f"stopped: the process ended with exit code {status} and no result")
    ended = json.loads(answer[1:].partition(b"\n")[0])
    if ended["out_of_memory"]:
        return Outcome(STOPPED, f"stopped: the script needed more than {limits.memory_mb} MB of memory")
    return Outcome(ended["exit_code"], ended["message"], _values(rest))


def _values(data: bytes) -> tuple[Any, ...]:
    if not data:
        return ()
    from lua_compat import t7  # loads numpy

    table = t7.load(BytesIO(data))
    return tuple(table.get(place) for place in range(1, int(table["n"]) + 1))

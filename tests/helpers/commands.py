"""Starting commands as a person types them, to their end (run_python, run_th) or watched (started_...)."""

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, TextIO

from lua_compat import run
from tests.helpers.places import ROOT

NOTHING: Mapping[str, str] = MappingProxyType({})
Finished = subprocess.CompletedProcess[str]

# Variables that are read when Python or PyTorch starts: a program that is given one needs a start of its own.
_READ_AT_START = ("PYTHON", "OMP_", "MKL_", "KMP_", "LC_", "LANG", "LD_", "TORCH", "ATEN_")


def run_python(
    *arguments: object,
    cwd: Path = ROOT,
    stdin: str | bytes = "",
    timeout: float = 600,
    fresh: bool = False,
    environment: Mapping[str, str] = NOTHING,
) -> Finished:
    """Runs ``python ARGUMENTS...`` to its end and returns its exit code, stdout and stderr.

    Scripts and ``-m MODULE`` start in a fork of a process that has PyTorch in memory. With ``fresh``, and
    where it makes a difference (``-c``, ``-X``, variables that are read at the start), Python itself starts.
    """
    with started_python(*arguments, cwd=cwd, stdin=stdin, fresh=fresh, environment=environment) as program:
        return program.finish(timeout)


def run_th(
    *words: object,
    cwd: Path = ROOT,
    stdin: str | bytes = "",
    fresh: bool = False,
    environment: Mapping[str, str] = NOTHING,
) -> Finished:
    """Runs ``th WORDS...`` to its end: see ``run_python``."""
    return run_python("-m", "lua_compat", *words, cwd=cwd, stdin=stdin, fresh=fresh, environment=environment)


# Lua that defines resident_mb(), the memory of its process (on Linux).
RESIDENT = """
local function resident_mb()
    for line in io.lines('/proc/self/status') do
        local kb = line:match('^VmRSS:%s+(%d+)')
        if kb then return tonumber(kb) / 1024 end
    end
end
"""


def run_lua(folder: Path, code: str, *arguments: str) -> None:
    """Runs Lua that asserts what it expects, from a script in ``folder``, within this process."""
    script = folder / "script.lua"
    script.write_text(code)
    assert run(script, arguments) == 0


@dataclass
class Program:
    """A program that runs: its stdout can be read while it does. Leaving its context ends it."""

    arguments: list[str]
    pid: int
    stdout: TextIO
    _stderr: IO[bytes]
    _wait: Callable[[], int]
    _ended: bool = False

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def finish(self, timeout: float = 60) -> Finished:
        """Waits for its end; the rest of stdout and all of stderr. Raises TimeoutExpired after killing it."""
        late = threading.Event()

        def kill() -> None:
            late.set()
            os.kill(self.pid, signal.SIGKILL)

        timer = threading.Timer(timeout, kill)
        timer.start()
        try:
            stdout = self.stdout.read()
            self._ended = True
            code = self._wait()
        finally:
            timer.cancel()
            timer.join()
        self._stderr.seek(0)
        stderr = self._stderr.read().decode()
        if late.is_set():
            raise subprocess.TimeoutExpired(self.arguments, timeout, stdout, stderr)
        return subprocess.CompletedProcess(self.arguments, code, stdout, stderr)

    def __enter__(self) -> "Program":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)
            self._wait()
        self.stdout.close()
        self._stderr.close()


def started_python(
    *arguments: object,
    cwd: Path = ROOT,
    stdin: str | bytes = "",
    fresh: bool = False,
    own_session: bool = False,
    environment: Mapping[str, str] = NOTHING,
) -> Program:
    """Starts ``python ARGUMENTS...``, which Ctrl-C (SIGINT) interrupts even where these tests ignore it.

    With ``own_session`` its process group is its own, so that a signal for the whole group misses the tests.
    """
    words = [str(argument) for argument in arguments]
    paths = [environment.get("PYTHONPATH", os.environ.get("PYTHONPATH", "")), str(ROOT)]
    fresh = fresh or own_session or not (words[0] == "-m" or words[0].endswith(".py"))
    fresh = fresh or any(name.startswith(_READ_AT_START) for name in environment if name != "PYTHONPATH")
    environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    read, write = os.pipe()
    stderr = _unnamed_file()
    with _unnamed_file() as given, os.fdopen(write, "wb") as stdout:
        given.write(stdin.encode() if isinstance(stdin, str) else stdin)
        given.seek(0)
        if fresh:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=cwd,
                env=environment,
                stdin=given,
                stdout=stdout,
                stderr=stderr,
                start_new_session=own_session,
                preexec_fn=default_ctrl_c,
            )
            pid, wait = process.pid, lambda: process.wait()
        else:
            pid, wait = _fork_server().start(words, cwd, environment, (given, stdout, stderr))
    return Program(words, pid, os.fdopen(read, encoding="utf-8"), stderr, wait)


def started_th(*words: object, cwd: Path = ROOT) -> Program:
    """Starts ``th WORDS...``: see ``started_python``."""
    return started_python("-m", "lua_compat", *words, cwd=cwd)


def default_ctrl_c() -> None:
    """Lets SIGINT end the program that this process becomes; tests in the background may ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _unnamed_file() -> IO[bytes]:
    return os.fdopen(os.memfd_create("stream"), "w+b")


class _ForkServer:
    """tests/helpers/fork_server.py as a process of these tests."""

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("fork_server.py")), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def start(
        self, words: list[str], cwd: Path, environment: dict[str, str], streams: tuple[IO[bytes], ...]
    ) -> tuple[int, Callable[[], int]]:
        """Starts a program; returns its process id and what waits for its exit code."""
        if self._process.poll() is not None:  # somebody killed it: one test fails, not all that follow
            self.close()
            self._open()
        request = {"arguments": words, "folder": str(cwd), "environment": environment}
        read, write = os.pipe()
        reply = os.fdopen(read, encoding="ascii")
        with os.fdopen(write, "wb") as theirs:
            descriptors = [stream.fileno() for stream in (*streams, theirs)]
            socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)

        def number() -> int:
            line = reply.readline()
            if not line:
                reply.close()
                raise RuntimeError("tests/helpers/fork_server.py was killed")
            return int(line)

        def wait() -> int:
            code = number()
            reply.close()
            return code

        return number(), wait

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


@functools.cache
def _fork_server() -> _ForkServer:
    server = _ForkServer()
    atexit.register(server.close)
    return server

"""Starts Python programs in forks of one process that has PyTorch in memory: in 0.2 s instead of 2 s.

    python fork_server.py DESCRIPTOR

DESCRIPTOR is one end of a Unix socket. Each message on it is JSON with "arguments" (those of python: a script
or -m MODULE, then the program's), "folder" and "environment", and carries four descriptors: the program's
stdin, stdout and stderr, and one on which its process id and later its exit code (negative: the signal that
ended it) are written, each in a line. Programs run side by side. This file imports nothing of the project:
each program loads the project's modules itself, under its own settings. It ends when the socket is closed.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from typing import Any

# What takes long to import and does not depend on how a program is started.
_PRELOADED = (
    "numpy",
    "lupa",
    "torch",
    "torch.export",
    "torch._dynamo",
    "torch.fx.experimental.symbolic_shapes",
)
_LARGEST_MESSAGE = 1 << 20


def main() -> None:
    """Serves until the socket is closed; in a fork, becomes the program."""
    server = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal ends the tests, and those this
    for name in _PRELOADED:
        importlib.import_module(name)
    gc.freeze()  # so that collections in forks leave the shared pages alone
    while True:
        message, descriptors, _, _ = socket.recv_fds(server, _LARGEST_MESSAGE, 4)
        _reap()
        if not message:
            return
        if os.fork() == 0:
            server.close()
            _keep(json.loads(message), *descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _reap() -> None:
    """Forgets the keepers that have ended; their time counts as this process's, and so as the tests'."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _keep(request: dict[str, Any], stdin: int, stdout: int, stderr: int, reply: int) -> None:
    """Runs the program in a fork of this fork, which waits for it: the program returns from here."""
    program = os.fork()
    if program == 0:
        os.close(reply)
        _become(request, stdin, stdout, stderr)
        return
    os.write(reply, b"%d\n" % program)
    for descriptor in (0, 1, 2, stdin, stdout, stderr):
        os.close(descriptor)  # whoever reads the program's output waits for its end only
    _, status = os.waitpid(program, 0)
    os.write(reply, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(request: dict[str, Any], stdin: int, stdout: int, stderr: int) -> None:
    """What the operating system and Python do at the start of a program, then the program itself."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate((stdin, stdout, stderr)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, errors=sys.stdin.errors, closefd=False)
    sys.stdout = os.fdopen(1, "w", errors=sys.stdout.errors, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors=sys.stderr.errors, closefd=False)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    arguments = request["arguments"]
    is_module = arguments[0] == "-m"
    sys.path[0] = os.getcwd() if is_module else os.path.dirname(os.path.abspath(arguments[0]))
    sys.path[1:1] = given
    if is_module:
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()

"""Starts a helper process, with a socket to it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[2])
# Our own modules, whatever is in the working folder.
_START = "import sys; sys.path[0] = {root!r}; from {module} import {function}; {function}(*sys.argv[1:])"
# A broken pipe may end the script's process, but not this one.
QUIETLY = getattr(socket, "MSG_NOSIGNAL", 0)


def start_helper(module: str, function: str, *words: str) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    """Starts ``function(*words)`` in a new process, and returns that and the socket that is its stdin.

    Raises OSError if no process can be made.
    """
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [sys.executable, "-c", _START.format(root=_ROOT, module=module, function=function), *words],
            stdin=its.fileno(),
            stdout=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # threads that would have nothing to do
            start_new_session=True,  # so that Ctrl-C, and what ends this session, come to us alone
        )
    return process, ours

"""Starts Python programs in forks of one process that has PyTorch in memory: in 0.1 s instead of 2 s.

    python fork_server.py DESCRIPTOR

DESCRIPTOR is one end of a Unix socket. Each message on it is JSON with "arguments" (those of python: a script
or -m MODULE, then the program's), "folder" and "environment", and carries four descriptors: the program's
stdin, stdout and stderr, and one on which its process id and later its exit code (negative: the signal that
ended it) are written, each in a line. Programs run side by side. This file imports nothing of the project:
each program loads the project's modules itself, under its own settings. It ends when the socket is closed.

The end of a program takes down what is its own; what it shares with this process is left as it is.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import weakref
from types import ModuleType
from typing import Any

# What takes long to import and does not depend on how a program is started. With torch._dynamo comes Triton,
# whose bindings list on stderr what outlives a program: where it is installed, each program imports it for
# itself.
_PRELOADED = (
    "numpy",
    "lupa",
    "torch",
    "torch.export",
    "torch.fx.experimental.symbolic_shapes",
    *(() if importlib.util.find_spec("triton") else ("torch._dynamo",)),
)
# What Python's end treats on its own.
_PYTHONS_OWN = ("__main__", "builtins", "sys")
_LARGEST_MESSAGE = 1 << 20


def main() -> None:
    """Serves until the socket is closed; in a fork, becomes the program."""
    server = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal ends the tests, and those this
    _preload()
    if sys.dont_write_bytecode and "XDG_CACHE_HOME" in os.environ:
        # The checkout stays clean, and yet not every program compiles the project's modules again.
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.path.join(os.environ["XDG_CACHE_HOME"], "bytecode")
    gc.freeze()  # so that collections in forks leave the shared pages alone
    waiting = selectors.DefaultSelector()
    waiting.register(server, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is not server:
                waiting.unregister(key.fileobj)
                _report(*key.data)
                continue
            message, descriptors, _, _ = socket.recv_fds(server, _LARGEST_MESSAGE, 4)
            if not message:
                return
            *streams, reply = descriptors
            program = os.fork()
            if program == 0:
                os.close(reply)
                _close_all(waiting)
                _become(json.loads(message), *streams)
                return
            for descriptor in streams:
                os.close(descriptor)
            os.write(reply, b"%d\n" % program)
            end = os.pidfd_open(program)
            waiting.register(end, selectors.EVENT_READ, (program, end, reply))


def _preload() -> None:
    """Imports what programs share, and lets it outlive them: to take it down copies the pages it is in, which
    takes more time than most programs."""
    shared: dict[str, ModuleType] = {}
    atexit.register(_forget, shared)  # before those of the modules: the first registered is the last to run
    for name in _PRELOADED:
        importlib.import_module(name)
    shared.update((name, module) for name, module in sys.modules.items() if name not in _PYTHONS_OWN)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(shared))
    for finalizer in weakref.finalize._registry:  # type: ignore[attr-defined]
        finalizer.atexit = False
    libc = ctypes.CDLL(None)
    # The last registered is the first to run: C flushes its files, and what libraries have to do is left out.
    libc.on_exit(libc._exit, None)
    libc.on_exit(libc.fcloseall, None)


def _forget(shared: dict[str, ModuleType]) -> None:
    """Python empties the modules that it finds in sys.modules at its end."""
    for name, module in shared.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]


def _close_all(waiting: selectors.BaseSelector) -> None:
    """Closes what a fork has of this process's connections."""
    for key in list(waiting.get_map().values()):
        if key.data is None:
            key.fileobj.close()
        else:
            _, end, reply = key.data
            os.close(end)
            os.close(reply)
    waiting.close()


def _report(program: int, end: int, reply: int) -> None:
    """Writes the exit code of a program that has ended."""
    _, status = os.waitpid(program, 0)
    with contextlib.suppress(BrokenPipeError):  # nobody waits for it any longer
        os.write(reply, b"%d\n" % os.waitstatus_to_exitcode(status))
    os.close(end)
    os.close(reply)


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

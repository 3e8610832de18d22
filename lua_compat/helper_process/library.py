"""Calls functions in a separate process, so that a library that crashes on a damaged file does not crash the
script.

``Library`` is the script's side, ``answer`` the process's. Values are numbers, booleans, None and Lua's
strings, which contain bytes.
"""

import contextlib
import os
import signal
import socket
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from lua_compat.helper_process.messages import packed, read_message
from lua_compat.helper_process.process import QUIETLY, start_helper

Functions = Mapping[str, Callable[..., Any]]

_ERRORS = {kind.__name__: kind for kind in (ValueError, TypeError, AttributeError, MemoryError)}


class Ended(Exception):
    """The process has ended in the middle of a call; the text says how."""


class Library:
    """The functions in a module's FUNCTIONS, called in another process.

    The process starts with the first call, and again with the first one after it has ended. ``forks``: each
    call runs in a fork of it, so that it does not meet memory damaged by an earlier call.
    """

    def __init__(self, module: str, forks: bool = False) -> None:
        self._module, self._forks = module, forks
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def call(self, name: str, *values: Any) -> Any:
        """Returns what a function returns; raises what it raises, or Ended."""
        with self._lock:
            self._running = self._running or _Running(self._module, self._forks)
            try:
                received = self._running.ask(name, values)
            except BaseException:  # Ctrl-C: what comes would be the answer to the next call
                os.killpg(self._running.process.pid, signal.SIGKILL)  # the session is its own
                self._end()
                raise
            if received is None:
                raise Ended(self._end())
        message, parts = received
        if "ended" in message:
            raise Ended(message["ended"])
        if "error" in message:
            raise _error(*message["error"])
        values = _unpacked(message["values"], parts)
        return values if message["many"] else values[0]

    def close(self) -> None:
        """Ends the process, where it runs."""
        with self._lock:
            self._end()

    def _end(self) -> str:
        """Returns how the process has ended."""
        running, self._running = self._running, None
        return running.finish() or "" if running else ""


class _Running:
    """The process, its socket, and the stream of its answers."""

    def __init__(self, module: str, forks: bool) -> None:
        words = [module, *(["forks"] if forks else [])]
        self.process, self._socket = start_helper(__name__, answer.__name__, *words)
        self._answers = self._socket.makefile("rb")
        # also where nobody calls it: at the end of Python
        self.finish = weakref.finalize(self, _finish, self.process, self._socket, self._answers)

    def ask(self, name: str, values: Sequence[Any]) -> tuple[dict[str, Any], list[bytes]] | None:
        """Returns the answer, None if the process has ended."""
        with contextlib.suppress(OSError):
            self._socket.sendall(_packed({"call": name}, values), QUIETLY)
        return read_message(self._answers)


def _finish(process: Any, its_socket: socket.socket, answers: Any) -> str:
    """Waits for the end of a process, which its socket tells it of; returns how it ended."""
    answers.close()
    its_socket.close()
    return _how(process.wait())


def _how(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _packed(message: dict[str, Any], values: Sequence[Any]) -> bytes:
    """Returns a message with values: strings are parts, which JSON would make longer."""
    shown = ["" if isinstance(value, str) else value for value in values]
    parts = [value.encode("latin-1") for value in values if isinstance(value, str)]
    return packed({**message, "values": shown}, parts)


def _unpacked(shown: list[Any], parts: list[bytes]) -> tuple[Any, ...]:
    texts = iter(parts)
    return tuple(next(texts).decode("latin-1") if value == "" else value for value in shown)


def _error(kind: str, text: str, number: int | None, file: str | None) -> Exception:
    if number is not None:
        return OSError(number, text, file)
    return _ERRORS.get(kind, ValueError)(text)


def _described(error: Exception) -> list[Any]:
    if isinstance(error, OSError) and error.strerror:
        return [type(error).__name__, error.strerror, error.errno, error.filename]
    return [type(error).__name__, str(error), None, None]


def answer(module: str, forks: str = "") -> None:
    """Calls the functions of a module as a socket, which is stdin, asks for them, until that ends."""
    script = socket.socket(fileno=os.dup(0))
    warnings.simplefilter("ignore")  # of what is in a file: an error, or nothing that a script is told of
    functions = import_module(module).FUNCTIONS
    one = _answer_in_fork if forks else _answer_one
    with contextlib.suppress(OSError), script, script.makefile("rb") as stream:
        while received := read_message(stream):
            one(functions, *received, script)


def _answer_one(functions: Functions, message: dict[str, Any], parts: list[bytes], to: socket.socket) -> None:
    try:
        result = functions[message["call"]](*_unpacked(message["values"], parts))
        many = isinstance(result, tuple)
        answered = _packed({"many": many}, result if many else [result])
    except Exception as error:
        answered = _packed({"error": _described(error)}, [])
    to.sendall(answered)


def _answer_in_fork(
    functions: Functions, message: dict[str, Any], parts: list[bytes], to: socket.socket
) -> None:
    child = os.fork()
    if child == 0:
        try:
            _answer_one(functions, message, parts, to)
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 0:
        to.sendall(_packed({"ended": _how(code)}, []))

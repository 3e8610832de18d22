"""Reads what the script's process sends back: an Outcome, even if the script has taken over the process."""

import json
import math
import signal
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

from lua_compat.sandbox.limits import Limits

STOPPED = 4  # exit code where a limit ended the script

_LONGEST_HEADER = 1 << 20  # bytes of the report before the values
_MOST_VALUES = 1 << 14  # a function of LuaJIT returns fewer

# What reading bytes can raise that nobody has written in good faith.
_UNREADABLE = (
    ValueError, ArithmeticError, LookupError, TypeError, RecursionError, MemoryError, EOFError,
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The end of a script.

    ``exit_code``: the script's, 1 after an error it did not catch, STOPPED where a limit ended it.
    ``message``: the error or the limit, empty otherwise. ``values``: what the script returned, as
    ``lua_compat.t7`` reads it (numbers, strings, LuaTable, Tensor, ...); None if it returned nothing.
    ``layers``: what held the script (``lua_compat.sandbox.layers``); none where it did not begin.
    """

    exit_code: int
    message: str = ""
    values: tuple[Any, ...] = ()
    layers: tuple[str, ...] = ()


def read_opening(report: bytes) -> tuple[str, ...]:
    """Reads the line that the process sends before the script begins: the layers that hold it."""
    line, newline, _ = report.partition(b"\n")
    try:
        return tuple(map(str, json.loads(line)["layers"])) if newline else ()
    except _UNREADABLE:
        return ()


def read_outcome(report: bytes, status: int, limits: Limits) -> Outcome:
    """Reads the process's report: the opening line, a line of JSON at the script's end, the values.

    ``status``: how the process ended, as subprocess has it.
    """
    _, _, ended = report.partition(b"\n")
    header, newline, values = ended.partition(b"\n")
    outcome = _ended(header if newline else None, values, status, limits)
    return replace(outcome, layers=read_opening(report))


def _ended(header: bytes | None, values: bytes, status: int, limits: Limits) -> Outcome:
    if header is None:
        if status < 0:
            return Outcome(
                STOPPED, f"stopped: the process died ({_signal_name(-status)}), perhaps for want of memory"
            )
        return Outcome(STOPPED, f"stopped: the process ended with exit code {status} and no result")
    try:
        exit_code, message, out_of_memory = _read_header(header)
        if out_of_memory:
            return Outcome(STOPPED, f"stopped: the script needed more than {limits.memory_mb} MB of memory")
        return Outcome(exit_code, message, _values(values))
    except _UNREADABLE as error:
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

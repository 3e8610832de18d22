"""A process that runs some programs: ``python -m tests.fuzz.programs.worker FIRST COUNT MEGABYTES``.

Torch7 is made ready once; each batch of programs is then run by a copy of the process (fork), so that every
batch begins with the same memory, and one that ends its process is found again. A line of JSON goes to stdout
after each batch: how many programs, calls and errors it had, and the programs that were given up for taking
too long or too much memory. If a program ends its process, what it called goes to stderr, and the exit code
is 1. With ``show`` as fourth argument each call is written to stderr before it is made.
"""

import gc
import io
import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from lua_compat import t7
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime
from lua_compat.sandbox.worker import PACKAGES, load_numpy_without_threads, warm_up

_SOURCE = Path(__file__).with_name("programs.lua")

_BATCH = 1000
_STEP = 25  # programs between two notes of how far a batch has come
_SECONDS = 1.5  # of processor time for a step, or a program on its own; most take a thousandth
_NO_MEMORY = 3  # an exit code
_GIVEN_UP = (-signal.SIGPROF, _NO_MEMORY)

# What a sandboxed script may use of torch, tensors and storages, but for what changes later programs.
_NAMES = """
local allowed, names = require 'th.allowed', {}
local unwanted = { setdefaulttensortype = true, class = true, newmetatable = true, metatype = true,
   setenv = true, getenv = true, setmetatable = true, setnumthreads = true, setheaptracking = true,
   updateerrorhandlers = true }
for _, kind in ipairs{ 'torch', 'tensor', 'storage' } do
   for name in pairs(allowed[kind]) do
      if not unwanted[name] then names[#names + 1] = name end
   end
end
table.sort(names)
return table.concat(names, ' ')
"""


class Programs:
    """A state that is ready for programs. ``megabytes``: how much memory they may have."""

    def __init__(self, megabytes: int) -> None:
        load_numpy_without_threads()
        import torch

        torch.set_num_threads(1)
        self._state = Runtime("program.lua", sandboxed=True, same_order=True)
        self._state.run_string("require('torch.core.blocks').use_none()")
        names = self._values(_NAMES)[1]
        source = f"local NAMES = '{names}' " + _SOURCE.read_text(encoding="utf-8")
        self._state.lock_down(PACKAGES, {"programs": source})
        warm_up()
        self._state.run_string("require 'programs' collectgarbage() collectgarbage()")
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        bound = pages * resource.getpagesize() + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))

    def _values(self, code: str) -> t7.LuaTable:
        """Runs Lua; returns what it returned."""
        values = t7.load(io.BytesIO(self._state.run_for_result(code, "=programs")[1] or b""))
        assert isinstance(values, t7.LuaTable)
        return values

    def run(self, first: int, count: int) -> tuple[int, int]:
        """Runs programs; returns how many calls they made and how many of those raised."""
        made = self._values(f"return run({first}, {count})")
        return int(made[1]), int(made[2])

    def show(self, first: int, count: int) -> None:
        """Runs programs, and writes each call to stderr before it is made."""
        self._state.run_string(f"show({first}, {count})")


class _Ended(Exception):
    """A copy of the process ended, with this status of ``os.waitpid``, at the programs from ``at`` on."""

    def __init__(self, at: int, calls: int, raised: int, status: int) -> None:
        super().__init__(at)
        self.at, self.calls, self.raised, self.code = at, calls, raised, os.waitstatus_to_exitcode(status)


def _in_a_copy(programs: Programs, first: int, count: int) -> tuple[int, int]:
    """Runs programs in a copy of this process; raises _Ended where it does not come to its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        calls = raised = 0
        for at in range(first, first + count, _STEP):
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)  # its signal ends the process
            made = _run(programs, at, min(_STEP, first + count - at))
            calls, raised = calls + made[0], raised + made[1]
            os.write(writing, f"{at + _STEP} {calls} {raised}\n".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = pipe.read().splitlines()
    status = os.waitpid(child, 0)[1]
    at, calls, raised = map(int, lines[-1].split()) if lines else (first, 0, 0)
    if status:
        raise _Ended(at, calls, raised, status)
    return calls, raised


def _run(programs: Programs, first: int, count: int) -> tuple[int, int]:
    """Runs programs in this process; ends it where memory runs out beside what a program calls."""
    try:
        return programs.run(first, count)
    except (MemoryError, LuaError) as error:
        if isinstance(error, MemoryError) or "memory" in str(error):
            os._exit(_NO_MEMORY)
        raise


def _show_the_end(programs: Programs, first: int, last: int, code: int) -> None:
    """Runs programs that end their process once more, and shows those that may be it."""
    said = f"programs {first} to {last} ended their process with {code}"
    alone = [(at, 1) for at in range(max(first, last - _STEP + 1), last + 1)]
    for begin, count in (*alone, (first, last - first + 1)):
        child = os.fork()
        if child == 0:
            signal.setitimer(signal.ITIMER_PROF, _SECONDS * count)
            programs.show(begin, count)
            os._exit(0)
        again = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if again not in (0, *_GIVEN_UP):
            print(f"{said}; from {begin} on, as shown: {again}", file=sys.stderr)
            return
    print(f"{said}, but not again", file=sys.stderr)


def _batches(programs: Programs, first: int, count: int) -> Iterator[dict[str, object]]:
    """Runs programs; yields what there is to say of each batch. Raises _Ended if one ends its process."""
    for start in range(first, first + count, _BATCH):
        end = min(start + _BATCH, first + count)
        calls = raised = 0
        slow: list[int] = []
        at = start
        while at < end:
            try:
                made = _in_a_copy(programs, at, end - at)
                calls, raised, at = calls + made[0], raised + made[1], end
            except _Ended as ended:
                if ended.code not in _GIVEN_UP:
                    raise
                calls, raised, at = calls + ended.calls, raised + ended.raised, ended.at
                for number in range(at, min(at + _STEP, end)):
                    made = _alone(programs, number) or (0, 0)
                    calls, raised = calls + made[0], raised + made[1]
                    slow += [] if made[0] else [number]
                at = min(at + _STEP, end)
        yield {"programs": end - start, "calls": calls, "raised": raised, "slow": slow}


def _alone(programs: Programs, number: int) -> tuple[int, int] | None:
    """Runs one program; None for one that takes too long, or too much memory."""
    try:
        return _in_a_copy(programs, number, 1)
    except _Ended as ended:
        if ended.code not in _GIVEN_UP:
            raise
        return None


def _quiet() -> int:
    """Drops what modules print from now on; returns the descriptor of what was stdout."""
    kept = os.dup(1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
    return kept


def main() -> int:
    first, count, megabytes = map(int, sys.argv[1:4])
    out = _quiet()
    programs = Programs(megabytes)
    if sys.argv[4:] == ["show"]:
        programs.show(first, count)
        return 0
    gc.freeze()  # what is there stays: looking through it is slow, and copies memory
    start = first
    try:
        for said in _batches(programs, first, count):
            os.write(out, json.dumps(said).encode() + b"\n")
            start += _BATCH
    except _Ended as ended:
        _show_the_end(programs, start, min(ended.at + _STEP, first + count) - 1, ended.code)
        return 1
    os._exit(0)  # what is left need not be released in order


if __name__ == "__main__":
    sys.exit(main())

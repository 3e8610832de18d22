"""A process that spoils fields of modules: ``python -m tests.fuzz.fields.worker STEP VALUES MEGABYTES``.

Runs every STEPth case of fields.lua in a copy of the process (fork), with VALUES hostile values each place.
A line of JSON goes to stdout for each case. One that takes too long or too much memory is given up; where
another ends the copy it is named on stderr, and the exit code is 1. The next copy continues behind it.
"""

import io
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import torch

from lua_compat import t7
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime
from tests.helpers.places import GOLDEN

_SOURCE = Path(__file__).with_name("fields.lua")
_SECONDS = 20  # of processor time for a case; most take a tenth of one
_NO_MEMORY = 3  # an exit code
_GIVEN_UP = (-signal.SIGPROF, _NO_MEMORY)


def _ready() -> Runtime:
    torch.set_num_threads(1)
    state = Runtime("fields.lua", same_order=True)
    state.run_string("require('torch.core.blocks').use_none()")
    cases = (GOLDEN / "cases_nn.lua").read_text(encoding="utf-8")
    state.run_string(f"CASES = (function() {cases} end)()")
    state.run_string(_SOURCE.read_text(encoding="utf-8"))
    state.run_string("for case = 1, last_case do run(case, 0) end")  # what is made when it is first used
    return state


def _values(state: Runtime, code: str) -> list[Any]:
    """Runs Lua; returns what it returned."""
    found = t7.load(io.BytesIO(state.run_for_result(code, "=fields")[1] or b""))
    assert isinstance(found, t7.LuaTable)
    return [found[k] for k in range(1, int(found["n"]) + 1)]


def _run(state: Runtime, case: int, values: int) -> dict[str, int | str]:
    runs, raised, disturbed = _values(state, f"return run({case}, {values})")
    return {"case": case, "runs": int(runs), "raised": int(raised), "disturbed": disturbed}


def _in_a_copy(state: Runtime, cases: list[int], values: int, bound: int) -> tuple[int, int]:
    """Runs cases, and says what there is to say of each; returns how many, and how the copy ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
        for case in cases:
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
            try:
                said = _run(state, case, values)
            except (MemoryError, LuaError) as error:
                if isinstance(error, MemoryError) or "memory" in str(error):
                    os._exit(_NO_MEMORY)
                raise
            os.write(1, json.dumps(said).encode() + b"\n")
            os.write(writing, b".")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        done = len(pipe.read())
    return done, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> int:
    step, values, megabytes, *only = map(int, sys.argv[1:])
    state = _ready()
    left = only or list(range(1, int(_values(state, "return last_case")[0]) + 1, step))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    bound = pages * resource.getpagesize() + (megabytes << 20)
    failed = 0
    while left:
        done, ended = _in_a_copy(state, left, values, bound)
        left = left[done:]
        if not ended:
            continue
        if ended in _GIVEN_UP:
            os.write(1, json.dumps({"case": left[0], "given up": ended}).encode() + b"\n")
        else:
            print(f"case {left[0]} ended its process with {ended}", file=sys.stderr)
            failed = 1
        left = left[1:]
    sys.stderr.flush()
    os._exit(failed)  # what is left need not be released in order


if __name__ == "__main__":
    main()

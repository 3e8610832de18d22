"""A process that runs some programs: ``python -m tests.fuzz.programs.worker FIRST COUNT BATCH MEGABYTES``.

Prints a line before each batch, with the number of its first program and how many calls were made and how
many of them raised so far, and one at the end. With a COUNT of 1 each call is written to stderr before it
is made.
"""

import io
import os
import resource
import sys
from pathlib import Path

from lua_compat import t7
from lua_compat.runtime.state import Runtime
from lua_compat.sandbox.worker import PACKAGES, load_numpy_without_threads, warm_up

_SOURCE = Path(__file__).with_name("programs.lua")

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


def _values(state: Runtime, code: str) -> t7.LuaTable:
    """Runs Lua; returns what it returned."""
    values = t7.load(io.BytesIO(state.run_for_result(code, "=programs")[1] or b""))
    assert isinstance(values, t7.LuaTable)
    return values


def _quiet() -> int:
    """Drops what modules print from now on; returns the descriptor of what was stdout."""
    kept = os.dup(1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
    return kept


def main() -> None:
    first, count, batch, megabytes = map(int, sys.argv[1:5])
    load_numpy_without_threads()
    import torch

    torch.set_num_threads(1)
    state = Runtime("program.lua", sandboxed=True, same_order=True)
    state.run_string("require('torch.memory').use_no_blocks()")
    names = _values(state, _NAMES)[1]
    source = f"local NAMES = '{names}' " + _SOURCE.read_text(encoding="utf-8")
    state.lock_down(PACKAGES, {"programs": source})
    warm_up()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    bound = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    out = _quiet()
    state.run_string("require 'programs'")
    if count == 1:
        state.run_string(f"show({first})")
        return
    calls = raised = 0
    for start in range(first, first + count, batch):
        os.write(out, f"{start} {calls} {raised}\n".encode())
        made = _values(state, f"return run({start}, {min(batch, first + count - start)})")
        calls, raised = calls + int(made[1]), raised + int(made[2])
    os.write(out, f"{first + count} {calls} {raised}\n".encode())
    os._exit(0)  # what is left need not be released in order


if __name__ == "__main__":
    main()

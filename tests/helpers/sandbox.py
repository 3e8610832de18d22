"""The sandbox, on whatever kernel and in whatever container the tests run."""

from lua_compat.sandbox.layers import missing

LACKING = missing()
SANDBOX = "--sandbox=weaker" if LACKING else "--sandbox"  # th's option

"""Torch7's files and Lua scripts, readable and runnable from Python."""

import os
from collections.abc import Sequence


def run(path: str | os.PathLike[str], args: Sequence[str] = (), *, trust_functions: bool = False) -> int:
    """Runs a Lua script of Torch7 as ``th path args...`` does; returns the exit code.

    ``trust_functions``: as ``th --trust-functions``.
    """
    from lua_compat.runtime.state import run as run_script

    return run_script(path, args, trust_functions=trust_functions)

"""The command ``th``, also ``python -m lua_compat script.lua arguments...``."""

import atexit
import ctypes
import gc
import os
import sys

from convnet_benchmarks.nets.ctrl_c import start


def main() -> None:
    """Runs the command and ends the process at once: taking Python apart takes longer than loading nn."""
    gc.disable()  # until a script runs: what is loaded stays
    code = start("th", "lua_compat.cli.th", "main")
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = code or 1
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)  # files that Lua has open
    os._exit(code & 255)


if __name__ == "__main__":
    main()

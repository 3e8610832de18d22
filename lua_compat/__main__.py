"""The command ``th``, also ``python -m lua_compat script.lua arguments...``."""

import gc
import sys

from convnet_benchmarks.nets.ctrl_c import start


def main() -> None:
    """Runs the command, which ends the process."""
    gc.disable()  # until a script runs: what is loaded stays
    sys.exit(start("th", "lua_compat.cli.th", "main"))


if __name__ == "__main__":
    main()

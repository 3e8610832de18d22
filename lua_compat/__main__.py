"""The command ``th``, also ``python -m lua_compat script.lua arguments...``."""

import sys

from convnet_benchmarks.nets.ctrl_c import start


def main() -> int:
    """Runs the command; returns its exit code."""
    return start("th", "lua_compat.cli.th", "main")


if __name__ == "__main__":
    sys.exit(main())

"""The command ``th``, also ``python -m lua_compat script.lua arguments...``."""

import sys


def main() -> int:
    """Runs ``th`` and returns its exit code; a Ctrl-C while it is still being loaded gives no traceback."""
    try:
        from lua_compat.cli.th import main as th

        return th()
    except KeyboardInterrupt:
        print("th: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

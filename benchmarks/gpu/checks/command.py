"""The command line that the checks have in common."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run(measure: Callable[[bool], dict[str, Any]]) -> None:
    """Calls ``measure`` (with whether sizes are to be small), writes what it returns, and exits.

    The exit code is 1, and stderr says why, where the result has anything under ``missed``.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("result", type=Path, metavar="RESULT", help="the file to write, JSON")
    parser.add_argument("--small", action="store_true", help="sizes that a CPU can do")
    options = parser.parse_args()
    found = measure(options.small)
    options.result.write_text(json.dumps(found, allow_nan=False), encoding="utf-8")
    missed = found.get("missed", [])
    if missed:
        print("; ".join(missed), file=sys.stderr)
    sys.exit(1 if missed else 0)

"""The command line that the checks have in common."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def run(measure: Callable[..., Iterator[dict[str, Any]]], *choices: str) -> None:
    """Calls ``measure`` (with whether sizes are to be small), writes what it yields, and exits.

    It yields the whole result again whenever that has grown, so that a check that is cut off leaves what it
    had. The exit code is 1, and stderr says why, where the result has anything under ``missed``. Under
    ``told`` it has lines for the summary.

    ``choices``: what the command line may name in addition; ``measure`` gets it as its second argument.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("result", type=Path, metavar="RESULT", help="the file to write, JSON")
    if choices:
        parser.add_argument("choice", choices=choices)
    parser.add_argument("--small", action="store_true", help="sizes that a CPU can do")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for found in measure(options.small, *([options.choice] if choices else [])):
        options.result.write_text(json.dumps(found, allow_nan=False), encoding="utf-8")
    missed = found.get("missed", [])
    if missed:
        print("; ".join(missed), file=sys.stderr)
    sys.exit(1 if missed else 0)

"""``python -m tests.compatibility.architectures FOLDER``: builds the listed architectures with Torch7 and
compares them with what to_torch makes of them."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lua_compat import t7
from lua_compat.conversion import ConversionError
from tests.compatibility.__main__ import link_rocks
from tests.compatibility.architectures.comparison import compare, compare_written
from tests.compatibility.architectures.listed import ARCHITECTURES, Architecture

_PROBE = Path(__file__).with_name("probe.lua")
_TOLD = 300  # characters of a failure
_OURS = (sys.executable, "-m", "lua_compat")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.compatibility.architectures", description=__doc__)
    parser.add_argument("folder", type=Path, help="holds the repositories, each as OWNER+NAME")
    parser.add_argument("--torch7", metavar="COMMAND", help="the Torch7 that builds them (default: this th)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="parts of names: run only these")
    parser.add_argument("--seconds", type=float, default=300, help="at most for each (%(default)g)")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder}: no such folder")
    return options


def _record(one: Architecture, options: argparse.Namespace, work: Path) -> str:
    """Writes work/record.t7; returns why not, or ''."""
    (work / "build.lua").write_text(one.build)
    command = [*([options.torch7] if options.torch7 else _OURS), str(_PROBE)]
    command += [
        str(work / "record.t7"),
        str(work / "build.lua"),
        str(work / "rocks"),
        str(_PROBE.with_name("record.lua")),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[3]
    environment["PYTHONPATH"] = f"{root}{os.pathsep}{environment.get('PYTHONPATH', '')}"
    folder = options.folder.resolve() / one.folder / one.inside
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=options.seconds
        )
    except subprocess.TimeoutExpired:
        return f"took more than {options.seconds:g} s"
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).partition("stack traceback")[0]
        return " ".join(said.split())[:_TOLD]
    return ""


def _outcome(one: Architecture, options: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "rocks").mkdir()
        link_rocks(options.folder, work / "rocks")
        problem = _record(one, options, work)
        if problem:
            return f"not built: {problem}"
        folder = options.folder.resolve() / one.folder
        try:
            lua = [folder / file for file in one.lua]
            record = t7.load(work / "record.t7")
            problem = compare(record, lua, gradients=not one.no_gradients)
            try:
                problem = problem or compare_written(record)
            except ConversionError:
                if not lua:  # else Lua computes a layer, which Python text cannot hold
                    raise
        except ConversionError as error:
            return f"not converted: {error}"
        except Exception as error:  # one that cannot be run is told, and the list continues
            return f"failed: {type(error).__name__}: {str(error).splitlines()[0]}"
    if problem:
        return f"differs: {problem}"
    return f"equal, gradients aside: {one.no_gradients}" if one.no_gradients else "equal"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    outcomes = []
    for one in ARCHITECTURES:
        if options.only and not any(part in one.title for part in options.only):
            continue
        outcomes.append(_outcome(one, options))
        print(f"{one.title}: {outcomes[-1]}", flush=True)
    equal = sum(outcome.startswith("equal") for outcome in outcomes)
    print(f"{equal} of {len(outcomes)} are equal")
    return 0 if equal == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

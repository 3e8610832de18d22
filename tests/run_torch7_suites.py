"""Runs Torch7's own test suites under our th, from their files, which are not part of this repository.

    python tests/run_torch7_suites.py --torch7 FOLDER --nn FOLDER

FOLDER: checkouts of torch/torch7 (its test/test.lua is run) and torch/nn (its test.lua).
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run_suite(package: str, suite: Path) -> int:
    """Runs every test of a suite; prints what it prints; its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "run.lua"
        script.write_text(f"require '{package}' dofile(arg[1]) {package}.test()")
        command = [sys.executable, "-m", "lua_compat", str(script), str(suite)]
        return subprocess.run(command, cwd=ROOT).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch7", type=Path, help="a checkout of torch/torch7")
    parser.add_argument("--nn", type=Path, help="a checkout of torch/nn")
    options = parser.parse_args()
    suites = []
    if options.torch7:
        suites.append(("torch", options.torch7.resolve() / "test" / "test.lua"))
    if options.nn:
        suites.append(("nn", options.nn.resolve() / "test.lua"))
    if not suites:
        parser.error("name --torch7 FOLDER, --nn FOLDER or both")
    for _, suite in suites:
        if not suite.is_file():
            parser.error(f"no {suite}: the folder of a checkout is needed")
    return max(run_suite(package, suite) for package, suite in suites)


if __name__ == "__main__":
    sys.exit(main())

"""Runs the test suites of Torch7's packages under our th, from their files, which are not part of this
repository.

    python -m tests.lua_compat.lua.torch7_suites --torch7 FOLDER --nn FOLDER --image FOLDER
    python -m tests.lua_compat.lua.torch7_suites --optim FOLDER --graph FOLDER --nngraph FOLDER --rocks FOLDER

FOLDER: checkouts of torch/torch7, torch/nn... Of optim, graph and nngraph every test/test_*.lua is a
script; it passes if it ends without an error. nngraph's want the module totem (which wants penlight):
--rocks names a folder that has them, as LuaRocks' share/lua/5.1 would.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helpers.places import ROOT

# The file of a checkout whose tests are run by <package>.test().
SUITES = {"torch7": "test/test.lua", "nn": "test.lua", "image": "test/test.lua"}
# Packages whose tests are scripts.
SCRIPTS = ("optim", "graph", "nngraph")


def run_th(arguments: list[str], cwd: str, rocks: Path | None) -> int:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if rocks:
        environment["LUA_PATH"] = f"{rocks}/?.lua;{rocks}/?/init.lua;;"
    command = [sys.executable, "-m", "lua_compat", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment).returncode


def run_suite(package: str, suite: Path, rocks: Path | None) -> int:
    """Runs every test of a suite; prints what it prints; its exit code."""
    module = "torch" if package == "torch7" else package
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "run.lua"
        script.write_text(f"require '{module}' dofile(arg[1]) {module}.test()")
        if package == "image":
            # its tests and pictures lie in one folder when it is installed
            installed = Path(folder) / "image"
            shutil.copytree(suite.parent.parent / "assets", installed / "assets")
            suite = Path(shutil.copy(suite, installed))
        return run_th([str(script), str(suite)], folder, rocks)


def run_scripts(package: str, folder: Path, rocks: Path | None) -> int:
    """Runs each test script in an empty folder; prints which ones failed and how many passed."""
    scripts = sorted(folder.glob("test/test_*.lua"))
    failed = []
    for script in scripts:
        with tempfile.TemporaryDirectory() as place:
            if run_th([str(script)], place, rocks) != 0:
                failed.append(script.name)
    print(f"{package}: {len(scripts) - len(failed)} of {len(scripts)} scripts pass", *failed)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for package in (*SUITES, *SCRIPTS):
        parser.add_argument(
            f"--{package}", type=Path, metavar="FOLDER", help=f"a checkout of torch/{package}"
        )
    parser.add_argument(
        "--rocks", type=Path, metavar="FOLDER", help="modules in plain Lua that the tests want"
    )
    options = parser.parse_args()
    rocks = options.rocks and options.rocks.resolve()
    named = {package: getattr(options, package) for package in (*SUITES, *SCRIPTS)}
    named = {package: folder.resolve() for package, folder in named.items() if folder}
    if not named:
        parser.error("name the folder of a checkout: " + ", ".join(f"--{p}" for p in (*SUITES, *SCRIPTS)))
    for package, folder in named.items():
        wanted = folder / SUITES.get(package, "test")
        if not wanted.exists():
            parser.error(f"no {wanted}: the folder of a checkout is needed")
    codes = []
    for package, folder in named.items():
        if package in SUITES:
            codes.append(run_suite(package, folder / SUITES[package], rocks))
        else:
            codes.append(run_scripts(package, folder, rocks))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())

"""Ctrl-C while modules are being loaded."""

from pathlib import Path

import pytest

from tests.helpers.commands import Finished, run_python

STARTS = """
import sys
from convnet_benchmarks.nets import ctrl_c
ctrl_c._LONGEST_WAIT = float(sys.argv[1])
sys.exit(ctrl_c.start("p", "loaded_slowly", "main"))
"""
INTERRUPTED_WHILE_LOADED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)
    print("loaded")
except KeyboardInterrupt:
    print("taken for something else")
def main():
    time.sleep(10)
    print("not interrupted")
    return 0
"""


def started(folder: Path, module: str, longest_wait: float) -> Finished:
    (folder / "loaded_slowly.py").write_text(module)
    return run_python("-c", STARTS, longest_wait, environment={"PYTHONPATH": str(folder)})


def test_it_waits_until_they_are_loaded(tmp_path: Path) -> None:
    done = started(tmp_path, INTERRUPTED_WHILE_LOADED, 5)
    assert (done.returncode, done.stdout, done.stderr) == (130, "loaded\n", "p: interrupted\n")


def test_it_does_not_wait_for_ever(tmp_path: Path) -> None:
    endless = INTERRUPTED_WHILE_LOADED.replace("0.3", "60").replace(
        "except KeyboardInterrupt", "except OSError"
    )
    done = started(tmp_path, endless, 0.1)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "p: interrupted\n")


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_is_the_functions(tmp_path: Path, code: int) -> None:
    done = started(tmp_path, f"def main():\n    return {code}\n", 5)
    assert (done.returncode, done.stderr) == (code, "")

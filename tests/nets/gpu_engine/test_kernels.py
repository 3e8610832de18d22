"""The kernels on tensor cores, by Triton's interpreter."""

import subprocess
import sys

import pytest

from tests.helpers.places import ROOT


def test_all_phases_are_as_exact_as_float32() -> None:
    pytest.importorskip("triton")
    command = [sys.executable, "-m", "tests.nets.gpu_engine.interpreted"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 12
    assert not [line for line in lines if float(line.split()[0]) > 5e-7]

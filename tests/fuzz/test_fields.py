"""What is no number in every field of nn's modules, and in every argument of torch's functions."""

import json
import subprocess
import sys

import pytest

from tests.fuzz.programs.processes import environment
from tests.helpers.places import ROOT

_MEGABYTES = 400


@pytest.mark.parametrize(("step", "values"), [(1, 1), pytest.param(1, 33, marks=pytest.mark.slow)])
def test_hostile_fields_touch_only_their_memory(step: int, values: int) -> None:
    words = ["-X", "faulthandler", "-m", "tests.fuzz.fields.worker", step, values, _MEGABYTES]
    command = [sys.executable, *map(str, words)]
    worker = subprocess.run(
        command, cwd=ROOT, env=environment(0), capture_output=True, text=True, errors="replace"
    )
    assert worker.returncode == 0, worker.stderr[-5000:]
    said = [json.loads(line) for line in worker.stdout.splitlines() if line.startswith("{")]
    cases = [one for one in said if "runs" in one]
    assert len(said) - len(cases) <= 1 + len(said) // 100  # given up: huge loops of a script's own size
    assert [one for one in cases if one["disturbed"]] == []  # a script's function ran within a kernel
    runs, raised = sum(one["runs"] for one in cases), sum(one["raised"] for one in cases)
    assert runs > 20 * values * len(cases) / step
    assert 0.3 < raised / runs < 0.9  # neither too mild nor too wild

"""Each part, from run.sh on, with the CPU in the GPU's place; and that place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu import journal
from tests.helpers.commands import run_python
from tests.helpers.fake_gpu import START
from tests.helpers.places import ROOT

FAKE = """
import torch
from torch import nn
device = torch.device("cuda", 0)
module, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(True)).to(device), torch.randn(2, 3, 8, 8).to(device)
assert x.is_cuda and next(module.parameters()).device == device
with torch.inference_mode():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = module(x)
    x.mul_(2)
    graph.replay()
    assert torch.equal(y.cpu(), module(x).cpu())
before = torch.cuda.memory_allocated()
big = torch.zeros(1 << 20, device=device)
assert torch.cuda.memory_allocated() == before + (4 << 20)
del big
assert torch.cuda.memory_allocated() == before
for work in (lambda: torch.zeros(1 << 40, device=device), lambda: x + torch.ones(8)):
    try:
        work()
    except RuntimeError as error:
        print(type(error).__name__)
"""


@pytest.mark.slow
def test_the_fake_gpu_is_told_from_the_cpu() -> None:
    done = run_python("-c", FAKE, environment={"PYTHONPATH": str(START)})
    assert (done.returncode, done.stdout) == (0, "OutOfMemoryError\nRuntimeError\n"), done.stderr


def test_without_a_gpu_one_line_says_so(tmp_path: Path) -> None:
    done = run_python("-m", "benchmarks.gpu", tmp_path, "7")
    assert done.returncode != 0 and "no part 7; accepted: 1, 2, 3, 4, first, tune, rest" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("part", ["1", "2", "3", "4", "first", "tune", "rest"])
def test_a_part_runs_on_the_fake_gpu(part: str, tmp_path: Path) -> None:
    """With an empty folder for checkouts, whose steps are skipped."""
    command = ["bash", "benchmarks/gpu/run.sh", str(tmp_path), part, "--rehearse", "--seconds", "3000"]
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(
        [*command, "--checkouts", str(tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    records = journal.read(journal.journal_file(tmp_path / "rehearsal", part))
    wrong = {one["step"]: one["output"] for one in records if one["status"] not in ("ok", "skipped")}
    assert done.returncode == 0 and not wrong, (done.stdout, done.stderr, wrong)

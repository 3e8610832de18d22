"""What is measured of old programs that train: the counting, the comparison, a whole run on the fake GPU."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks.gpu.checks.programs import judge, line
from benchmarks.gpu.training.meter import Meter
from benchmarks.gpu.training.programs import PROGRAMS, SIZES, program
from tests.helpers.commands import run_python
from tests.helpers.fake_gpu import START

# In the way of char-rnn: an optimizer that is given a function of the loss.
SCRIPT = """
require 'cunn'
torch.manualSeed(1)
local net, x, criterion = nn.Linear(4, 3):cuda(), torch.randn(5, 4):cuda(), nn.MSECriterion():cuda()
local target, parameters, gradients = torch.zeros(5, 3):cuda(), net:getParameters()
while true do
   optim.rmsprop(function()
      gradients:zero()
      local loss = criterion:forward(net:forward(x), target)
      net:backward(x, criterion:backward(net.output, target))
      return loss, gradients
   end, parameters, { learningRate = 0.01 })
end
"""


def run_of(ms: float, *losses: float) -> dict[str, object]:
    return {"ms": ms, "losses": list(losses)}


def test_every_program_has_every_size() -> None:
    for one in PROGRAMS:
        assert set(one.sizes) == set(SIZES)
        assert all(size.steps > 0 and size.batch > 0 for size in one.sizes.values())
        assert program(one.name) is one


def test_losses_and_speed_are_judged() -> None:
    char_rnn = program("char-rnn")
    good = judge(char_rnn, False, run_of(1, 4, 3), run_of(9, 4, 3.0003), run_of(10), run_of(9.5))
    assert good["missed"] == [] and good["share"] == 0.95 and good["th"]["per_s"] == 250_000
    assert "250000.0 / 263157.9 characters/s = 0.95" in line(good)
    slow = judge(char_rnn, False, run_of(1, 4), run_of(9, 5), run_of(10), {"failed": "out of time"})
    assert slow["missed"] == [
        "plain PyTorch: out of time", "losses differ from the CPU's by up to 2.0e-01; at most 0.001",
    ]  # fmt: skip
    late = judge(char_rnn, False, run_of(1, 4), run_of(9, 4), run_of(20), run_of(10))
    assert late["missed"] == ["0.50 of plain PyTorch's speed; at least 0.9"]
    nothing = judge(char_rnn, False, run_of(1), run_of(9, 4), run_of(10), run_of(10))
    assert nothing["missed"] == ["no losses to compare"]
    lost = judge(char_rnn, False, run_of(1, float("nan")), run_of(9, 4), run_of(10), run_of(10))
    assert lost["missed"] == ["losses differ from the CPU's by up to nan; at most 0.001"]


def test_numbers_that_are_read_are_counted(tmp_path: Path) -> None:
    meter = Meter(tmp_path / "found.json", warm=1, steps=2, profiled=True)
    x = torch.ones(3)
    while not meter.begins():
        meter.gave(x.add_(1).sum().item() + x[0].item())
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["losses"] == [8, 12, 16] and found["steps"] == 2
    assert found["reads"] == 2 and found["operators"] == 5 and found["launches"] == 0


@pytest.mark.slow
def test_a_program_runs_on_the_fake_gpu(tmp_path: Path) -> None:
    (tmp_path / "char-rnn").mkdir()
    (tmp_path / "char-rnn" / "train.lua").write_text(SCRIPT)
    result = tmp_path / "result.jsonl"
    done = run_python(
        *("-m", "benchmarks.gpu.checks.programs", result, "--small", "--checkouts", tmp_path),
        environment={"PYTHONPATH": str(START)},
    )
    assert done.returncode == 0, done.stderr
    (record,) = map(json.loads, result.read_text().splitlines())
    assert len(record["losses"]) == 3 and record["missed"] == [] and record["th"]["reads"] >= 1
    assert done.stdout.startswith("char-rnn; losses differ by ")

"""The compiled code on an ARM processor: by a cross-compiler and an emulator, where the machine has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from convnet_benchmarks.nets.engine import compile
from convnet_benchmarks.nets.engine.choice.tuning import RULE, Candidates, Choice, Tuner
from convnet_benchmarks.nets.modules.torch7 import Concat
from tests.helpers import other_processor
from tests.nets.engine.modules import exact_results, largest_error, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not other_processor.AVAILABLE,
        reason=f"needs {other_processor.COMPILER} and {other_processor.EMULATOR}",
    ),
]

NETS = {
    "convolutions": lambda: nn.Sequential(
        nn.Conv2d(3, 20, 3), nn.ReLU(), nn.Conv2d(20, 7, 1), nn.ReLU(), nn.Conv2d(7, 9, 3, 2, 1)
    ),
    "five": lambda: nn.Sequential(nn.Conv2d(3, 18, 5, padding=2), nn.ReLU(), nn.Conv2d(18, 4, 5)),
    "pooling": lambda: nn.Sequential(
        nn.MaxPool2d(3, 2, ceil_mode=True), nn.Conv2d(3, 19, 1), nn.MaxPool2d((2, 3), 1, (1, 0))
    ),
    "norms": lambda: nn.Sequential(
        nn.Conv2d(3, 20, 3, bias=False),
        nn.BatchNorm2d(20),
        nn.ReLU(),
        Concat(-3, nn.BatchNorm2d(20), nn.Sequential(nn.BatchNorm2d(20).eval(), nn.ReLU())),
    ),
    "depthwise": lambda: nn.Sequential(
        nn.Conv2d(3, 20, 1), nn.Conv2d(20, 20, 3, groups=20), nn.ReLU(), nn.Conv2d(20, 5, 1)
    ),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture
def elsewhere(programs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Runs compiled code there. A layer gets a compiled kernel, untimed; the names of all are kept."""
    taken: list[str] = []

    def choose(self: Tuner, key: str, found: Candidates, *_less_work: Any) -> Choice:
        taken.append(max(found, key=lambda name: ("compiled" in name, name)))
        return Choice(taken[-1], RULE)

    monkeypatch.setattr(Tuner, "choose", choose)
    other_processor.use(monkeypatch, programs)
    yield taken


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backend", ["mm", "winograd"])
@pytest.mark.parametrize("name", NETS)
def test_nets(elsewhere: list[str], name: str, backend: str, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    module = NETS[name]().to(dtype)
    shape = (3, 3, 13, 13)
    phases = compile(module, shape, backend)
    x = torch.randn(shape, dtype=dtype)
    grad_out = torch.randn_like(phases.updateOutput(x))
    exact = exact_results(module, x, grad_out)
    for have, want in zip(run(phases, x, grad_out), exact, strict=True):
        assert largest_error(have, want) < (1e-10 if dtype == torch.float64 else 1e-4)
    assert any("compiled" in one for one in elsewhere)

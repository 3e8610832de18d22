"""Phases by chosen ways compute what PyTorch's autograd does; on the CPU, whose ways are the same."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from convnet_benchmarks.nets.gpu_engine import choice, phases
from convnet_benchmarks.nets.gpu_engine.choice import Chooser
from convnet_benchmarks.nets.gpu_engine.phases import ChosenPhases
from convnet_benchmarks.nets.gpu_engine.ways import PYTORCHS
from convnet_benchmarks.nets.phases import AutogradPhases


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, 2, 2),
        nn.ReLU(inplace=True),
        nn.Conv2d(16, 8, 3, padding=1, groups=2),
        nn.BatchNorm2d(8),
        nn.Conv2d(8, 6, 1, bias=False),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(6 * 64, 10),
        nn.ReLU(inplace=True),
        nn.LogSoftmax(1),
    )


class Shared(nn.Module):
    """One module called twice, on different sizes, and a weight that another operation reads."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.linear = nn.Conv2d(3, 3, 3, padding=1), nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.convolution(nn.functional.max_pool2d(self.convolution(x), 2))
        return self.linear(x.mean(1)).flatten(1)[:, :16] + self.convolution.weight.sum()


def frozen() -> nn.Module:
    module = convolutions()
    module[0].weight.requires_grad_(False)
    module[7].bias.requires_grad_(False)
    return module


@pytest.fixture(autouse=True)
def random_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any way may be the fastest."""
    generator = torch.Generator().manual_seed(1)
    monkeypatch.setattr(choice, "milliseconds", lambda *_: float(torch.rand((), generator=generator)))
    monkeypatch.setattr(choice, "machine_key", lambda: "a card")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setattr(phases, "compile_ahead", lambda *_: None)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("make", [convolutions, Shared, frozen])
def test_chosen_ways_compute_what_autograd_does(make: Callable[[], nn.Module], channels_last: bool) -> None:
    torch.manual_seed(1)
    module = make()
    x = torch.randn(2, 3, 16, 16) if make is not Shared else torch.randn(2, 3, 32, 32)
    ours = make()
    ours.load_state_dict(module.state_dict())
    own = x
    if channels_last:
        ours.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        own = x.contiguous(memory_format=torch.channels_last)
    with ChosenPhases(ours, Chooser(channels_last, PYTORCHS)) as chosen:
        chosen.choose(own)
        ours.load_state_dict(module.state_dict())  # of batch normalization
        found = []
        with AutogradPhases(module) as stock:
            for runs, of, input in ((stock, module, x), (chosen, ours, own)):
                runs.zeroGradParameters()
                for _ in range(2):
                    output = runs.updateOutput(input)
                    gradient = runs.updateGradInput(input, output)
                    runs.accGradParameters(input, output)
                found.append([output, gradient, *(one.grad for one in of.parameters()), *of.buffers()])
        assert any(layer.chosen for layer in chosen.layers)
    for expected, result in zip(*found, strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


def test_without_gradients_a_way_is_chosen_at_the_first_call() -> None:
    torch.manual_seed(1)
    module, x = convolutions().eval(), torch.randn(2, 3, 16, 16)
    expected = module(x)
    with ChosenPhases(module, Chooser(False, PYTORCHS)) as chosen, torch.no_grad():
        torch.testing.assert_close(module(x), expected)
        assert [set(one.names) for layer in chosen.layers for one in layer.chosen.values()] == [
            {"updateOutput"}
        ] * 3
    torch.testing.assert_close(module(x), expected)

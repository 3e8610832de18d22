"""The comparison with the CPU: decisions that differ, and what is computed by another run's decisions."""

import copy

import pytest
import torch
from torch import nn

from benchmarks.gpu.checks import agreement


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 2, 1), nn.ReLU(), nn.MaxPool2d(2, 2, ceil_mode=True), nn.Flatten(), nn.Linear(18, 3)
    ).double()


def computed(net: nn.Module, x: torch.Tensor, decided: "agreement._Run | None" = None) -> "agreement._Run":
    return agreement._computed(copy.deepcopy(net), x, "mm", decided)


def test_near_ties_are_told_from_other_decisions(net: nn.Module) -> None:
    x = torch.rand(1, 1, 5, 5, dtype=torch.float64) + 1
    bias = net[0].bias
    with torch.no_grad():
        net[0].weight.fill_(1)
        bias.copy_(torch.tensor([0.0, -x[0, 0, 4, 4]]))
    near, far = x.clone(), x.clone()
    near[0, 0, 4, 4] += 1e-9  # a ReLU that was at zero lets it pass
    far[0, 0, 0, 0] += 2  # another maximum
    base = computed(net, x)
    ties, others = agreement._decisions(computed(net, near), base)
    assert ties == 1 and others == 0
    assert agreement._decisions(computed(net, far), base)[1] > 0


def test_with_the_decisions_of_another_run_the_rest_agrees(net: nn.Module) -> None:
    x = torch.randn(1, 1, 5, 5, dtype=torch.float64)
    other = computed(net, x + 0.5 * torch.randn_like(x))
    assert agreement._decisions(other, computed(net, x))[1] > 0
    same = computed(net, x, other)
    ours = computed(net, x, other)
    assert agreement._compared(ours, same, by_norm=True)["difference"] == 0
    places = agreement._places(*other.poolings["2"])
    expected = (net[0](x) * (other.relus["1"] > 0)).flatten(-2)
    expected = net[4](expected.gather(-1, places.flatten(-2)).flatten(1))
    assert torch.equal(same.parts["output"], expected)

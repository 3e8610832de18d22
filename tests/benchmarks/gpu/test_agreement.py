"""The comparison with the CPU: decisions that differ, and what is computed by another run's decisions."""

import copy

import pytest
import torch
from torch import nn

from benchmarks.gpu.checks import agreement, decisions


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 2, 1), nn.ReLU(), nn.MaxPool2d(2, 2, ceil_mode=True), nn.Flatten(), nn.Linear(18, 3)
    ).double()


def computed(
    net: nn.Module, x: torch.Tensor, decided: "decisions.Decisions | None" = None
) -> "agreement._Run":
    return agreement._computed(copy.deepcopy(net), x, "mm", decided)


def differing(ours: "agreement._Run", theirs: "agreement._Run") -> tuple[int, int]:
    return decisions.differing(ours.decisions, theirs.decisions)


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
    ties, others = differing(computed(net, near), base)
    assert ties == 1 and others == 0
    assert differing(computed(net, far), base)[1] > 0


def test_with_the_decisions_of_another_run_the_rest_agrees(net: nn.Module) -> None:
    x = torch.randn(1, 1, 5, 5, dtype=torch.float64)
    other = computed(net, x + 0.5 * torch.randn_like(x))
    assert differing(other, computed(net, x))[1] > 0
    same = computed(net, x, other.decisions)
    ours = computed(net, x, other.decisions)
    assert agreement._compared(ours, same, by_norm=True)["difference"] == 0
    places = decisions.places(*other.decisions.poolings["2"])
    expected = (net[0](x) * (other.decisions.relus["1"] > 0)).flatten(-2)
    expected = net[4](expected.gather(-1, places.flatten(-2)).flatten(1))
    assert torch.equal(same.parts["output"], expected)


def test_a_gradient_that_is_rounding_alone_counts_beside_its_module_s() -> None:
    """A convolution's bias before batch normalization has no gradient."""
    theirs = {"output": torch.ones(4), "0.weight": 10 * torch.ones(4), "0.bias": 1e-6 * torch.ones(4)}
    ours = {**theirs, "0.bias": -1e-6 * torch.ones(4)}
    assert decisions.norms_apart(ours, theirs)["0.bias"] == pytest.approx(2e-6, rel=1e-3)
    wrong = {**theirs, "output": theirs["output"] * 1.01, "0.weight": theirs["0.weight"] * 1.02}
    found = decisions.norms_apart(wrong, theirs)
    assert found == pytest.approx({"output": 0.01, "0.weight": 0.02, "0.bias": 0}, rel=1e-3)

import random
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn
from torch.nn.utils import parametrizations

from convnet_benchmarks.nets.engine import compile
from convnet_benchmarks.nets.engine.trace import CompileError, check_same, trace
from tests.helpers.commands import run_python


def test_the_shapes_of_convolutions_are_those_that_they_make() -> None:
    draw = random.Random(5)
    for _ in range(60):
        kernel, stride, padding, dilation = (
            tuple(draw.randint(low, high) for _ in range(2)) for low, high in ((1, 4), (1, 3), (0, 2), (1, 2))
        )
        groups = draw.choice([1, 2])
        layer = nn.Conv2d(4, 6, kernel, stride, padding, dilation, groups, draw.random() < 0.5)  # type: ignore[arg-type]
        shape = (4, draw.randint(7, 12), draw.randint(7, 12))
        x = torch.zeros(shape if draw.random() < 0.3 else (draw.randint(1, 3), *shape))
        assert trace(layer, x).shapes == [tuple(x.shape), tuple(layer(x).shape)]


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv2d(3, 4, 3), (1, 2, 8, 8)),
        (nn.Conv2d(3, 4, 3), (1, 3, 2, 8)),
        (nn.Conv2d(3, 4, 3).double(), (1, 3, 8, 8)),
        (nn.Conv2d(3, 4, 3), (3, 8)),
    ],
)
def test_a_convolution_that_fails_says_why(layer: nn.Module, shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError) as expected:
        layer(torch.zeros(shape))
    with pytest.raises(CompileError) as found:
        trace(layer, torch.zeros(shape))
    assert str(expected.value) in str(found.value)


def test_a_convolution_whose_weight_is_computed_is_run_as_it_is() -> None:
    layer = parametrizations.weight_norm(nn.Conv2d(2, 3, 3))
    (operation,) = trace(layer, torch.zeros(1, 2, 5, 5)).operations
    assert set(operation.parameters) == set(layer.parameters())


def test_what_torch_fx_compiled_is_traced_as_the_net_that_it_was() -> None:
    net, x = (
        nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 2)),
        torch.zeros(1, 2, 5, 5),
    )
    assert trace(fx.symbolic_trace(net), x).shapes == trace(net, x).shapes


class Standardised(nn.Conv2d):
    """Has torch.nn's forward, which calls a method that is its own."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return super()._conv_forward(input, weight - weight.mean((1, 2, 3), keepdim=True), bias)


class Plain(nn.Conv2d):
    def extra_repr(self) -> str:
        return "plain"


def test_a_subclass_is_its_layer_unless_it_replaces_what_the_forward_calls() -> None:
    torch.manual_seed(1)
    net, x = nn.Sequential(Standardised(3, 4, 3), Plain(4, 4, 3)), torch.rand(2, 3, 7, 7)
    own, plain = trace(net, x).operations
    assert plain.calls(nn.Conv2d) and not own.calls(nn.Conv2d)
    with compile(net, (2, 3, 7, 7), backend="mm") as phases:
        torch.testing.assert_close(phases.updateOutput(x), net(x).detach())


class Called(nn.Tanh):
    def __call__(self, input: Tensor) -> Any:
        return super().__call__(input) * 2


def test_what_is_called_in_its_own_way_is_refused() -> None:
    with pytest.raises(CompileError, match="Called: has a __call__ of its own"):
        trace(nn.Sequential(nn.Linear(3, 2), Called()), torch.zeros(1, 3))


class LogOfLess(nn.Linear):
    """NaN where an element is below ``level``."""

    level = 100.0

    def forward(self, x: Tensor) -> Tensor:
        return torch.log(super().forward(x) - self.level)


@pytest.mark.parametrize("level", [100.0, 0.0, -torch.inf])
def test_a_net_that_gives_what_is_no_number_is_traced(level: float) -> None:
    net, x = LogOfLess(8, 8), torch.zeros(2, 8)
    net.level = level
    check_same(net, trace(net, x), torch.float32)


def test_what_keeps_its_elements_in_order_is_known_without_loading_sympy() -> None:
    """Half a second of a first run."""
    code = """
import sys, torch
from torch import nn
from convnet_benchmarks.nets.engine.trace import trace
found = trace(nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(27, 2)), torch.zeros(1, 2, 5, 5))
print([operation.reshapes for operation in found.operations], "sympy" in sys.modules)
"""
    assert run_python("-c", code).stdout.split("\n")[0] == "[False, True, False] False"

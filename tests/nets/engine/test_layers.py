"""Every kind of layer by itself: recognised, by no other kind, and equal to autograd."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import compile
from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.recognise import LAYERS, recognise
from convnet_benchmarks.nets.engine.trace import trace
from convnet_benchmarks.nets.engine.values import Value
from convnet_benchmarks.nets.modules.torch7 import Concat
from convnet_benchmarks.nets.phases import AutogradPhases
from tests.helpers.engine_conditions import threads
from tests.nets.engine.modules import check

IMAGES, ROWS = (4, 3, 6, 6), (4, 6)


class Sum(nn.Module):
    """The sum of two paths."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x) + torch.sin(x)


# One layer of each kind, with the shape of its input.
CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "Add": (Sum, IMAGES),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1), IMAGES),
    "GlobalAvgPool": (lambda: nn.AdaptiveAvgPool2d(1), IMAGES),
    "BatchNorm": (lambda: nn.BatchNorm2d(3), IMAGES),
    "Concat": (lambda: Concat(-3, nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(3, 1, 1)), IMAGES),
    "DepthwiseConvolution": (lambda: nn.Conv2d(3, 3, 3, 2, 1, groups=3), IMAGES),
    "Dropout": (lambda: nn.Dropout(1.0), ROWS),  # whatever is drawn, nothing is kept
    "LogSoftmax": (lambda: nn.LogSoftmax(-1), ROWS),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1), IMAGES),
    "ReLU": (nn.ReLU, IMAGES),
    "Reshape": (lambda: nn.Flatten(-3), IMAGES),
    "Threshold": (lambda: nn.Threshold(0.1, 0.2), IMAGES),
    "WeightedLayer": (lambda: nn.Conv2d(3, 4, 3, padding=1), IMAGES),
}


def recognised(module: nn.Module, shape: tuple[int, ...]) -> list[list[type[Layer]]]:
    """The kinds that recognise each operation of ``module``."""
    traced = trace(module, torch.zeros(shape, dtype=torch.float64))
    values = [Value(size, len(size) == 4, torch.float64) for size in traced.shapes]
    found = []
    for operation in traced.operations:
        inputs, output = [values[index] for index in operation.inputs], values[operation.result]
        kinds = [kind for kind in LAYERS if kind.recognises(operation, inputs, output)]
        assert not kinds or recognise(operation, inputs, output) is kinds[0]
        found.append(kinds)
    return found


def test_every_kind_has_a_case() -> None:
    assert sorted(CASES) == sorted(kind.__name__ for kind in LAYERS)


@pytest.mark.parametrize("name", CASES)
def test_a_kind_recognises_its_operation_and_no_other_does(name: str) -> None:
    make, shape = CASES[name]
    found = recognised(make().double(), shape)
    assert all(len(kinds) <= 1 for kinds in found)
    assert name in [kind.__name__ for kinds in found for kind in kinds]


@pytest.mark.parametrize("name", CASES)
def test_a_layer_against_autograd(name: str) -> None:
    """In training, between layers that have parameters, and with a ReLU behind it."""
    make, shape = CASES[name]
    torch.manual_seed(0)
    first: nn.Module = nn.Conv2d(3, 3, 1) if shape == IMAGES else nn.Linear(6, 6)
    module = nn.Sequential(first, make(), nn.ReLU()).double()
    results = []
    with threads(2):
        for phases in (compile(module, shape, "mm"), AutogradPhases(module)):
            with phases:
                for number in range(2):  # nothing of the first pass is left in the second
                    random = torch.Generator().manual_seed(number)
                    x = torch.randn(shape, generator=random, dtype=torch.float64)
                    phases.zeroGradParameters()
                    out = phases.updateOutput(x)
                    grad_out = torch.randn(out.shape, generator=random, dtype=torch.float64)
                    found = [out.clone(), phases.updateGradInput(x, grad_out).clone()]
                    phases.accGradParameters(x, grad_out)
                    found += [p.grad.clone() for p in module.parameters() if p.grad is not None]
                results.append(found)
    for have, want in zip(*results, strict=True):
        torch.testing.assert_close(have, want)


@pytest.mark.parametrize("backend", ["mm", "direct", "winograd"])
@pytest.mark.parametrize("groups", [1, 4])
def test_a_bias_that_is_not_contiguous(groups: int, backend: str) -> None:
    layer = nn.Conv2d(4, 4, 3, padding=1, groups=groups).double()
    layer.bias = nn.Parameter(torch.randn(8, dtype=torch.float64)[::2])
    check(nn.Sequential(layer, nn.ReLU()), (2, 4, 6, 6), backend)


def test_linear_of_images_takes_their_last_dimension() -> None:
    for channels, shape in ((8, (2, 3, 6, 8)), (4, (3, 6, 8)), (8, (3, 1, 8))):
        check(nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.Linear(8, 5)), shape, "mm")


class Grows(nn.Module):
    """Joins its input with what it makes of it."""

    def __init__(self, *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.Sequential(*parts)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat((x, self.parts(x)), -3)


@pytest.mark.parametrize("backend", ["mm", "direct", "fft"])
def test_pytorchs_operators_read_memory_next_to_memory_written_later(backend: str) -> None:
    """PyTorch counts the changes of both together."""
    for kernel in (1, 3):
        last = nn.Conv2d(4, 4, kernel, padding=kernel // 2)
        joined = Grows(nn.Conv2d(4, 4, 3, padding=2, dilation=2), last)
        check(nn.Sequential(nn.Conv2d(3, 4, 1), joined, nn.Conv2d(8, 2, 1)), (2, 3, 8, 8), backend)


def test_pytorchs_operators_get_gradients_in_the_layout_of_their_results() -> None:
    """Of one image PyTorch's normalisation computes wrong numbers from different layouts."""
    for backend in ("mm", "stock"):
        inside = (nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4), nn.Conv2d(4, 2, 3))
        check(nn.Sequential(*inside), (1, 3, 9, 8), backend)


class Dense(nn.Module):
    """Every layer reads all values before it, and the last sum reads the last of them three times."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(3 + 2 * i), nn.ReLU(), nn.Conv2d(3 + 2 * i, 2, 3, 1, 1))
            for i in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return torch.cat([x, x], 1) + torch.cat([x, torch.tanh(x)], 1)


def test_gradients_of_joined_values_are_parts_of_one() -> None:
    phases = check(Dense(), IMAGES, "mm")
    joined = [layer.output.grad for layer in phases._layers if layer.joins_inputs]
    assert len({gradient.data_ptr() for gradient in joined[:4]}) == 1  # of those in each other

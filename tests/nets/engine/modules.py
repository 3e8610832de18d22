"""Modules of every kind for the engine, and their phases compared with autograd."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import EnginePhases, compile
from convnet_benchmarks.nets.modules.torch7 import Concat, View
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.nets.registry import on_meta


def largest_error(found: Tensor | None, exact: Tensor | None) -> float:
    """Over the largest value, or 1 if that is less: a bias before a normalisation has gradients of 1e-15."""
    assert found is not None and exact is not None and found.shape == exact.shape
    return float((found.double() - exact.double()).abs().max() / exact.abs().max().clamp_min(1))


def exact_results(module: nn.Module, x: Tensor, grad_out: Tensor | None = None) -> list[Tensor]:
    """Output, input gradient and parameter gradients by autograd; gradOutput is the output unless given."""
    for parameter in module.parameters():
        parameter.grad = None
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
    leaf = x.detach().clone().requires_grad_()
    out = module(leaf.clone())  # a copy: the module may change it in place
    out.backward(out.detach().clone() if grad_out is None else grad_out)
    assert leaf.grad is not None
    found = [out.detach(), leaf.grad]
    found += [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    for parameter in module.parameters():
        parameter.grad = None
    with torch.no_grad():
        for buffer, before in buffers:
            buffer.copy_(before)
    return found


def run(phases: EnginePhases, x: Tensor, grad_out: Tensor | None = None) -> list[Tensor]:
    """The same by the engine; gradOutput is the very output buffer unless given."""
    phases.zeroGradParameters()
    out = phases.updateOutput(x)
    kept = out.clone()
    grad_out = out if grad_out is None else grad_out
    grad_in = phases.updateGradInput(x, grad_out)
    assert torch.equal(out, kept), "updateGradInput changed the output"
    phases.accGradParameters(x, grad_out)
    gradients = [parameter.grad for parameter in phases.module.parameters() if parameter.requires_grad]
    return [kept, grad_in, *(gradient for gradient in gradients if gradient is not None)]


def check(module: nn.Module, shape: tuple[int, ...], backend: str, seed: int = 0) -> EnginePhases:
    """Two rounds on one plan, so that nothing of the first is left in the second."""
    module = module.double()
    phases = compile(module, shape, backend, dtype=torch.float64)
    random = torch.Generator().manual_seed(seed)
    for _ in range(2):
        x = torch.randn(shape, generator=random).double()
        # Not the output itself: behind a normalisation that gradient is all rounding errors.
        grad_out = torch.randn(phases.updateOutput(x).shape, generator=random).double()
        exact = exact_results(module, x, grad_out)
        found = run(phases, x, grad_out)
        assert len(found) == len(exact)
        for have, want in zip(found, exact, strict=True):
            assert largest_error(have, want) < 1e-10
        for parameter in module.parameters():
            parameter.grad = None
    return phases


class Residual(nn.Module):
    """Two paths, the sum in place, and a value that three layers read."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.second(self.relu(self.norm(self.first(x))))
        out += x
        return self.relu(out) + F.avg_pool2d(x, 3, 1, 1)


class Tied(nn.Module):
    """One layer used twice, and a weight shared by two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = nn.Conv2d(3, 3, 3, padding=1)
        self.other = nn.Conv2d(3, 3, 3, padding=1)
        self.other.weight = self.twice.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.other(torch.relu(self.twice(torch.tanh(self.twice(x)))))


class NotTraceable(nn.Module):
    """Opaque to tracing, but a single tensor in and out: runs whole, on stock operators."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        scale = self.scale if float(x.detach().abs().sum()) >= 0 else -self.scale
        return x * scale


MODULES: dict[str, Callable[[], nn.Module]] = {
    "convolutions": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 5, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(6, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 1)
    ),
    "covering": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, 2),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 7, (2, 2)),
        nn.ReLU(),
        nn.Conv2d(7, 5, 1),
        View(5),
    ),
    "concat": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3),
        nn.ReLU(),
        Concat(
            -3,
            nn.Conv2d(6, 2, 1),
            nn.Sequential(nn.Conv2d(6, 3, 3, padding=1), nn.ReLU(True)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), Concat(-3, nn.Conv2d(6, 2, 1), nn.AvgPool2d(3, 1, 1))),
            nn.ReLU(),
        ),
        nn.Conv2d(19, 4, 3),
    ),
    "residual": lambda: nn.Sequential(nn.Conv2d(3, 5, 1), Residual(5), Residual(5)),
    "tied": Tied,
    "pooling": lambda: nn.Sequential(
        nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        nn.Conv2d(3, 4, 2),
        nn.AvgPool2d(2, 2, 1, ceil_mode=True, count_include_pad=False),
        nn.ReLU(),
        nn.MaxPool2d(2, 1, dilation=2),
    ),
    "norms": lambda: nn.Sequential(
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.LocalResponseNorm(3),
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4, affine=False),
    ),
    "norms in evaluation": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval(),
    "classifier": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, 3),
        nn.Flatten(-3),
        nn.Linear(36, 8),
        nn.Threshold(0, 1e-6),
        nn.Linear(8, 5),
        nn.LogSoftmax(-1),
    ),
    "global pooling": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(-3),
        nn.Linear(4, 3),
        nn.Dropout(0.5).eval(),
    ),
    "stock layers": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3, groups=3),
        nn.PReLU(),
        nn.Conv2d(6, 4, 3, dilation=2),
        nn.Hardtanh(inplace=True),
        NotTraceable4(),
    ),
    "shapes": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), ReadsItsShape()),
    "one layer": lambda: nn.Conv2d(3, 4, 3, padding=2),
    "a ReLU alone": lambda: nn.ReLU(inplace=True),
    "one bias": lambda: _one_bias(
        nn.Sequential(nn.Conv2d(3, 4, 5, padding=2), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))
    ),
    "frozen": lambda: _frozen(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3))),
}


class ReadsItsShape(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], -1) * x.shape[-1]


class NotTraceable4(NotTraceable):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4, 1, 1))


def _one_bias(module: nn.Sequential) -> nn.Module:
    """For two convolutions, one with a large and one with a small weight."""
    module[2].bias = module[0].bias
    return module


def _frozen(module: nn.Sequential) -> nn.Module:
    module[0].weight.requires_grad_(False)
    module[2].bias.requires_grad_(False)
    return module


def _narrowed(net: Net) -> nn.Module:
    module = on_meta(net)

    def narrow(parent: nn.Module) -> None:
        for name, child in parent.named_children():
            if isinstance(child, nn.Conv2d):
                width = child.in_channels if child.in_channels == 3 else child.in_channels // 8
                geometry: Any = (child.kernel_size, child.stride, child.padding)
                new: nn.Module = nn.Conv2d(width, child.out_channels // 8, *geometry)
            elif isinstance(child, nn.Linear):
                new = nn.Linear(child.in_features // 8, child.out_features // 8)
            elif isinstance(child, View):
                new = View(*(size // 8 for size in child.sizes), num_input_dims=child.num_input_dims)
            else:
                narrow(child)
                continue
            setattr(parent, name, new)

    narrow(module)
    return module

"""Hooks of every kind: seen by the engine and by the phases on autograd as a full backward sees them."""

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as of_all_modules
from torch.nn.utils import parametrizations, parametrize
from torch.utils.hooks import RemovableHandle

from convnet_benchmarks.nets.engine import BACKENDS, CompileError, EnginePhases, compile
from convnet_benchmarks.nets.hooks import hook_on, hook_within, needs_whole_backward
from convnet_benchmarks.nets.phases import AutogradPhases

SHAPE = (2, 3, 6, 6)


def scaled(value: Any) -> Any:
    """Every tensor of a hook's tuple, changed so that a second or a missing call would show."""
    return tuple(None if part is None else 1.5 * part for part in value)


# Each registers a hook that changes a value and counts its calls.
Count = list[str]


def counted(calls: Count) -> Literal[False]:
    """Counts one call; ``counted(calls) or value`` is the value."""
    calls.append("")
    return False


ON_MODULES: dict[str, Callable[[nn.Module, Count], RemovableHandle]] = {
    "forward pre-hook": lambda m, n: m.register_forward_pre_hook(lambda m, x: counted(n) or scaled(x)),
    "forward hook": lambda m, n: m.register_forward_hook(lambda m, x, y: counted(n) or 1.5 * y),
    "backward pre-hook": lambda m, n: m.register_full_backward_pre_hook(lambda m, g: counted(n) or scaled(g)),
    "backward hook": lambda m, n: m.register_full_backward_hook(lambda m, gi, go: counted(n) or scaled(gi)),
    "legacy": lambda m, n: m.register_backward_hook(lambda m, gi, go: counted(n) or scaled(gi)),
}
ON_ALL: dict[str, Callable[[Count], RemovableHandle]] = {
    "global forward pre-hook": lambda n: of_all_modules.register_module_forward_pre_hook(
        lambda m, x: counted(n) or scaled(x)
    ),
    "global forward hook": lambda n: of_all_modules.register_module_forward_hook(
        lambda m, x, y: counted(n) or 1.5 * y
    ),
    "global backward pre-hook": lambda n: of_all_modules.register_module_full_backward_pre_hook(
        lambda m, g: counted(n) or scaled(g)
    ),
    "global backward hook": lambda n: of_all_modules.register_module_full_backward_hook(
        lambda m, gi, go: counted(n) or scaled(gi)
    ),
}


PLACES = ["conv", "norm", "relu", "pool", "inner", "inner.conv", "threshold", "same", "flat", "linear", "log"]
PLACES.append("")  # the net itself


def net() -> nn.Module:
    """A layer of every kind the engine recognises in a module, by name."""
    torch.manual_seed(0)
    made = nn.Sequential()
    for name, layer in {
        "conv": nn.Conv2d(3, 4, 3, padding=1),
        "norm": nn.BatchNorm2d(4),
        "relu": nn.ReLU(),
        "pool": nn.MaxPool2d(2),
        "inner": nn.Sequential(),
        "threshold": nn.Threshold(0.01, 0.02),
        "same": nn.Identity(),
        "flat": nn.Flatten(-3),
        "linear": nn.Linear(9 * 5, 6),
        "log": nn.LogSoftmax(-1),
    }.items():
        made.add_module(name, layer)
    made.inner.add_module("conv", nn.Conv2d(4, 5, 1))
    made.inner.add_module("relu", nn.ReLU(inplace=False))
    return made.double()


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without PyTorch's warnings that legacy hooks are deprecated, and miss inputs of larger modules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def backward(module: nn.Module, x: Tensor, grad_out: Tensor) -> list[Tensor]:
    """Output, input gradient and parameter gradients of PyTorch's own full backward."""
    statistics = copy.deepcopy(dict(module.named_buffers()))
    module.zero_grad()
    leaf = x.clone().requires_grad_()
    with quietly():
        out = module(leaf)
        out.backward(grad_out)
    assert leaf.grad is not None
    found = [out.detach(), leaf.grad, *(p.grad.clone() for p in module.parameters() if p.grad is not None)]
    module.zero_grad()
    with torch.no_grad():
        for name, buffer in module.named_buffers():
            buffer.copy_(statistics[name])
    return found


def run(phases: AutogradPhases | EnginePhases, x: Tensor, grad_out: Tensor) -> list[Tensor]:
    phases.zeroGradParameters()
    with quietly():
        out = phases.updateOutput(x).clone()
        grad_in = phases.updateGradInput(x, grad_out).clone()
        phases.accGradParameters(x, grad_out)
    return [out, grad_in, *(p.grad.clone() for p in phases.module.parameters() if p.grad is not None)]


def check(module: nn.Module, open: Callable[[], AutogradPhases | EnginePhases], calls: Count) -> None:
    """Two passes of the phases against PyTorch's own: the same results from as many calls of hooks."""
    random = torch.Generator().manual_seed(1)
    x = torch.randn(SHAPE, generator=random, dtype=torch.float64)
    with torch.no_grad(), quietly():
        shape = copy.deepcopy(module)(x).shape
    grad_out = torch.randn(shape, generator=random, dtype=torch.float64)
    calls.clear()
    exact = backward(module, x, grad_out)
    expected = len(calls)
    assert expected
    with quietly(), open() as phases:
        for _ in range(2):
            calls.clear()
            found = run(phases, x, grad_out)
            assert len(calls) == expected
            for have, want in zip(found, exact, strict=True):
                torch.testing.assert_close(have, want)


@pytest.mark.parametrize("kind", ON_MODULES)
@pytest.mark.parametrize("place", PLACES)
def test_the_engine_runs_a_module_with_a_hook_on_autograd(place: str, kind: str) -> None:
    module = net()
    calls: Count = []
    part = module.get_submodule(place)
    assert not hook_within(module)
    ON_MODULES[kind](part, calls)
    if (kind, place) == ("legacy", "same"):  # a hook on the layer before, in truth
        with (
            quietly(),
            pytest.raises(CompileError, match="same: a legacy backward hook on a module that returns its"),
        ):
            compile(module, SHAPE, "mm")
        return
    kind = "backward hook" if kind == "legacy" else kind
    assert hook_on(part) == hook_within(module) == kind
    check(module, lambda: compile(module, SHAPE, "mm"), calls)
    with quietly():
        report = compile(module, SHAPE, "mm").report()
    (layer,) = [layer for layer in report.layers if layer.fallback]
    assert layer.name == (place or "Sequential")
    assert layer.fallback == f"PyTorch's autograd, because of a {kind}"
    assert set(layer.algorithms.values()) == {"stock"}
    assert any(layer.fallback in row for row in report.rows())
    if place:
        assert any("mm" in name for layer in report.layers for name in layer.algorithms.values())


@pytest.mark.parametrize("kind", ON_MODULES)
@pytest.mark.parametrize("place", PLACES)
def test_hooks_in_the_phases_on_autograd(place: str, kind: str) -> None:
    module = net()
    calls: Count = []
    ON_MODULES[kind](module.get_submodule(place), calls)
    check(module, lambda: AutogradPhases(module), calls)


@pytest.mark.parametrize("kind", ON_ALL)
def test_global_hooks(kind: str) -> None:
    module = net()
    calls: Count = []
    handle = ON_ALL[kind](calls)
    try:
        check(module, lambda: compile(module, SHAPE, "mm"), calls)
        (layer,) = compile(module, SHAPE, "mm").report().layers
        assert layer.fallback == f"PyTorch's autograd, because of a {kind}"
        check(module, lambda: AutogradPhases(module), calls)
    finally:
        handle.remove()
    assert not hook_within(module)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backward_pre_hook_on_every_backend(backend: str) -> None:
    module = net()
    calls: Count = []
    ON_MODULES["backward pre-hook"](module.get_submodule("conv"), calls)
    check(module, lambda: compile(module, SHAPE, backend), calls)


def test_a_hook_inside_a_layer_of_torch_nn_and_inside_what_cannot_be_traced() -> None:
    class Opaque(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.conv(x) if x.sum() > 1e9 else 2 * self.conv(x)

    module = nn.Sequential(nn.Conv2d(3, 3, 1), Opaque()).double()
    calls: Count = []
    ON_MODULES["backward pre-hook"](module.get_submodule("1.conv"), calls)
    check(module, lambda: compile(module, SHAPE, "mm"), calls)
    assert compile(module, SHAPE, "mm").report().layers[1].fallback.endswith("backward pre-hook")


def test_a_forward_of_a_modules_own_is_run() -> None:
    module = net()
    calls: Count = []
    conv = module.get_submodule("conv")
    original = conv.forward

    def forward(x: Tensor) -> Tensor:
        calls.append("")
        return 2 * original(x)

    conv.forward = forward
    check(module, lambda: compile(module, SHAPE, "mm"), calls)
    assert compile(module, SHAPE, "mm").report().layers[0].fallback.endswith("forward of its own")
    check(module, lambda: AutogradPhases(module), calls)
    assert conv.forward is forward


def hook_on_gradient(parameter: nn.Parameter, calls: Count) -> None:
    """Not linear in the gradient: the sum of two parts' results is not the sum's result."""
    parameter.register_hook(lambda grad: counted(calls) or grad.clamp(-0.1, 0.1))


def hook_after_accumulation(parameter: nn.Parameter, calls: Count) -> None:
    def hook(parameter: Tensor) -> None:
        calls.append("")
        assert parameter.grad is not None
        parameter.grad.mul_(3)

    parameter.register_post_accumulate_grad_hook(hook)


@pytest.mark.parametrize("register", [hook_on_gradient, hook_after_accumulation])
@pytest.mark.parametrize("place", ["conv", "norm", "linear"])
def test_hooks_on_parameters(place: str, register: Callable[[nn.Parameter, Count], None]) -> None:
    module = net()
    calls: Count = []
    register(module.get_parameter(f"{place}.weight"), calls)
    assert needs_whole_backward(module)
    check(module, lambda: AutogradPhases(module), calls)
    with pytest.raises(CompileError, match=rf"{place}\.weight: has a .* hook; use PyTorch's autograd"):
        compile(module, SHAPE, "mm")


def test_a_hook_on_a_parameter_of_two_layers_gets_the_whole_gradient() -> None:
    module = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6)).double()
    calls: Count = []
    module[2].weight = module[0].weight
    hook_on_gradient(module.get_parameter("0.weight"), calls)
    check(module, lambda: AutogradPhases(module), calls)
    assert len(calls) == 1


class Registers(nn.Module):
    """A hook on an activation."""

    def forward(self, x: Tensor) -> Tensor:
        y = 2 * x
        y.register_hook(lambda grad: 3 * grad)
        return y


class _Reversed(torch.autograd.Function):
    """Its backward is not its forward's derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return -grad


class Reversal(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = _Reversed.apply(x)
        return found


class Stops(nn.Module):
    """No gradient passes; for tracing it is opaque."""

    def forward(self, x: Tensor) -> Tensor:
        return x.detach() if float(x.detach().sum()) < 1e9 else x


class Beside(nn.Module):
    """An operation beside a path that always has a gradient."""

    def __init__(self, other: nn.Module) -> None:
        super().__init__()
        self.other = other

    def forward(self, x: Tensor) -> Tensor:
        return self.other(x) + 3 * x


@pytest.mark.parametrize("layer", [Registers, Reversal, Stops])
def test_gradients_of_a_modules_own_are_kept(layer: type[nn.Module]) -> None:
    module = nn.Sequential(nn.Conv2d(3, 3, 1), Beside(layer()), nn.Conv2d(3, 3, 1)).double()
    x, grad_out = torch.randn(2, *SHAPE, dtype=torch.float64)
    exact = backward(module, x, grad_out)
    for phases in (compile(module, SHAPE, "mm"), AutogradPhases(module)):
        with phases:
            for have, want in zip(run(phases, x, grad_out), exact, strict=True):
                torch.testing.assert_close(have, want)


def test_a_hook_that_reads_another_modules_parameter() -> None:
    module = nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU(), nn.Conv2d(3, 3, 1)).double()
    calls: Count = []
    weight = module[0].weight
    module[1].register_forward_hook(lambda m, x, y: counted(calls) or y * weight.mean())
    check(module, lambda: compile(module, SHAPE, "mm"), calls)
    check(module, lambda: AutogradPhases(module), calls)


class Frozen(nn.Module):
    """Part of its forward runs without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen, self.trained = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            kept = torch.sigmoid(self.frozen(x))
        return F.relu(self.trained(x)) * kept


def test_no_grad_inside_a_forward_is_kept() -> None:
    module = nn.Sequential(nn.Conv2d(3, 3, 1), Frozen()).double()
    x, grad_out = torch.randn(2, *SHAPE, dtype=torch.float64)
    exact = backward(module, x, grad_out)
    with torch.no_grad():  # the caller's own mode is not the module's
        phases = compile(module, SHAPE, "mm")
    phases.zeroGradParameters()
    frozen = [parameter.grad for parameter in module[1].frozen.parameters()]
    found = run(phases, x, grad_out)
    assert not any(grad.any() for grad in frozen if grad is not None)
    for have, want in zip(found[:2], exact, strict=False):
        torch.testing.assert_close(have, want)
    torch.testing.assert_close(module[1].trained.weight.grad, exact[4])
    with pytest.raises(CompileError, match="runs without gradients"):
        compile(Frozen(), SHAPE, "mm")
    module.zero_grad()
    with AutogradPhases(module) as by_autograd:
        for have, want in zip(run(by_autograd, x, grad_out)[:2], exact, strict=False):
            torch.testing.assert_close(have, want)
    assert not any(grad.any() for grad in frozen if grad is not None)


@pytest.mark.parametrize("wrap", ["weight norm", "parametrization"])
def test_parametrised_weights(wrap: str) -> None:
    """A weight computed from others: PyTorch's autograd computes it, and its gradient."""

    class Doubled(nn.Module):
        def forward(self, weight: Tensor) -> Tensor:
            return 2 * weight

    module = net()
    conv = module.get_submodule("conv")
    if wrap == "weight norm":
        parametrizations.weight_norm(conv)
    else:
        parametrize.register_parametrization(conv, "weight", Doubled())
    calls: Count = []
    ON_MODULES["forward hook"](module.get_submodule("linear"), calls)
    check(module, lambda: compile(module, SHAPE, "mm"), calls)
    assert set(compile(module, SHAPE, "mm").report().layers[0].algorithms.values()) == {"stock"}
    check(module, lambda: AutogradPhases(module), calls)

"""The three phases: together a full backward, apart nothing of each other's work."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.engine import compile, prepare
from convnet_benchmarks.nets.modules.torch7 import Concat, View
from convnet_benchmarks.nets.phases import AutogradPhases, NoGradientError, Phases
from tests.helpers import own_nets


class Residual(nn.Module):
    """A block whose convolution is used twice, with a shortcut."""

    def __init__(self, planes: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(planes, planes, 3, padding=1)
        self.normalisation = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Any:
        return self.relu(self.normalisation(self.convolution(self.convolution(x))) + x)


class Scale(nn.Module):
    """A module with a parameter of its own and a child: a unit as a whole."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(features) + 0.5)
        self.inner = nn.Linear(features, features)

    def forward(self, x: Tensor) -> Any:
        return self.inner(x * self.scale)


class TwoOutputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(6) + 0.5)

    def forward(self, x: Tensor) -> Any:
        return x * self.weight, x + self.weight


class UsesTwoOutputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.two = TwoOutputs()

    def forward(self, x: Tensor) -> Any:
        a, b = self.two(x)
        return a * b


def tied() -> nn.Module:
    first, second = nn.Linear(6, 6), nn.Linear(6, 6)
    second.weight = first.weight
    return nn.Sequential(first, nn.Tanh(), second)


class ReadsAnothersWeight(nn.Module):
    """Reads its parts' weights by itself, too: one whose gradient a kernel computes, and another."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.prelu = nn.Linear(6, 6), nn.PReLU()

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(self.prelu(self.linear(x)), self.linear.weight) * self.prelu.weight


def convolution_relu(*args: Any, **options: Any) -> nn.Module:
    return nn.Sequential(nn.Conv2d(*args, **options), nn.ReLU(inplace=True))


NETS = {
    "sequential": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            View(8 * 3 * 3, num_input_dims=3),
            nn.Linear(72, 5),
            nn.LogSoftmax(dim=-1),
        ),
        (4, 3, 12, 12),
    ),
    "one sample": (
        lambda: nn.Sequential(convolution_relu(3, 8, 3), convolution_relu(8, 4, 3), View(4 * 8 * 8)),
        (3, 12, 12),
    ),
    "concat": (
        lambda: nn.Sequential(
            Concat(
                -3, convolution_relu(3, 4, 1), nn.Sequential(nn.MaxPool2d(3, 1, 1), convolution_relu(3, 2, 1))
            ),
            convolution_relu(6, 4, 3, groups=2, bias=False),
        ),
        (2, 3, 7, 7),
    ),
    "residual, shared convolution": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3), Residual(8), Residual(8)),
        (2, 3, 9, 9),
    ),
    "module used twice": (lambda: nn.Sequential(*[nn.Linear(6, 6)] * 2, nn.Tanh()), (5, 6)),
    "tied weights": (tied, (5, 6)),
    "weights of others": (lambda: nn.Sequential(nn.Linear(6, 6), ReadsAnothersWeight()), (5, 6)),
    "rows of a linear": (
        lambda: nn.Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True), nn.Linear(6, 2)),
        (2, 3, 6),
    ),
    "vector": (lambda: nn.Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True), nn.Linear(6, 2)), (6,)),
    "other padding": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, padding="same"),
            nn.PReLU(4),
            nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),
        ),
        (2, 3, 7, 7),
    ),
    "own parameter and child": (lambda: nn.Sequential(Scale(6), nn.ReLU(inplace=True), Scale(6)), (4, 6)),
    "tuple of outputs": (UsesTwoOutputs, (4, 6)),
    "dropout in a recurrent unit": (
        lambda: nn.TransformerEncoderLayer(6, 2, 12, dropout=0.3, batch_first=True),
        (2, 5, 6),
    ),
    "other dimensions": (
        lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.ReLU(inplace=True), nn.Conv1d(4, 2, 3)),
        (2, 3, 9),
    ),
    "frozen layer": (lambda: nn.Sequential(nn.Linear(6, 6).requires_grad_(False), nn.Linear(6, 3)), (4, 6)),
}


def full_backward(
    net: nn.Module, input: Tensor, gradOutput: Tensor | None = None
) -> tuple[Any, Tensor | None, list[Tensor | None]]:
    for parameter in net.parameters():
        parameter.grad = None
    input = input.clone().requires_grad_()
    torch.manual_seed(7)
    output = net(input)
    output.backward(output.detach() if gradOutput is None else gradOutput)
    return output.detach(), input.grad, [p.grad for p in net.parameters()]


@pytest.mark.parametrize("name", NETS)
def test_phases_are_autograds_full_backward(name: str) -> None:
    make, shape = NETS[name]
    torch.manual_seed(0)
    net = make().double()
    reference = copy.deepcopy(net)
    input = torch.randn(shape, dtype=torch.float64)
    output, gradInput, gradParams = full_backward(reference, input)

    with AutogradPhases(net) as phases:
        phases.zeroGradParameters()
        torch.manual_seed(7)
        found = phases.updateOutput(input)
        torch.testing.assert_close(found, output)
        torch.testing.assert_close(phases.updateGradInput(input, found), gradInput)
        phases.accGradParameters(input, found)
        phases.accGradParameters(input, found)  # accumulates
        assert len(phases._wanted) == (2 if name == "weights of others" else 0)
    for parameter, gradient in zip(net.parameters(), gradParams, strict=True):
        if gradient is not None:
            assert gradient.abs().max() > 0
            torch.testing.assert_close(parameter.grad, 2 * gradient)
    for ours, theirs in zip(net.buffers(), reference.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs)  # statistics are updated once per updateOutput


@pytest.mark.parametrize("name", ["alexnet_owt", "googlenet"])
def test_phases_of_the_registrys_nets_unbatched(name: str) -> None:
    entry = registry.find(name)
    net = registry.build(entry, seed=3)
    input = torch.randn(entry.input_size)
    with AutogradPhases(net) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        gradInput = phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
    found = [parameter.grad for parameter in net.parameters()]
    _, expected_input, expected = full_backward(net, input)
    torch.testing.assert_close(gradInput, expected_input, rtol=1e-3, atol=1e-6)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours - theirs).abs().max() <= 1e-3 * theirs.abs().max()


class Trace(TorchDispatchMode):
    """The operators that ran, with the output mask of those that have one."""

    def __enter__(self) -> Any:
        self.operators: list[Any] = []
        return super().__enter__()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mask = args[-1] if "backward" in str(function) and isinstance(args[-1], list) else None
        self.operators.append((str(function), mask))
        return function(*args, **(kwargs or {}))


def test_each_phase_computes_its_own_gradients_only() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.ReLU(inplace=True),
        nn.BatchNorm2d(8),
        nn.Conv2d(8, 8, 3),
        View(8 * 5 * 5),
        nn.Linear(200, 4),
    )
    input = torch.randn(2, 3, 9, 9)
    with AutogradPhases(net) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        assert phases.note == ""
        with Trace() as grad_input:
            phases.updateGradInput(input, output)
        with Trace() as grad_parameters:
            phases.accGradParameters(input, output)

    def masks(trace: Any, name: str) -> list[Any]:
        return [mask for operator, mask in trace.operators if name in operator and mask is not None]

    assert masks(grad_input, "convolution_backward") == [[True, False, False]] * 2
    assert masks(grad_parameters, "convolution_backward") == [[False, True, True]] * 2
    assert masks(grad_input, "batch_norm_backward") == [[True, False, False]]
    assert masks(grad_parameters, "batch_norm_backward") == [[False, True, True]]
    # Linear: one product for the input gradient, one for the weight gradient.
    products = ("aten.mm.", "aten.addmm")
    assert sum(name.startswith(products) for name, _ in grad_input.operators) == 1
    assert sum(name.startswith(products) for name, _ in grad_parameters.operators) == 1
    # The threshold of the ReLU belongs to the input gradient.
    assert any("threshold_backward" in name for name, _ in grad_input.operators)
    assert not any("threshold_backward" in name for name, _ in grad_parameters.operators)


FREEZABLE: dict[str, Callable[[], nn.Sequential]] = {
    "linear": lambda: nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3)),
    "convolution": lambda: nn.Sequential(nn.Conv1d(4, 4, 3), nn.Conv1d(4, 2, 3)),
    "other module": lambda: nn.Sequential(nn.PReLU(4), nn.LayerNorm(6)),
    "hook on a parameter": lambda: nn.Sequential(nn.Linear(6, 6), _hooked(nn.Linear(6, 3))),
}


def _hooked(module: nn.Linear) -> nn.Linear:
    module.weight.register_hook(lambda gradient: None)
    return module


@pytest.mark.parametrize("name", FREEZABLE)
@pytest.mark.parametrize("phases_of", [AutogradPhases, lambda net: compile(net, (2, 4, 6), "mm")])
def test_parameters_are_frozen_later(name: str, phases_of: Callable[[nn.Module], Phases]) -> None:
    net = FREEZABLE[name]()
    if name == "hook on a parameter" and phases_of is not AutogradPhases:
        pytest.skip("not the engine's")
    input = torch.randn(2, 4, 6)
    phases = phases_of(net)
    for frozen in ((), (net[1].weight,), (net[1].weight, net[1].bias), tuple(net.parameters())):
        for parameter in frozen:
            parameter.requires_grad_(False)
        for parameter in net.parameters():
            parameter.grad = None
        output = phases.updateOutput(input)
        phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
        for parameter in net.parameters():
            assert (parameter.grad is None) == (not parameter.requires_grad)
    phases.close()


@pytest.mark.parametrize("phases_of", [AutogradPhases, lambda net: compile(net, (2, 4, 6), "mm")])
def test_a_layer_that_was_frozen_is_not_left_out_silently(
    phases_of: Callable[[nn.Module], Phases],
) -> None:
    net = nn.Sequential(nn.Linear(6, 6).requires_grad_(False), nn.Linear(6, 3))
    input = torch.randn(2, 4, 6)
    phases = phases_of(net)
    net[0].weight.requires_grad_()
    output = phases.updateOutput(input)
    phases.updateGradInput(input, output)
    with pytest.raises(RuntimeError, match=r"0\.weight: frozen .* prepare them again"):
        phases.accGradParameters(input, output)
    phases.close()


def test_a_frozen_weight_beside_a_trained_bias_gets_no_gradient() -> None:
    """oneDNN computes the two together."""
    net = nn.Conv2d(8, 16, 3)
    net.weight.requires_grad_(False)
    input = torch.randn(4, 8, 16, 16)
    with AutogradPhases(net) as phases:
        output = phases.updateOutput(input)
        phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
    assert net.weight.grad is None and net.bias is not None and net.bias.grad is not None


@pytest.mark.parametrize("engine", [False, True])
def test_a_group_norm_of_channels_last_images(engine: bool) -> None:
    """PyTorch crashes when it is asked for its parameters' gradients alone."""
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4)).double()
    net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    net[0].weight.data = net[0].weight.data.contiguous()
    input = torch.randn(2, 3, 8, 8, dtype=torch.float64).to(memory_format=torch.channels_last)
    output, _, wanted = full_backward(net, input)
    for parameter in net.parameters():
        parameter.grad = None
    phases: Phases = compile(net, tuple(input.shape), "mm") if engine else AutogradPhases(net)
    phases.updateOutput(input)
    phases.updateGradInput(input, output)
    phases.accGradParameters(input, output)
    for parameter, gradient in zip(net.parameters(), wanted, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)
    phases.close()


def test_phases_in_the_wrong_order_are_refused() -> None:
    net, input = nn.Linear(3, 2), torch.randn(4, 3)
    with AutogradPhases(net) as phases:
        with pytest.raises(RuntimeError, match="updateOutput"):
            phases.updateGradInput(input, torch.ones(4, 2))
        output = phases.updateOutput(input)
        with pytest.raises(RuntimeError, match="updateGradInput"):
            phases.accGradParameters(input, output)
        with pytest.raises(RuntimeError, match="same input"):
            phases.updateGradInput(input.clone(), output)


def test_an_input_changed_after_its_use_is_refused() -> None:
    class ChangesInput(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3, bias=False)

        def forward(self, x: Tensor) -> Any:
            middle = self.first(x)
            output = self.second(middle)
            middle.mul_(2)
            return output

    input = torch.randn(4, 3)
    with AutogradPhases(ChangesInput()) as phases:
        output = phases.updateOutput(input)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            phases.updateGradInput(input, output)


class Recurrent(nn.Module):
    """An LSTM started from a state that has a gradient: tuples go in and come out."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(4, 5)
        self.lstm = nn.LSTM(4, 5, batch_first=True)
        self.read = nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Any:
        state = self.start(x[:, 0]).unsqueeze(0)
        sequence, (last, cell) = self.lstm(x, (state, torch.tanh(state)))
        return {"scores": self.read(sequence), "states": (last, [cell, 3])}


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor, *, gates: dict[str, Tensor]) -> Any:
        return x * self.weight * gates["by"]


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    def forward(self, x: Tensor) -> Any:
        return self.gate(x, gates={"by": x.sigmoid()}), x.detach()


@pytest.mark.parametrize("make", [Recurrent, Gated])
def test_tensors_by_keyword_and_in_tables_are_followed(make: Any) -> None:
    torch.manual_seed(0)
    net = make().double()
    input = torch.randn(3, 6, 4, dtype=torch.float64)
    leaf = input.clone().requires_grad_()
    outputs = [t for t in tree_leaves(net(leaf)) if isinstance(t, torch.Tensor) and t.requires_grad]
    torch.autograd.backward(outputs, [output.detach() for output in outputs])
    expected = [parameter.grad for parameter in net.parameters()]
    net.zero_grad()

    with AutogradPhases(net) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        torch.testing.assert_close(phases.updateGradInput(input, output), leaf.grad)
        phases.accGradParameters(input, output)
    for parameter, gradient in zip(net.parameters(), expected, strict=True):
        assert gradient.abs().max() > 0
        torch.testing.assert_close(parameter.grad, gradient)


def test_a_gradient_of_another_structure_is_refused() -> None:
    input = torch.randn(2, 4)
    with AutogradPhases(Gated()) as phases:
        first, _ = phases.updateOutput(input)
        with pytest.raises(ValueError, match="gradOutput has the structure"):
            phases.updateGradInput(input, first)


def test_an_integer_input_has_a_gradient_of_zeros() -> None:
    net = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2))
    input = torch.tensor([0, 3, 3])
    with AutogradPhases(net) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        assert torch.equal(phases.updateGradInput(input, output), torch.zeros_like(input))
        phases.accGradParameters(input, output)
    found = [parameter.grad for parameter in net.parameters()]
    for parameter in net.parameters():
        parameter.grad = None
    result = net(input)
    result.backward(result.detach())
    for ours, parameter in zip(found, net.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter.grad)


def test_closing_gives_the_module_back() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.PReLU())
    with AutogradPhases(net) as phases:
        phases.updateOutput(torch.randn(1, 3))
        assert "forward" in vars(net[0])
    assert "forward" not in vars(net[0]) and "forward" not in vars(net[1])
    copy.deepcopy(net)(torch.randn(1, 3)).sum().backward()
    assert net[0].weight.grad is None


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_program_gives_the_gradients_of_a_whole_backward() -> None:
    """Nothing can stand in for a part of TorchScript's."""
    torch.manual_seed(3)
    plain = nn.Sequential(nn.Linear(4, 5), nn.Sequential(nn.Linear(5, 5), nn.Tanh()), nn.Linear(5, 2))
    net = nn.Sequential(torch.jit.trace(plain[:2], torch.randn(3, 4)), plain[2])
    inputs = torch.randn(2, 3, 4)
    for x in inputs:
        leaf = x.clone().requires_grad_()
        plain.zero_grad()
        plain(leaf).square().sum().backward()
        wanted = [parameter.grad for parameter in plain.parameters()]
        for parameter in plain.parameters():
            parameter.grad = None
        with AutogradPhases(net) as phases:
            output = phases.updateOutput(x)
            torch.testing.assert_close(phases.updateGradInput(x, 2 * output), leaf.grad)
            phases.accGradParameters(x, 2 * output)
        torch.testing.assert_close([parameter.grad for parameter in net.parameters()], wanted)


class Checkpointed(nn.Module):
    """``opaque``: torch.fx cannot follow it."""

    def __init__(self, use_reentrant: bool, opaque: bool = False) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.use_reentrant, self.opaque = use_reentrant, opaque

    def forward(self, x: Tensor) -> Any:
        found = checkpoint(self._part, x, use_reentrant=self.use_reentrant)
        return found + 1 if self.opaque and found.sum() < 1e9 else found

    def _part(self, x: Tensor) -> Any:
        return self.norm(self.first(x)).relu()


@pytest.mark.parametrize("phases_of", [lambda net, x: AutogradPhases(net), prepare])
@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize("opaque", [False, True])
def test_a_checkpointed_part_is_run_twice_as_in_a_full_backward(
    opaque: bool, use_reentrant: bool, phases_of: Callable[[nn.Module, Tensor], Any]
) -> None:
    torch.manual_seed(1)
    net = nn.Sequential(
        nn.Conv2d(3, 3, 1), Checkpointed(use_reentrant, opaque), nn.Flatten(), nn.Linear(64, 2)
    )
    same, input = copy.deepcopy(net), torch.rand(3, 3, 6, 6)
    output, grad_input, gradients = full_backward(same, input, torch.ones(3, 2))
    with phases_of(net, input) as phases:
        torch.testing.assert_close(phases.updateOutput(input), output)
        assert "also computes the gradients of 8 of 8 parameters" in phases.note
        torch.testing.assert_close(phases.updateGradInput(input, torch.ones(3, 2)), grad_input)
        assert all(parameter.grad is None for parameter in net.parameters())
        phases.accGradParameters(input, torch.ones(3, 2))
    torch.testing.assert_close([parameter.grad for parameter in net.parameters()], gradients)
    torch.testing.assert_close(dict(net.named_buffers()), dict(same.named_buffers()))
    assert net[1].norm.num_batches_tracked == 2


def test_outputs_in_a_dataclass_are_a_dict() -> None:
    net, x = own_nets.GivesDataclass(3, depth=2), torch.randn(2, 3)
    with AutogradPhases(net) as phases:
        output = phases.updateOutput(x)
        assert list(output) == ["scores", "loss"] and output["loss"] is None
        phases.updateGradInput(x, output)
        phases.accGradParameters(x, output)
    wanted = torch.autograd.grad(net(x).scores.square().sum() / 2, list(net.parameters()))
    torch.testing.assert_close([parameter.grad for parameter in net.parameters()], list(wanted))


class GivesItsWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return self.layer(x), self.layer.weight


@pytest.mark.parametrize("phases_of", [lambda net, x: AutogradPhases(net), prepare])
def test_a_parameter_among_the_outputs(phases_of: Callable[[nn.Module, Tensor], Any]) -> None:
    net, x = GivesItsWeight(), torch.rand(2, 3)
    output = net(x)
    wanted = torch.autograd.grad(output, list(net.parameters()), [torch.ones_like(one) for one in output])
    with phases_of(net, x) as phases:
        ones = tuple(torch.ones_like(one) for one in phases.updateOutput(x))
        phases.updateGradInput(x, ones)
        phases.accGradParameters(x, ones)
    torch.testing.assert_close([parameter.grad for parameter in net.parameters()], list(wanted))


def test_an_output_without_a_gradient_is_refused() -> None:
    net, x = own_nets.GivesIndices(), torch.randn(4, 6)
    with AutogradPhases(net) as phases, pytest.raises(NoGradientError, match="does not depend on its input"):
        phases.updateGradInput(x, phases.updateOutput(x))

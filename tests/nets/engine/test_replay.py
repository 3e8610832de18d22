"""Steps of a plan that are recorded, and run without Python from the third time on."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import EnginePhases, compile
from convnet_benchmarks.nets.engine.choice.tuning import RULE, Choice
from convnet_benchmarks.nets.engine.kernels.compiled import products
from convnet_benchmarks.nets.engine.kernels.compiled.sequence import CallsInTurn
from convnet_benchmarks.nets.engine.module_state import Contents, Gradients, Modes
from convnet_benchmarks.nets.engine.replay import Replay
from tests.helpers.commands import run_python
from tests.helpers.engine_conditions import NO_COMPILER, c_compiler, needs_compiler, threads
from tests.nets.engine.modules import largest_error

SHAPE = (2, 3, 9, 9)


def net(inside: nn.Module | None = None) -> nn.Module:
    """Pointwise convolutions, which compiled code runs, with something else between them."""
    torch.manual_seed(0)
    return (
        nn.Sequential(
            nn.Conv2d(3, 40, 1),
            nn.BatchNorm2d(40),
            nn.ReLU(),
            nn.MaxPool2d(2, 1),
            inside or nn.Identity(),
            nn.Conv2d(40, 5, 1),
        )
        .double()
        .eval()
    )


def plan(module: nn.Module) -> EnginePhases:
    return compile(module, SHAPE, "mm", dtype=torch.float64, inference=True)


def check_some_runs(phases: EnginePhases, module: nn.Module, count: int = 4) -> None:
    for seed in range(count):
        x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        with torch.no_grad():
            assert largest_error(phases.updateOutput(x), module(x)) < 1e-10


def recorded(phases: EnginePhases) -> list[bool]:
    """Returns of each recorded step whether it is a sequence of compiled calls."""
    return sequences(phases._phases.forward)


def sequences(replay: Replay) -> list[bool]:
    assert replay.recorded is not None
    return [isinstance(step, CallsInTurn) for step in replay.recorded]


@needs_compiler
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("inside", "steps"), [(None, [True]), (nn.Hardtanh(), [True, False, True])])
def test_compiled_calls_between_other_steps(count: int, inside: nn.Module | None, steps: list[bool]) -> None:
    module = net(inside)
    with threads(count), pytest.MonkeyPatch.context() as patch:
        patch.setattr("convnet_benchmarks.nets.engine.choice.tuning.Tuner.choose", _compiled_first)
        phases = plan(module)
        check_some_runs(phases, module)
        assert recorded(phases) == steps


def _compiled_first(_: object, key: str, candidates: dict[str, object], *__: object) -> Choice:
    return Choice(next((name for name in candidates if "panels" in name), next(iter(candidates))), RULE)


def test_without_a_compiler() -> None:
    module = net()
    with c_compiler(NO_COMPILER):
        phases = plan(module)
        check_some_runs(phases, module)
        assert not any(recorded(phases))


def test_whatever_changes_after_the_recording_is_seen() -> None:
    module = net()
    norm: nn.BatchNorm2d = module[1]
    first: nn.Conv2d = module[0]
    phases = plan(module)
    check_some_runs(phases, module)

    def add(tensor: Tensor | None) -> None:
        assert tensor is not None
        with torch.no_grad():
            tensor.add_(1)

    def exchange_memory() -> None:
        first.weight.data = first.weight.data + 1

    def exchange_buffer() -> None:
        assert norm.running_var is not None
        norm.running_var = norm.running_var * 3

    for change in (
        lambda: add(module[-1].bias),
        lambda: add(norm.running_mean),
        exchange_memory,
        exchange_buffer,
        lambda: module.load_state_dict(copy.deepcopy(net().state_dict())),
    ):
        change()
        check_some_runs(phases, module)
    first.weight.data.numpy()[:] += 1  # not counted by PyTorch
    phases.invalidate()
    check_some_runs(phases, module)


@needs_compiler
def test_many_calls_in_turn_depend_on_each_other() -> None:
    """Each reads all that the one before has written; on more threads than there are cores."""
    a, b, mean = torch.ones(32, 2), torch.ones(2, 3), torch.full((32, 32), 1 / 32)
    out, other = torch.zeros(32, 3), torch.zeros(32, 3)
    runs: list[int] = []

    def step() -> None:
        runs.append(1)
        products.mm(a, b, out, add=True)
        products.mm(mean, out, other)
        products.mm(mean, other, out)

    with threads(3):
        replay = Replay([step] * 50)
        for _ in range(4):
            replay.run()
    assert len(runs) == 100
    assert torch.equal(out, torch.full((32, 3), 4 * 50 * 2.0))


def trained() -> nn.Sequential:
    """Has layers that compiled code runs in all phases, with sums, ReLUs and gradients that are added to."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 40, 1, bias=False), Residual(), nn.MaxPool2d(2, 1), Residual()).double()


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.Sequential(
            nn.BatchNorm2d(40), nn.ReLU(), nn.Conv2d(40, 40, 1, bias=False), nn.BatchNorm2d(40, momentum=None)
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.inside(x) + x)


def check_training(phases: EnginePhases, module: nn.Module, same: nn.Module, count: int = 4) -> None:
    """Compares some runs with those of ``same`` on autograd, which begins as ``module`` is."""
    same.load_state_dict(module.state_dict())
    for seed in range(count):
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(SHAPE, generator=generator, dtype=torch.float64)
        leaf = x.clone().requires_grad_()
        exact = same(leaf)
        grad_out = torch.randn(exact.shape, generator=generator, dtype=torch.float64)
        before = [None if p.grad is None else p.grad.clone() for p in module.parameters()]
        wanted_of = [p for p in same.parameters() if p.requires_grad]
        wanted = torch.autograd.grad(exact, [leaf, *wanted_of], grad_out)
        torch.testing.assert_close(phases.updateOutput(x), exact.detach())
        torch.testing.assert_close(phases.updateGradInput(x, grad_out), wanted[0])
        phases.accGradParameters(x, grad_out)
        gradients = iter(wanted[1:])
        for parameter, old in zip(module.parameters(), before, strict=True):
            if parameter.requires_grad:
                new = next(gradients)
                torch.testing.assert_close(parameter.grad, new if old is None else old + new)
            elif old is not None:
                assert parameter.grad is not None and torch.equal(parameter.grad, old)
        torch.testing.assert_close(list(module.buffers()), list(same.buffers()))


@needs_compiler
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_phases_of_training(count: int) -> None:
    module, same = trained(), trained()
    with threads(count), pytest.MonkeyPatch.context() as patch:
        patch.setattr("convnet_benchmarks.nets.engine.choice.tuning.Tuner.choose", _compiled_only)
        phases = compile(module, SHAPE, "mm")
        check_training(phases, module, same)
        of_phases = phases._phases
        for replay in (of_phases.forward, of_phases.input_gradient, of_phases.weight_gradient):
            assert sequences(replay) == [True]


def _compiled_only(_: object, key: str, candidates: dict[str, object], *__: object) -> Choice:
    wanted = ("panels", "compiled", "")
    return Choice(next(name for word in wanted for name in candidates if word in name), RULE)


def test_whatever_changes_in_training_is_seen() -> None:
    module, same = trained(), trained()
    first, norm = module.get_submodule("0"), module.get_submodule("1.inside.0")
    assert isinstance(first, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d)
    phases = compile(module, SHAPE, "mm")
    check_training(phases, module, same)

    def new_gradients() -> None:
        for parameter in module.parameters():
            parameter.grad = torch.ones_like(parameter)

    def no_gradients() -> None:
        for parameter in module.parameters():
            parameter.grad = None

    def other_memory() -> None:
        assert first.weight.grad is not None
        first.weight.grad.data = first.weight.grad.data.clone()

    def statistics() -> None:
        norm.running_mean = torch.ones(40, dtype=torch.float64)

    def freeze() -> None:
        for net in (module, same):
            net.get_parameter("1.inside.0.weight").requires_grad_(False)

    for change in (
        lambda: torch.optim.SGD(module.parameters(), lr=0.1).step(),
        new_gradients,
        no_gradients,
        other_memory,
        statistics,
        freeze,
        lambda: phases.timed_report(),
    ):
        change()
        check_training(phases, module, same)


def test_a_weight_that_changes_between_two_phases() -> None:
    module, same = trained(), trained()
    phases = compile(module, SHAPE, "mm")
    check_training(phases, module, same)
    x = torch.randn(SHAPE, dtype=torch.float64)
    out = phases.updateOutput(x).clone()
    before = phases.updateGradInput(x, out).clone()
    with torch.no_grad():
        module[0].weight.mul_(2)
    assert largest_error(phases.updateGradInput(x, out), 2 * before) < 1e-10


def test_statistics_written_by_recorded_calls_are_seen_elsewhere() -> None:
    module = nn.Sequential(nn.Conv2d(3, 40, 1), nn.BatchNorm2d(40)).double()
    training = compile(module, SHAPE, "mm")
    inference = compile(module.eval(), SHAPE, "mm", inference=True)
    for seed in range(5):
        x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + seed
        module.train()
        training.updateOutput(x)
        module.eval()
        with torch.no_grad():
            assert largest_error(inference.updateOutput(x), module(x)) < 1e-10


def test_statistics_written_by_pytorch_are_seen() -> None:
    """It does not count its writes to them."""
    module = nn.Sequential(nn.Conv2d(3, 40, 1), nn.BatchNorm2d(40)).double()
    inference = compile(module.eval(), SHAPE, "mm", inference=True)
    for seed in range(5):
        x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + seed
        module.train()(x)
        module.eval()
        with torch.no_grad():
            assert largest_error(inference.updateOutput(x), module(x)) < 1e-10


@needs_compiler
def test_the_number_of_threads_may_change() -> None:
    """What is recorded must not write to memory that another phase has exchanged for some of more threads."""
    phases = compile(trained(), (5, 3, 90, 90), "mm")
    norm = next(layer for layer in phases._layers if layer.kind == "BatchNorm2d")
    x = torch.randn(5, 3, 90, 90, dtype=torch.float64)
    with threads(1):
        for _ in range(3):
            phases.updateOutput(x)
        assert phases._phases.forward.recorded is not None
        before = norm._kernel._sums.data_ptr()  # type: ignore[attr-defined]
    with threads(3):
        phases.updateGradInput(x, phases._output_value.data)
        assert norm._kernel._sums.data_ptr() != before  # type: ignore[attr-defined]
    with threads(1):
        phases.updateOutput(x)
        assert phases._phases.forward.recorded is None


def test_weights_are_compared_when_the_number_of_threads_has_changed() -> None:
    """They are rounded elsewhere."""
    module = nn.Sequential(nn.Conv2d(16, 32, 7, padding=3))
    x = torch.randn(2, 16, 24, 24)
    with threads(1):
        phases = compile(module, tuple(x.shape), "fft", check_weights=True)
        exact = module(x).detach()
        phases.updateOutput(x)
    for count in (2, 3, 1):
        with threads(count):
            assert largest_error(phases.updateOutput(x), exact) < 1e-4


def test_scratch_memory_that_another_phase_exchanges() -> None:
    """The first updateGradInput needs more of it, after updateOutput has been recorded."""
    module = nn.Sequential(nn.Conv2d(3, 5, 3), nn.Conv2d(5, 40, 3, 2)).double()
    phases = compile(module, SHAPE, "mm")
    x = torch.randn(SHAPE, dtype=torch.float64)
    exact = module(x).detach()
    for _ in range(3):
        assert largest_error(phases.updateOutput(x), exact) < 1e-10
    phases._memory.scratch(torch.float64, (1_000_000,))  # as a larger phase would
    for _ in range(3):
        assert largest_error(phases.updateOutput(x), exact) < 1e-10


def test_the_gradients_of_parameters() -> None:
    module = parts()
    parameters = list(module.parameters())
    gradients = Gradients(parameters)
    assert gradients.changed()
    for change in (
        lambda: setattr(parameters[0], "grad", torch.zeros_like(parameters[0])),
        lambda: setattr(parameters[0], "grad", torch.zeros_like(parameters[0])),
        lambda: parameters[1].requires_grad_(False),
        lambda: setattr(parameters[0], "grad", None),
    ):
        assert not gradients.changed()
        change()
        assert gradients.changed()


def parts() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 1, bias=False), nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()))


def add(tensor: Tensor) -> None:
    with torch.no_grad():
        tensor.add_(1)


def exchange_memory(module: nn.Sequential) -> None:
    module[0].weight.data = module[0].weight.data.clone()


def another_parameter(module: nn.Sequential) -> None:
    module[0].weight = nn.Parameter(module[0].weight.detach())


def a_first_bias(module: nn.Sequential) -> None:
    module[0].bias = nn.Parameter(torch.zeros(4))


def one_buffer_less(module: nn.Sequential) -> None:
    del module[1][0].num_batches_tracked


@pytest.mark.parametrize(
    "change",
    [
        lambda module: add(module[0].weight),
        lambda module: add(module[1][0].running_var),
        exchange_memory,
        another_parameter,
        a_first_bias,
        one_buffer_less,
    ],
)
def test_every_change_is_noticed_once(change: Callable[[nn.Sequential], None]) -> None:
    module = parts()
    contents = Contents(module)
    assert contents.changed()
    assert not contents.changed()
    change(module)
    assert contents.changed()
    assert not contents.changed()


def test_counting_batches_changes_no_result() -> None:
    module = parts()
    contents = Contents(module)
    contents.changed()
    add(module[1][0].num_batches_tracked)
    assert not contents.changed()


def test_modes_of_any_part() -> None:
    module = parts().eval()
    modes = Modes(module)
    module.eval()
    assert not modes.changed()
    module[1][0].train()
    assert modes.changed()
    module.eval()
    assert not modes.changed()


@needs_compiler
def test_steps_are_recorded_without_loading_the_compiler_of_pytorch() -> None:
    """A second of a first run."""
    code = """
import sys, torch
from torch import nn
from convnet_benchmarks.nets.engine import compile
x = torch.ones(2, 3, 5, 5)
phases = compile(nn.Conv2d(3, 40, 1), x.shape, "mm")
for _ in range(3):
    phases.updateOutput(x)
print(phases._phases.forward.recorded is not None, "torch._dynamo" in sys.modules)
"""
    assert run_python("-c", code).stdout.split("\n")[0] == "True False"

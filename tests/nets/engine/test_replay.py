"""Steps of a plan that are recorded, and run without Python from the third time on."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from nets.engine import EnginePhases, compile
from nets.engine.kernels.compiled import products
from nets.engine.kernels.compiled.sequence import CallsInTurn
from nets.engine.module_state import Contents, Modes
from nets.engine.replay import Replay
from nets.engine.workers import Workers
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
    assert phases._replay is not None and phases._replay._recorded is not None
    return [isinstance(step, CallsInTurn) for step in phases._replay._recorded]


@needs_compiler
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("inside", "steps"), [(None, [True]), (nn.Hardtanh(), [True, False, True])])
def test_compiled_calls_between_other_steps(count: int, inside: nn.Module | None, steps: list[bool]) -> None:
    module = net(inside)
    with threads(count), pytest.MonkeyPatch.context() as patch:
        patch.setattr("nets.engine.choice.tuning.Tuner.choose", _compiled_first)
        phases = plan(module)
        check_some_runs(phases, module)
        assert recorded(phases) == steps


def _compiled_first(_: object, key: str, candidates: dict[str, object], *__: object) -> str:
    return next((name for name in candidates if "panels" in name), next(iter(candidates)))


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
        replay = Replay([step] * 50, nn.Identity())
        for _ in range(4):
            replay.look()
            replay.run()
    assert len(runs) == 100
    assert torch.equal(out, torch.full((32, 3), 4 * 50 * 2.0))


def test_work_on_other_threads_is_not_recorded() -> None:
    seen: list[int] = []
    with threads(2):
        crew = Workers(2)
        replay = Replay([lambda: crew.run([lambda: seen.append(1)] * 2)], nn.Identity())
        for _ in range(5):
            replay.look()
            replay.run()
    assert len(seen) == 10


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

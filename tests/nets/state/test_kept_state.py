"""What passes change in a module is as it was after a plan was made."""

import copy
import random
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, spectral_norm

from convnet_benchmarks.nets.engine import compile, prepare
from convnet_benchmarks.nets.state.kept_state import KeptState


class Stats:
    def __init__(self) -> None:
        self.calls = 0


class Changing(nn.Module):
    """A layer whose forward changes what the module has, in every way."""

    replaced: Tensor
    grown: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.calls, self.log, self.last = 0, [[0]], deque([0], maxlen=2)
        self.by_name: dict[str, int] = {"calls": 0}
        self.sizes: set[int] = set()
        self.stats, self.array, self.cache = Stats(), numpy.zeros(2), torch.zeros(3)
        self.drawing = torch.Generator().manual_seed(1), random.Random(1), numpy.random.default_rng(1)
        self.hidden = [nn.BatchNorm1d(4)]
        self.register_buffer("replaced", torch.zeros(1))
        self.register_buffer("grown", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.log[0].append(self.calls)
        self.last.append(self.calls)
        self.by_name["calls"] += 1
        self.sizes.add(self.calls)
        self.stats.calls += 1
        self.array += 1
        self.cache[0] += 1
        self.added = x
        torch.rand(1, generator=self.drawing[0])
        self.drawing[1].random()
        self.drawing[2].random()
        self.hidden[0](x.detach().float())
        self.replaced = self.replaced + 1
        self.grown.resize_(len(self.grown) + 1).fill_(1)
        return self.layer(x)

    def told(self) -> list[Any]:
        hidden, drawing = self.hidden[0], self.drawing
        attributes = [self.calls, self.log, self.last, self.by_name, self.sizes, self.stats.calls]
        arrays: list[Any] = [self.array, self.cache, self.replaced, self.grown, hidden.running_mean]
        drawn = [drawing[0].get_state(), drawing[1].getstate(), drawing[2].bit_generator.state]
        return [
            repr(one)
            for one in (*attributes, *(one.tolist() for one in arrays), *drawn, "added" in vars(self))
        ]


class Scripted(nn.Module):
    """For TorchScript, which keeps the attributes to itself."""

    calls: int
    seen: Tensor | None
    log: list[int]
    by_name: dict[str, Tensor]
    replaced: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.calls, self.seen, self.last, self.sum = 0, None, torch.zeros(1), torch.zeros(1)
        self.log, self.by_name = [1], {"first": torch.zeros(1)}
        self.register_buffer("replaced", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.seen = x
        self.last = x.mean().reshape(1)
        self.sum.add_(1)
        self.log.append(3)
        self.by_name["second"] = x
        self.replaced = self.replaced + 1
        return self.layer(x)


def told_by(program: Any) -> str:
    names = ("calls", "seen", "last", "sum", "log", "by_name", "replaced", "training")
    return repr([getattr(program, name) for name in names])


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_a_program_keeps_to_itself() -> None:
    program, x = torch.jit.script(Scripted()), torch.rand(2, 4)
    before = told_by(program)
    kept = KeptState(program)
    program(x)
    assert told_by(program) != before and kept.changes() is not None
    kept.restore()
    assert told_by(program) == before and kept.changes() is None
    with prepare(program, x, backend="auto") as phases:
        assert told_by(program) == before
        phases.updateOutput(x)
        assert program.calls == 1


@pytest.mark.parametrize("backend", ["auto", "mm", "stock"])
@pytest.mark.parametrize("inference", [False, True])
def test_preparing_changes_nothing(backend: str, inference: bool) -> None:
    net = nn.Sequential(nn.Linear(4, 4), Changing())
    before = net[1].told()
    with prepare(net, torch.rand(2, 4), backend=backend, inference=inference) as phases:
        assert net[1].told() == before
        phases.updateOutput(torch.rand(2, 4))
        assert net[1].calls == 1


class Writes(nn.Module):
    """As a net that keeps its weights small, and an average of another's."""

    def __init__(self, of_buffers: bool, counted: bool) -> None:
        super().__init__()
        self.layer, self.of_buffers, self.counted = nn.Linear(4, 4), of_buffers, counted
        self.average = nn.Parameter(torch.ones(4), requires_grad=False)
        self.register_buffer("factor", torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        for one in self.buffers() if self.of_buffers else self.parameters():
            if self.counted:
                with torch.no_grad():
                    one.mul_(0.5)
            else:
                one.data.mul_(0.5)
        return self.layer(x) * self.factor + self.average


def _halved_by_a_hook() -> nn.Module:
    def halve(layer: Any, _: object) -> None:
        layer.weight.data.mul_(0.5)

    layer = nn.Linear(4, 4)
    layer.register_forward_pre_hook(halve)
    return layer


@pytest.mark.parametrize("of_buffers", [False, True])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("backend", ["auto", "stock"])
def test_preparing_writes_to_no_parameter(backend: str, counted: bool, of_buffers: bool) -> None:
    torch.manual_seed(1)
    net, x = nn.Sequential(nn.Linear(4, 4), Writes(of_buffers, counted), nn.ReLU()), torch.rand(2, 4)
    same = copy.deepcopy(net)
    with prepare(net, x, backend=backend) as phases:
        for _ in range(2):
            torch.testing.assert_close(net.state_dict(), same.state_dict())
            torch.testing.assert_close(phases.updateOutput(x), same(x).detach())


class Replaces(nn.Module):
    """Exchanges its layers, or one's weight for a new one."""

    def __init__(self, weight: bool) -> None:
        super().__init__()
        self.first, self.second, self.weight = nn.Linear(4, 4), nn.Linear(4, 4), weight

    def forward(self, x: Tensor) -> Tensor:
        if self.weight:
            self.first.weight = nn.Parameter(self.first.weight.detach() / 2)
        else:
            self.first, self.second = self.second, self.first
        return self.first(x)


@pytest.mark.parametrize("weight", [False, True])
def test_replaced_parts_are_put_back(weight: bool) -> None:
    net, x = Replaces(weight), torch.rand(2, 4)
    same, parts = copy.deepcopy(net), [*net.modules(), *net.parameters()]
    with prepare(net, x, backend="stock") as phases:
        assert all(
            one is other for one, other in zip([*net.modules(), *net.parameters()], parts, strict=True)
        )
        for _ in range(3):
            torch.testing.assert_close(phases.updateOutput(x), same(x).detach())


class WritesToItsInput(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x.clone() if x.requires_grad else x).mul_(2)


def test_preparing_does_not_write_to_the_input() -> None:
    x, wanted = torch.ones(2, 4), torch.ones(2, 4)
    with prepare(WritesToItsInput(), x, backend="auto") as phases:
        assert torch.equal(x, wanted)
        assert torch.equal(phases.updateOutput(x), 2 * wanted)


def test_compiling_and_timing_write_to_no_parameter() -> None:
    torch.manual_seed(1)
    net, x = nn.Sequential(nn.Linear(4, 4), _halved_by_a_hook()), torch.rand(2, 4)
    same = copy.deepcopy(net)
    with compile(net, (2, 4), backend="mm") as phases:
        torch.testing.assert_close(phases.updateOutput(x), same(x).detach())
        phases.timed_report()
    torch.testing.assert_close(dict(net.named_parameters()), dict(same.named_parameters()))


def test_an_embedding_that_limits_its_norms() -> None:
    net = nn.Sequential(nn.Embedding(5, 3, max_norm=0.1), nn.Linear(3, 2))
    before = net[0].weight.detach().clone()
    with prepare(net, torch.tensor([[0, 3]]), backend="auto"):
        assert torch.equal(net.state_dict()["0.weight"], before)


@pytest.mark.parametrize("normed", [parametrizations.spectral_norm, spectral_norm])
def test_spectral_norm_takes_no_step(normed: Callable[[nn.Module], nn.Module]) -> None:
    net = nn.Sequential(normed(nn.Conv2d(3, 4, 3)), nn.ReLU(), nn.Flatten(), normed(nn.Linear(64, 2)))
    before = {name: one.clone() for name, one in net.state_dict().items()}
    with prepare(net, torch.rand(2, 3, 6, 6), backend="mm"):
        torch.testing.assert_close(net.state_dict(), before, rtol=0, atol=0)


def test_lazy_parts_stay_as_their_first_pass_made_them() -> None:
    net = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.Linear(4, 2))
    with KeptState(net):
        net(torch.rand(3, 5))
    assert net[0].in_features == 5 and net[1].num_features == 4
    assert net(torch.rand(3, 5)).shape == (3, 2)


def test_what_has_changed_is_told() -> None:
    net = nn.Sequential(nn.Linear(4, 4), Changing())
    kept = KeptState(net)
    assert kept.changes() is None
    net[1].stats.calls += 1
    assert kept.changes() == ("1", net[1], "its forward changes the attribute stats")
    kept.restore()
    net[1].grown.add_(1)
    assert kept.changes() == ("1", net[1], "its forward changes a buffer")
    kept.restore()
    kept = KeptState(net, parameters=True)
    net[0].weight.data[0, 0] = torch.nan
    assert kept.changes() == ("0", net[0], "its forward changes a parameter")
    kept = KeptState(net, parameters=True)
    assert kept.changes() is None
    numpy.random.random()
    assert kept.changes() == ("", None, "its forward draws numbers of its own")
    kept.restore()
    assert kept.changes() is None


def test_objects_of_other_packages_are_left_alone() -> None:
    net, options = Changing(), SimpleNamespace(calls=0)
    vars(net)["options"] = options
    with KeptState(net):
        options.calls += 1
    assert options.calls == 1

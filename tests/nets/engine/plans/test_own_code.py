"""Forwards in Python that do more than call layers: they change, draw or ask for things while traced."""

import copy
import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import prepare

Forward = Callable[["Own", Tensor], Tensor]


class Own(nn.Module):
    """Two layers that may share a weight, a buffer, an attribute, and a forward that is given."""

    calls: Tensor

    def __init__(self, run: Forward) -> None:
        super().__init__()
        self.run = run
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)
        self.register_buffer("calls", torch.zeros(6))
        self.step = 0

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self, x)


def counts(net: Own, x: Tensor) -> Tensor:
    net.calls += 1
    return net.a(x) * net.calls


def alternates(net: Own, x: Tensor) -> Tensor:
    net.step += 1
    return net.a(x) if net.step % 2 else net.b(x)


def asks(net: Own, x: Tensor) -> Tensor:
    return net.a(x * 2 if isinstance(x, Tensor) else x)


def writes_through_a_slice(net: Own, x: Tensor) -> Tensor:
    hidden = net.a(x)
    hidden[:, :3].mul_(0.5)
    return net.b(hidden)


def writes_through_a_view(net: Own, x: Tensor) -> Tensor:
    hidden = net.a(x)
    hidden.view(-1, 3).add_(1)
    return net.b(hidden)


def draws(net: Own, x: Tensor) -> Tensor:
    return net.a(x) + torch.randn(6, dtype=x.dtype)


def draws_in_double(net: Own, x: Tensor) -> Tensor:
    return net.a(x) + torch.randn(6, dtype=torch.float64)


def drops_layers(net: Own, x: Tensor) -> Tensor:
    return net.b(net.a(x) if random.random() < 0.5 else x)


def averages(net: Own, x: Tensor) -> Tensor:
    y = net.a(x)
    if net.training:
        net.calls.mul_(0.9).add_(0.1 * y.detach().mean(0))
    return y - net.calls


def with_a_constant(net: Own, x: Tensor) -> Tensor:
    return net.b(net.a(x) * torch.tensor(2.0, dtype=x.dtype))


FORWARDS: list[Forward] = [
    *(counts, alternates, asks, writes_through_a_slice, writes_through_a_view, draws, drops_layers, averages),
    *(draws_in_double, with_a_constant),
]


def passes(net: nn.Module, one_pass: Callable[[], tuple[Tensor, Tensor]]) -> list[list[Tensor]]:
    """Returns output and all gradients of three passes, then the buffers."""
    kept = []
    random.seed(3)
    torch.manual_seed(9)
    for _ in range(3):
        for parameter in net.parameters():
            parameter.grad = None
        found = [one.detach().clone() for one in one_pass()]
        grads = [torch.zeros_like(one) if one.grad is None else one.grad for one in net.parameters()]
        kept.append([*found, *grads])
    return [*kept, [buffer.clone() for buffer in net.buffers()]]


def check(net: nn.Module, x: Tensor, backend: str) -> str:
    """Compares the engine with autograd; returns the report's note."""
    reference = copy.deepcopy(net)
    before = {name: value.clone() for name, value in net.state_dict().items()}

    def autograd() -> tuple[Tensor, Tensor]:
        leaf = x.clone().requires_grad_()
        output = reference(leaf)
        output.backward(output.detach())
        assert leaf.grad is not None
        return output, leaf.grad

    with prepare(net, x, backend=backend) as phases:
        torch.testing.assert_close(net.state_dict(), before, rtol=0, atol=0)

        def ours() -> tuple[Tensor, Tensor]:
            output = phases.updateOutput(x).clone()
            gradient = phases.updateGradInput(x, output)
            phases.accGradParameters(x, output)
            return output, gradient

        torch.testing.assert_close(passes(net, ours), passes(reference, autograd))
        return phases.report().note


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("backend", ["auto", "mm"])
@pytest.mark.parametrize("run", FORWARDS)
def test_it_computes_what_the_forward_does(run: Forward, backend: str, training: bool) -> None:
    torch.manual_seed(1)
    check(Own(run).double().train(training), torch.randn(4, 6).double(), backend)


@pytest.mark.parametrize("run", [draws, draws_in_double, drops_layers])
def test_preparing_leaves_the_generators_alone(run: Forward) -> None:
    net, x = Own(run).double(), torch.randn(4, 6).double()
    before = torch.get_rng_state(), random.getstate()
    with prepare(net, x, backend="mm"):
        torch.testing.assert_close(torch.get_rng_state(), before[0])
        assert random.getstate() == before[1]


@pytest.mark.parametrize(
    ("run", "note"),
    [
        (counts, "joins the engine's layers: Own: its forward changes a buffer"),
        (alternates, "joins the engine's layers: Own: its forward changes the attribute step"),
        (draws, "joins the engine's layers: randn: draws numbers of its own"),
        (draws_in_double, "joins the engine's layers: Own: its forward draws numbers of its own"),
        (asks, "joins the engine's layers: Own: its forward computes something else while it is traced"),
        (with_a_constant, ""),
    ],
)
def test_the_report_says_why(run: Forward, note: str) -> None:
    found = check(Own(run).double(), torch.randn(4, 6).double(), "mm")
    assert found.endswith(note) and bool(found) == bool(note)


def random_forward(seed: int) -> Forward:
    """Returns layers again and again, with operations in place, through views and on several values."""

    def run(net: Own, x: Tensor) -> Tensor:
        rng = random.Random(seed)
        values = [x]
        for _ in range(rng.randint(2, 7)):
            made = rng.choice([net.a, net.b])(rng.choice(values))
            kind = rng.randrange(8)
            if kind == 0:
                made.mul_(0.5)
            elif kind == 1:
                made[:, 1:4].add_(1)
            elif kind == 2:
                made.view(-1, 2)[:, 0].mul_(-1)
            elif kind == 3:
                made += rng.choice(values)
            elif kind == 4:
                made = made.relu_().t().contiguous().t()
            elif kind == 5:
                made = torch.cat([made[:, 3:], made[:, :3].tanh()], 1)
            elif kind == 6 and len(values) > 1:
                made = made * values.pop().sigmoid()
            values.append(made)
        return sum(values[1:], values[0] * 0)

    return run


@pytest.mark.parametrize("shared", [True, False])
def test_random_forwards(shared: bool) -> None:
    first = random.randrange(10**6)
    print("seed", first)
    for seed in range(first, first + 8):
        torch.manual_seed(seed)
        net = Own(random_forward(seed)).double()
        if shared:
            net.b.weight = net.a.weight
        check(net, torch.randn(4, 6).double(), "mm")

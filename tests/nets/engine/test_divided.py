"""Runs of layers that the engine divides among worker threads."""

import contextlib
from collections.abc import Collection, Iterator
from itertools import pairwise, product
from typing import Any

import pytest
import torch
from torch import nn

from nets.engine import compile
from nets.engine.choice.tuning import Candidates, Tuner
from nets.registry import NETS
from tests.nets.engine.modules import MODULES, _narrowed, check, exact_results, largest_error, run


@contextlib.contextmanager
def divided_from(multiply_adds: int, positions: int) -> Iterator[None]:
    """Plans made here leave runs of so much work to two worker threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nets.engine.division._DIVIDED_MULTIPLY_ADDS", multiply_adds)
        patch.setattr("nets.engine.layers.weighted._WORKERS_POSITIONS", positions)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def everything_divided() -> contextlib.AbstractContextManager[None]:
    return divided_from(0, 0)


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        *product(MODULES, ["mm", "direct"]),
        *(
            pytest.param(name, "winograd", marks=[pytest.mark.slow] * (name != "concat"))  # compiles much
            for name in MODULES
        ),
    ],
)
def test_modules_divided_among_workers(name: str, backend: str) -> None:
    torch.manual_seed(1)
    with everything_divided():
        check(MODULES[name](), (5, 3, 9, 9) if name == "classifier" else (5, 3, 11, 11), backend)


@pytest.mark.parametrize("summed_bytes", [0, 4 * 4 * 9 * 8, 1 << 20])
@pytest.mark.parametrize("name", ["convolutions", "concat", "tied", "classifier", "frozen", "one bias"])
def test_weight_gradients_divided_among_workers(
    name: str, summed_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By output channel, by image, and some this and some that way, wherever there is one."""
    torch.manual_seed(1)
    monkeypatch.setattr("nets.engine.choice.algorithms._SUMMED_BYTES", summed_bytes)
    choose = Tuner.choose

    def divided(
        self: Tuner, key: str, found: Candidates, preferred: Collection[str] = (), *_less_work: Any
    ) -> str:
        ways = {name: run for name, run in found.items() if name.endswith(("by output)", "sum by image)"))}
        return choose(self, key, ways or found, preferred)

    monkeypatch.setattr(Tuner, "choose", divided)
    made = MODULES[name]()
    shape = (5, 3, 9, 9) if name == "classifier" else (5, 3, 11, 11)
    with everything_divided():
        phases = check(made, shape, "mm")
        picks = [layer.algorithms.get("accGradParameters", "") for layer in phases.report().layers]
        assert any("sum by image" in pick or "by output" in pick for pick in picks)
        if name == "one bias":
            assert len(phases._phases.weight_gradient.steps) == 2, (
                "both would add to the bias at the same time"
            )
        # Gradients that were there before, in an order that kernels cannot add to.
        x = torch.randn(shape, dtype=torch.float64)
        grad_out = torch.randn_like(phases.updateOutput(x))
        exact = exact_results(made, x, grad_out)[2:]
        for parameter in made.parameters():
            grad = torch.ones_like(parameter).movedim(0, -1).contiguous().movedim(-1, 0)
            parameter.grad = grad if parameter.requires_grad else None
        phases.updateGradInput(x, grad_out)
        phases.accGradParameters(x, grad_out)
        found = [parameter.grad for parameter in made.parameters() if parameter.requires_grad]
        for have, want in zip(found, exact, strict=True):
            assert have is not None and largest_error(have - 1, want) < 1e-10


def test_workers_do_not_disturb_each_other() -> None:
    """Gradients share memory: a worker that is ahead must not write where another still reads."""
    torch.manual_seed(0)
    widths = [3, 4, 16, 2, 8]
    blocks = [
        nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 1, 1))
        for a, b in pairwise(widths)
    ]
    shape = (5, 3, 24, 24)
    with everything_divided():
        phases = compile(nn.Sequential(*blocks), shape, "mm")
    picks = [layer.algorithms for layer in phases.report().layers if layer.kind.startswith("Conv")]
    assert all("by image)" in pick["updateGradInput"] for pick in picks)
    x, grad_out = torch.randn(shape), torch.randn(5, 8, 24, 24)
    first = [result.clone() for result in run(phases, x, grad_out)]
    for have, want in zip(first, exact_results(phases.module, x, grad_out), strict=True):
        assert largest_error(have, want) < 1e-5
    for _ in range(30):
        assert all(map(torch.equal, run(phases, x, grad_out), first))


def test_a_long_run_of_layers_is_divided_and_a_short_one_not() -> None:
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
    for batch, divided in ((1, False), (2, False), (80, True)):
        with divided_from(20_000_000, 64):
            report = compile(module, (batch, 3, 20, 20), "mm").report()
        assert [("by image" in layer.algorithms["updateOutput"]) for layer in report.layers] == [divided] * 2


def test_branches_divided_among_workers() -> None:
    torch.manual_seed(0)
    net = NETS["googlenet"]
    with everything_divided():
        check(_narrowed(net), (2, *net.input_size), "mm")

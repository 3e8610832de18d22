"""The choice of ways: what is wrong, fails or is slower is out, and what was timed is not timed again."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from convnet_benchmarks.nets.gpu_engine import choice
from convnet_benchmarks.nets.gpu_engine.choice import Chooser
from convnet_benchmarks.nets.gpu_engine.shape import Convolution
from convnet_benchmarks.nets.gpu_engine.ways import Pass
from convnet_benchmarks.nets.phases import FORWARD, PHASES

SHAPE = Convolution(3, 4, 10, (5, 5), (3, 3), (1, 1), (1, 1))
NAMES = ("cudnn", "mm(exact)", "mm(wrong image)", "mm(fails)", "other")


def one_pass() -> Pass:
    torch.manual_seed(1)
    x, weight, bias = torch.randn(3, 4, 5, 5), torch.randn(10, 4, 3, 3), torch.randn(10)
    return Pass(SHAPE, x, weight, bias, torch.randn(3, 10, 5, 5))


def plain(one: Pass, phase: str) -> Tensor:
    if phase == FORWARD:
        return torch.conv2d(one.x, one.weight, one.bias, 1, 1)
    assert one.gradient is not None
    of_input, of_weight, _ = torch.ops.aten.convolution_backward.default(
        one.gradient, one.x, one.weight, None, *one.sizes, [True, True, False]
    )
    return of_input if phase == PHASES[1] else of_weight


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ways that were timed; they take the milliseconds of ``ms``."""
    ms = {"cudnn": 2.0, "mm(exact)": 1.0, "mm(wrong image)": 0.1, "other": 0.1}
    timed: list[str] = []

    def ways(shape: Convolution, phase: str, channels_last: bool) -> dict[str, Callable[[Pass], Tensor]]:
        def wrong(one: Pass) -> Tensor:
            found = plain(one, phase)
            found[1 if phase != PHASES[2] else SHAPE.out_channels // 2] += (
                1  # neither at the beginning nor the end
            )
            return found

        def fails(one: Pass) -> Tensor:
            raise RuntimeError("no kernel")

        found = dict.fromkeys(NAMES, lambda one: plain(one, phase))
        return {**found, "mm(wrong image)": wrong, "mm(fails)": fails}

    def milliseconds(run: Callable[[], object], slow: float = 0.0) -> float:
        name = current[-1]
        timed.append(name)
        return ms[name]

    current: list[str] = []
    own = Chooser.__init__

    def init(self: Chooser, *args: object, **kwargs: object) -> None:
        own(self, *args, **{**kwargs, "told": current.append})  # type: ignore[arg-type]

    monkeypatch.setattr(Chooser, "__init__", init)
    monkeypatch.setattr(choice, "ways", ways)
    monkeypatch.setattr(choice, "milliseconds", milliseconds)
    monkeypatch.setattr(choice, "machine_key", lambda: "a card")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    return timed


def test_the_fastest_right_way_is_taken(tried: list[str]) -> None:
    chosen = Chooser(False, ("cudnn", "mm")).choose(one_pass())
    assert chosen.names == dict.fromkeys(PHASES, "mm(exact)")
    for phase in PHASES:
        ways = chosen.tried[phase]
        assert "PyTorch" in ways["mm(wrong image)"].why_not
        assert ways["mm(fails)"].why_not == "RuntimeError: no kernel"
        assert "other" not in ways


def test_an_inexact_way_is_out(tried: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    own = choice.ways

    def ways(shape: Convolution, phase: str, channels_last: bool) -> dict[str, Callable[[Pass], Tensor]]:
        return {**own(shape, phase, channels_last), "mm(exact)": lambda one: plain(one, phase) * (1 + 3e-5)}

    monkeypatch.setattr(choice, "ways", ways)
    chosen = Chooser(False, ("cudnn", "mm")).choose(one_pass())
    assert chosen.names == dict.fromkeys(PHASES, "cudnn")
    assert "float64" in chosen.tried[FORWARD]["mm(exact)"].why_not


def test_times_are_kept(tried: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        chooser = Chooser(False, ("cudnn", "mm"), tmp_path / "times.json")
        assert chooser.choose(one_pass()).names[FORWARD] == "mm(exact)"
        chooser.save()
        assert tried == ["cudnn", "mm(exact)"] * 3
    chooser = Chooser(False, ("cudnn", "mm", "other"), tmp_path / "times.json")
    assert chooser.choose(one_pass()).names[FORWARD] == "other"


def test_without_time_pytorchs_own_way_is_taken(tried: list[str]) -> None:
    chooser = Chooser(False, ("cudnn", "mm"), None, -1.0)
    assert chooser.choose(one_pass()).names == dict.fromkeys(PHASES, "cudnn")
    assert set(tried) == {"cudnn"}

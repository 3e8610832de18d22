"""Inference of a batch in pieces of some images."""

import time
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import compilation, compile
from convnet_benchmarks.nets.engine.choice import pieces
from convnet_benchmarks.nets.engine.choice.pieces import IMAGES_OF_PIECE
from convnet_benchmarks.nets.engine.plan import EnginePhases

BATCH = 3 * IMAGES_OF_PIECE
SHAPE = (BATCH, 3, 9, 8)


def net() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5)
    ).eval()


def in_pieces(whole: EnginePhases, in_pieces: EnginePhases, input: Tensor) -> EnginePhases:
    return in_pieces


def test_pieces_give_what_the_batch_gives_and_follow_the_weights() -> None:
    module, x = net(), torch.randn(SHAPE)
    with patch.object(compilation, "faster", in_pieces):
        plan = compile(module, SHAPE, inference=True)
    assert plan._input_value.shape[0] == IMAGES_OF_PIECE
    for _ in range(4):
        torch.testing.assert_close(plan.updateOutput(x), module(x).detach(), rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            module[0].weight.mul_(-0.5)
    assert plan.timed_report().roof is not None
    torch.testing.assert_close(plan.updateOutput(x), module(x).detach(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=rf"inputs of \({BATCH}, 3, 9, 8\).*not \({IMAGES_OF_PIECE}, 3"):
        plan.updateOutput(x[:IMAGES_OF_PIECE])
    plan.close()


class Centred(nn.Module):
    """Takes the mean of the batch away."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0, keepdim=True)


class OfThisBatch(nn.Module):
    """Takes one size of batch only."""

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(BATCH, 3 * 9 * 8)


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Conv2d(3, 4, 1), Centred()).eval(),
        nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).train(),
        nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, track_running_stats=False)).eval(),
        nn.Sequential(nn.Conv2d(3, 4, 1), nn.Dropout(0.5)).train(),
        nn.Sequential(nn.Flatten(), nn.Linear(216, 4), nn.LogSoftmax(0)).eval(),
        nn.Sequential(nn.Conv2d(3, 3, 1), OfThisBatch()).eval(),
    ],
    ids=lambda module: f"{type(module).__name__}-{type(list(module.children())[-1]).__name__}",
)
def test_nets_whose_images_depend_on_each_other_are_not_taken_apart(module: nn.Module) -> None:
    def never(*_: Any) -> EnginePhases:
        raise AssertionError("taken apart")

    with patch.object(compilation, "faster", never):
        compile(module, SHAPE, inference=True).updateOutput(torch.randn(SHAPE))


@pytest.mark.parametrize("batch", [1, 2, IMAGES_OF_PIECE, 2 * IMAGES_OF_PIECE + 1])
def test_batches_that_are_not_several_pieces_stay_whole(batch: int) -> None:
    module, shape = net(), (batch, *SHAPE[1:])
    x = torch.randn(shape)
    with patch.object(compilation, "faster", in_pieces):
        plan = compile(module, shape, inference=True)
    torch.testing.assert_close(plan.updateOutput(x), module(x).detach(), rtol=1e-4, atol=1e-5)


class Sleeper:
    """Stands for a plan that takes some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.closed = seconds, False

    def updateOutput(self, input: Tensor) -> None:
        time.sleep(self.seconds)

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("seconds", [(0.001, 0.02), (0.02, 0.001)])
def test_the_faster_plan_is_kept_and_the_other_closed(seconds: tuple[float, float]) -> None:
    plans: Any = [Sleeper(one) for one in seconds]
    chosen: Any = pieces.faster(plans[0], plans[1], torch.zeros(1))
    assert chosen.seconds == min(seconds)
    assert [plan.closed for plan in plans] == [plan is not chosen for plan in plans]

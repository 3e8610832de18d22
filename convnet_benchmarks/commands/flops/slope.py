"""The slope test: a net with 1, 2 and 4 of one layer; what is counted must grow by what the layer does."""

import copy
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.phases import forward_only
from convnet_benchmarks.timing.layers import called_layers
from convnet_benchmarks.workload.operations.counting import count_forward, count_phases
from convnet_benchmarks.workload.tensors import tensors_in

REPEATS = (1, 2, 4)


@dataclass(frozen=True)
class SlopePoint:
    """The net with ``repeats`` of the layer. ``total``: all operations; ``matrix``: flop_counter's.

    ``multiply_adds``: matrix / 2 for one sample and one product (training does three with each weight).
    ``slope``: the growth of multiply_adds for one layer more, since the point before.
    """

    repeats: int
    total: int
    matrix: int
    multiply_adds: float
    slope: float | None
    ratio: float | None  # slope / expected


@dataclass(frozen=True)
class Slope:
    """``expected``: the multiply-adds of the layer for one sample, from its sizes."""

    path: str
    kind: str
    expected: int
    points: tuple[SlopePoint, ...]


def repeatable_layer(module: nn.Module, input: Any, wanted: str | None) -> tuple[str, int]:
    """Returns a convolution or Linear layer whose output has its input's shape, and its multiply-adds for
    a sample.

    The one called ``wanted``, else the one with the most multiply-adds. Raises UserError if there is none.
    """
    found: dict[str, int] = {}
    with ExitStack() as hooks, torch.no_grad(), forward_only():
        for path, layer in called_layers(module):
            if not isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Linear)):
                continue

            def record(
                layer: nn.Module, args: tuple[torch.Tensor, ...], output: torch.Tensor, path: str = path
            ) -> None:
                if args[0].shape == output.shape:
                    found[path] = expected_multiply_adds(layer, tuple(output.shape))

            hooks.enter_context(layer.register_forward_hook(record))
        module(input)
    if not found:
        raise UserError(
            "option --parts slope: the net has no convolution or Linear layer that can follow itself"
        )
    if wanted is None:
        wanted = max(found, key=lambda path: found[path])
    if wanted not in found:
        layers = dict(module.named_modules())
        problem = f"'{wanted}' cannot follow itself" if wanted in layers else f"there is no layer '{wanted}'"
        raise UserError(f"option --slope-layer: {problem}; accepted: {', '.join(found)}")
    return wanted, found[wanted]


def expected_multiply_adds(layer: nn.Module, output_shape: tuple[int, ...]) -> int:
    """Returns every weight of a Linear layer once; those of a convolution once for each position of the
    output.
    """
    assert isinstance(layer.weight, torch.Tensor)
    per_sample = torch.Size(output_shape[1:]).numel()
    return per_sample * layer.weight[0].numel()


def repeated(module: nn.Module, path: str, times: int) -> nn.Module:
    """Returns a copy of ``module`` with ``times`` of the layer at ``path``, one after the other."""
    whole = copy.deepcopy(module)
    parent, _, name = path.rpartition(".")
    layer = whole.get_submodule(path)
    copies = [copy.deepcopy(layer) for _ in range(times)]
    setattr(whole.get_submodule(parent), name, nn.Sequential(*copies))
    return whole


def measure_slope(module: nn.Module, input: Any, wanted: str | None, training: bool) -> Slope:
    """Returns the slope test by counting, on tensors that may lie on the meta device."""
    path, expected = repeatable_layer(module, input, wanted)
    points: list[SlopePoint] = []
    for repeats in REPEATS:
        net = repeated(module, path, repeats)
        if training:
            phases = count_phases(net, input).values()
            matrix, total = sum(counted for counted, _ in phases), sum(f.total for _, f in phases)
        else:
            forward = count_forward(net, input)
            matrix, total = forward.counted, forward.formula.total
        multiply_adds = matrix / 2 / len(tensors_in(input)[0]) / (3 if training else 1)
        slope = None
        if points:
            last = points[-1]
            slope = (multiply_adds - last.multiply_adds) / (repeats - last.repeats)
        ratio = None if slope is None else slope / expected
        points.append(SlopePoint(repeats, total, matrix, multiply_adds, slope, ratio))
    return Slope(path, type(module.get_submodule(path)).__name__, expected, tuple(points))

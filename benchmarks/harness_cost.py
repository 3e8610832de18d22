"""Measures what the harness costs: our phases in our loop against a hand-written loop of the same kernels.

A net of 50 tiny layers (25 convolutions of 8 planes with their ReLUs) makes the work per layer so small that
any cost per layer shows. Both sides run in one process, taking turns pass by pass; the figure is the ratio of
the medians of each phase.

    python -m benchmarks.harness_cost [--size 16] [--batch-size 4] [--pairs 400]
"""

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from benchmarks import performance
from convnet_benchmarks.nets.phases import AutogradPhases
from convnet_benchmarks.tables import Column, Table
from convnet_benchmarks.timing.loops import HostClock, run_loop

PLANES = 8
CONVOLUTIONS = 25
SIZES = ([1, 1], [1, 1], [1, 1])  # stride, padding, dilation
WARM_UP = 20


class HandWritten:
    """The same kernels, called one after the other with nothing around them."""

    def __init__(self, net: nn.Sequential) -> None:
        self.convolutions = [layer for layer in net if isinstance(layer, nn.Conv2d)]

    def updateOutput(self, input: Tensor) -> Tensor:
        self.input = h = input.detach().requires_grad_()
        self.inputs: list[Tensor] = []
        self.edges: list[GradientEdge] = []
        for layer in self.convolutions:
            self.inputs.append(h)
            h = F.conv2d(h, layer.weight, layer.bias, padding=1)
            self.edges.append(get_gradient_edge(h))
            h = F.relu_(h)
        self.output = h
        return h.detach()

    def updateGradInput(self, gradOutput: Tensor) -> Tensor:
        leaves: list[Any] = [self.input, *self.edges]
        gradInput, *self.gradients = torch.autograd.grad(self.output, leaves, gradOutput, retain_graph=True)
        return gradInput

    def accGradParameters(self) -> None:
        with torch.no_grad():
            for layer, input, gradient in zip(self.convolutions, self.inputs, self.gradients, strict=True):
                _, weight, bias = torch.ops.aten.convolution_backward.default(
                    gradient, input, layer.weight, [PLANES], *SIZES, False, [0, 0], 1, [False, True, True]
                )
                layer.weight.grad.add_(weight)  # type: ignore[union-attr]
                layer.bias.grad.add_(bias)  # type: ignore[union-attr]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = performance.parser("harness_cost", __doc__)
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=400)
    options = parser.parse_args()

    layers: list[nn.Module] = []
    for _ in range(CONVOLUTIONS):
        layers += [nn.Conv2d(PLANES, PLANES, 3, padding=1), nn.ReLU(inplace=True)]
    net = nn.Sequential(*layers)
    input = torch.randn(options.batch_size, PLANES, options.size, options.size)
    twin = copy.deepcopy(net)  # the hand-written loop runs on a net without our recording
    for parameter in twin.parameters():
        parameter.grad = torch.zeros_like(parameter)
    by_hand, clock = HandWritten(twin), HostClock()
    with AutogradPhases(net) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "updateOutput": (lambda: phases.updateOutput(input), lambda: by_hand.updateOutput(input)),
            "updateGradInput": (
                lambda: phases.updateGradInput(input, output),
                lambda: by_hand.updateGradInput(output),
            ),
            "accGradParameters": (
                lambda: phases.accGradParameters(input, output),
                lambda: by_hand.accGradParameters(),
            ),
        }
        samples: dict[str, list[tuple[float, float]]] = {name: [] for name in pairs}
        for turn in range(options.pairs + WARM_UP):
            for name, (ours, theirs) in pairs.items():
                both = [
                    lambda ours=ours: run_loop(ours, 1, clock).seconds,
                    lambda theirs=theirs: timed(theirs),
                ]
                order = (0, 1) if turn % 2 else (1, 0)
                seconds = {which: both[which]() for which in order}
                if turn >= WARM_UP:
                    samples[name].append((seconds[0], seconds[1]))
    medians = {
        name: [statistics.median(column) * 1e3 for column in zip(*seconds_each, strict=True)]
        for name, seconds_each in samples.items()
    }
    medians["total"] = [sum(column) for column in zip(*medians.values(), strict=True)]
    columns = [Column("phase"), Column("ours", "ms"), Column("by hand", "ms"), Column("ratio", digits=3)]
    table = Table("", columns, [[name, *pair, pair[0] / pair[1]] for name, pair in medians.items()])
    table.notes.append(f"{CONVOLUTIONS} convolutions and ReLUs on {'x'.join(map(str, input.shape))}.")
    performance.report("harness_cost", table, options)


if __name__ == "__main__":
    main()

"""Computes part of a phase's result in float64, for comparison with a way's."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from convnet_benchmarks.nets.gpu_engine.ways import Pass
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT

_CHANNELS = 4  # of the output, at either end: the gradients of their weights are computed


@dataclass(frozen=True)
class Reference:
    """``part`` of a phase's result in float64: the indices ``of`` along its first dimension.

    float32 kernels that save multiplications may be far from it: on an H200 cuDNN's own for 5x5 weights
    differed by 1.3e-3 of the largest element.
    """

    of: Tensor
    part: Tensor

    def error(self, result: Tensor) -> float:
        """Returns the largest difference from ``part``, relative to its largest element."""
        return relative(result[self.of].double(), self.part)


def reference(one: Pass, phase: str) -> Reference:
    """Computes the first and last image; of the weight's gradient the first and last output channels."""
    x, weight, bias, gradient = one.x, one.weight, one.bias, one.gradient
    if phase == FORWARD:
        of = _ends(x, 1)
        bias = None if bias is None else bias.double()
        part = torch.conv2d(_exact(x[of]), _exact(weight), bias, one.shape.stride, one.shape.padding)
        return Reference(of, part)
    assert gradient is not None
    of_input = phase == INPUT_GRADIENT
    if of_input:
        of = _ends(gradient, 1)
        x, gradient = x[of], gradient[of]
    else:
        of = _ends(weight, _CHANNELS)
        weight, gradient = weight[of], gradient[:, of]
    found = torch.ops.aten.convolution_backward.default(
        *map(_exact, (gradient, x, weight)), None, *one.sizes, [of_input, not of_input, False]
    )
    return Reference(of, found[0] if of_input else found[1])


def relative(result: Tensor, expected: Tensor) -> float:
    """Returns the largest difference, relative to the largest element of ``expected``."""
    largest = float(torch.linalg.vector_norm(expected, math.inf))
    gap = float(torch.linalg.vector_norm(result - expected, math.inf))
    return gap / largest if largest else gap


def _exact(x: Tensor) -> Tensor:
    return x.to(torch.float64, memory_format=torch.contiguous_format)


def _ends(x: Tensor, count: int) -> Tensor:
    """Returns the first and last ``count`` indices of the first dimension."""
    size = x.shape[0]
    indices = sorted({*range(min(count, size)), *range(max(0, size - count), size)})
    return torch.tensor(indices, device=x.device)

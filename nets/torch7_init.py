"""Torch7's parameter initialisation: the numbers that ``reset()`` drew when a module was made."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd

from nets.torch7_random import Generator


def initialise(module: nn.Module, generator: Generator) -> None:
    """Draws every parameter of ``module`` as Torch7 did, in module order, weight before bias.

    Convolutions and Linear: uniform in +-1/sqrt(fan-in), the fan-in being kernel size times input planes
    (input size for Linear). Batch normalisation: weight uniform in [0, 1), bias 0, running statistics 0 and
    1. The parameters lie on the CPU, in float32 or float64. Raises TypeError for a module whose parameters
    Torch7 has no rule for here.
    """
    for name, child in module.named_modules():
        if isinstance(child, (_ConvNd, nn.Linear)):
            bound = 1.0 / math.sqrt(child.weight[0].numel())
            _uniform(child.weight, generator, -bound, bound)
            if child.bias is not None:
                _uniform(child.bias, generator, -bound, bound)
        elif isinstance(child, _BatchNorm):
            child.reset_running_stats()
            if child.affine:
                _uniform(child.weight, generator, 0.0, 1.0)
                nn.init.zeros_(child.bias)
        elif next(child.parameters(recurse=False), None) is not None:
            raise TypeError(f"no Torch7 initialisation for {type(child).__name__} at '{name}'")


def _uniform(parameter: Tensor, generator: Generator, low: float, high: float) -> None:
    generator.fill_uniform(parameter.detach().numpy(), low, high)


def normal_input(size: tuple[int, ...], generator: Generator) -> Tensor:
    """``torch.randn(size)`` of a FloatTensor from ``generator``: shape ``size``, float32, on the CPU."""
    values = np.empty(size, dtype=np.float32)
    generator.fill_normal(values)
    return torch.from_numpy(values)

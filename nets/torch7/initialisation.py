"""Torch7's parameter initialisation: the random numbers drawn by ``reset()`` when a module is made."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from convnet_benchmarks.nets.modules.detection import ScaledUnitNorm
from convnet_benchmarks.nets.modules.speech import RecurrentReLU
from convnet_benchmarks.nets.modules.torch7 import UnbiasedConv2d
from convnet_benchmarks.nets.torch7.random import Generator


def initialise(module: nn.Module, generator: Generator) -> None:
    """Draws every parameter of ``module`` as Torch7 did, in module order, weight before bias.

    Convolutions and Linear: uniform in +-1/sqrt(fan-in), the fan-in being kernel size times input planes (of
    one group; input size for Linear). A transposed convolution (Torch7's SpatialFullConvolution) counts all
    its input planes, although an output uses fewer of its weights. UnbiasedConv2d also draws the bias that it
    removes. Batch normalisation: weight uniform in [0, 1), bias 0, running statistics 0 and 1; if it is not
    trained, weight 1. Embedding (LookupTable): normal with mean 0 and standard deviation 1. Torch7's nn
    had no LSTM; here its parameters are uniform in +-1/sqrt(hidden size), PyTorch's rule, layer by layer,
    forward direction first: weights of the input, of the hidden state, their biases. A RecurrentReLU's are
    drawn in the same way, as by cudnn.torch. ScaledUnitNorm: its own scale. The parameters lie on the
    CPU, in float32 or float64. Raises TypeError for a module whose parameters have no rule here.
    """
    for name, child in module.named_modules():
        if isinstance(child, (_ConvNd, nn.Linear)):
            bound = 1.0 / math.sqrt(_fan_in(child))
            _uniform(child.weight, generator, -bound, bound)
            if child.bias is not None:
                _uniform(child.bias, generator, -bound, bound)
            elif isinstance(child, UnbiasedConv2d):
                generator.random_uint32(child.out_channels)
        elif isinstance(child, _BatchNorm):
            child.reset_running_stats()
            if child.affine and child.weight.requires_grad:
                _uniform(child.weight, generator, 0.0, 1.0)
                nn.init.zeros_(child.bias)
            elif child.affine:
                child.reset_parameters()
        elif isinstance(child, nn.Embedding):
            generator.fill_normal(child.weight.detach().numpy())
        elif isinstance(child, (nn.LSTM, RecurrentReLU)):
            width = child.hidden_size if isinstance(child, nn.LSTM) else child.width
            bound = 1.0 / math.sqrt(width)
            for parameter in child.parameters():
                _uniform(parameter, generator, -bound, bound)
        elif isinstance(child, ScaledUnitNorm):
            child.reset_parameters()
        elif next(child.parameters(recurse=False), None) is not None:
            raise TypeError(f"no initialisation for {type(child).__name__} at '{name}'")


def _fan_in(layer: _ConvNd | nn.Linear) -> int:
    if isinstance(layer, _ConvTransposeNd):
        return layer.in_channels * math.prod(layer.kernel_size)
    return layer.weight[0].numel()


def _uniform(parameter: Tensor, generator: Generator, low: float, high: float) -> None:
    generator.fill_uniform(parameter.detach().numpy(), low, high)


def normal_input(size: tuple[int, ...], generator: Generator) -> Tensor:
    """Draws ``torch.randn(size)`` of a FloatTensor from ``generator``: shape ``size``, float32, on the
    CPU."""
    values = np.empty(size, dtype=np.float32)
    generator.fill_normal(values)
    return torch.from_numpy(values)

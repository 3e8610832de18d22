"""Torch7 layers that torch.nn lacks, under their Torch7 names and with Torch7's arithmetic."""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class View(nn.Module):
    """``nn.View(sizes)``: gives each sample the shape ``sizes``; the rest is the batch.

    An input of exactly one sample keeps no batch dimension, as in Torch7, unless ``num_input_dims`` says
    that the input had one. Raises ValueError when the sizes do not divide the input.
    """

    def __init__(self, *sizes: int, num_input_dims: int | None = None) -> None:
        super().__init__()
        self.sizes = sizes
        self.num_input_dims = num_input_dims
        self.num_elements = abs(math.prod(sizes))
        self.inferred = -1 in sizes

    def forward(self, input: Tensor) -> Tensor:
        batch = self._batch_size(input.shape)
        return input.reshape(self.sizes if batch is None else (batch, *self.sizes))

    def _batch_size(self, shape: Sequence[int]) -> int | None:
        sample_dims = self.num_input_dims or len(shape)
        outer = len(shape) - sample_dims
        elements = math.prod(shape[max(outer, 0) :])
        if elements % self.num_elements:
            raise ValueError(
                f"input view ({'x'.join(map(str, shape))}) and desired view "
                f"({'x'.join(map(str, self.sizes))}) do not match"
            )
        batch = 1 if self.inferred else elements // self.num_elements
        batch *= math.prod(shape[: max(outer, 0)])
        if batch == 1 and (self.num_input_dims is None or len(shape) <= self.num_input_dims):
            return None
        return batch

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.sizes))


class UnbiasedConv2d(nn.Conv2d):
    """``nn.SpatialConvolution(...):noBias()``: a convolution whose bias Torch7 initialised and then
    removed."""


class Concat(nn.Module):
    """``nn.Concat(dim)``: every branch gets the input; their outputs are joined along ``dim``.

    ``dim`` is negative and counts from the last dimension (channels are -3), so that a batched and an
    unbatched input both work.
    """

    def __init__(self, dim: int, *branches: nn.Module) -> None:
        super().__init__()
        self.dim = dim
        self.branches = nn.ModuleList(branches)

    def forward(self, input: Tensor) -> Tensor:
        return torch.cat([branch(input) for branch in self.branches], self.dim)


class ConcatTable(nn.ModuleList):
    """``nn.ConcatTable``: the table (a list) of all children's outputs for the same input."""

    def forward(self, input: Any) -> list[Any]:
        return [module(input) for module in self]


class CAddTable(nn.Module):
    """``nn.CAddTable``: the sum of a table of tensors of one shape."""

    def forward(self, input: list[Tensor]) -> Tensor:
        return functools.reduce(operator.add, input)


class MulConstant(nn.Module):
    """``nn.MulConstant``: the input times ``constant``."""

    def __init__(self, constant: float) -> None:
        super().__init__()
        self.constant = constant

    def forward(self, input: Tensor) -> Tensor:
        return input * self.constant

    def extra_repr(self) -> str:
        return str(self.constant)


def residual(body: Sequence[nn.Module], shortcut: nn.Module | None = None) -> nn.Sequential:
    """Returns the sum of ``body`` and ``shortcut`` (the identity by default), written as in Torch7's
    ResNets."""
    return nn.Sequential(ConcatTable([nn.Sequential(*body), shortcut or nn.Identity()]), CAddTable())


def conv_relu(n_in: int, n_out: int, kernel: int, stride: int = 1, padding: int = 0) -> list[nn.Module]:
    """Returns a square convolution and its in-place ReLU, the pair most of these nets are made of."""
    return [nn.Conv2d(n_in, n_out, kernel, stride, padding), nn.ReLU(inplace=True)]


def conv_bn(
    n_in: int,
    n_out: int,
    kernel: int | tuple[int, int],
    stride: int = 1,
    padding: int | tuple[int, int] = 0,
    groups: int = 1,
    bias: bool = False,
    eps: float = 1e-5,
) -> list[nn.Module]:
    """Returns a convolution and the batch normalisation of its output."""
    convolution = nn.Conv2d(n_in, n_out, kernel, stride, padding, groups=groups, bias=bias)
    return [convolution, nn.BatchNorm2d(n_out, eps)]


def conv_bn_relu(
    n_in: int,
    n_out: int,
    kernel: int | tuple[int, int],
    stride: int = 1,
    padding: int | tuple[int, int] = 0,
    groups: int = 1,
    bias: bool = False,
    eps: float = 1e-5,
) -> list[nn.Module]:
    """Returns ``conv_bn`` and an in-place ReLU."""
    return [*conv_bn(n_in, n_out, kernel, stride, padding, groups, bias, eps), nn.ReLU(inplace=True)]


def bn_relu_conv(n_in: int, n_out: int, kernel: int, stride: int = 1, padding: int = 0) -> list[nn.Module]:
    """Returns a pre-activation: batch normalisation of the input, ReLU, a convolution without bias."""
    convolution = nn.Conv2d(n_in, n_out, kernel, stride, padding, bias=False)
    return [nn.BatchNorm2d(n_in), nn.ReLU(inplace=True), convolution]


def global_average_pooling(planes: int) -> list[nn.Module]:
    """Returns the mean of each plane: (batch, planes, height, width) to (batch, planes)."""
    return [nn.AdaptiveAvgPool2d(1), View(planes, num_input_dims=3)]


def fully_connected(n_in: int, *hidden: int) -> nn.Sequential:
    """Returns the classifier of soumith/convnet-benchmarks: Linear and Threshold(0, 1e-6) layers to 1000
    scores."""
    layers: list[nn.Module] = [View(n_in)]
    for width in hidden:
        layers += [nn.Linear(n_in, width), nn.Threshold(0, 1e-6)]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, 1000))


def dropout_classifier(n_in: int, width: int, classes: int = 1000, sample_dims: int = 3) -> nn.Sequential:
    """Builds MXNet's classifier, and DeepMark's: two Linear, ReLU and Dropout(0.5) layers of ``width``, then
    scores. ``sample_dims``: the dimensions of one sample."""
    layers: list[nn.Module] = [View(n_in, num_input_dims=sample_dims)]
    for planes in (n_in, width):
        layers += [nn.Linear(planes, width), nn.ReLU(inplace=True), nn.Dropout(0.5)]
    return nn.Sequential(*layers, nn.Linear(width, classes))

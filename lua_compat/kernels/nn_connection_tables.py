"""Convolutions in which a table says which input plane goes to which output plane, and gradients.

table: connections x (input plane, output plane), from 1; weight: connections x kernel height x kernel width.
"""

import torch.nn.functional as F
from torch import Tensor

from lua_compat.bridge import Out
from lua_compat.kernels.nn_layers import gradients

__all__ = [
    "mapped_convolution", "mapped_convolution_grad_input", "mapped_convolution_grad_parameters",
]  # fmt: skip


def _filters(weight: Tensor, table: Tensor, outputs: int) -> Tensor:
    """The filters of an ordinary convolution, output x input x kh x kw: zero where nothing is connected."""
    places = table.long() - 1
    dense = weight.new_zeros(outputs, int(places[:, 0].max()) + 1, *weight.shape[1:])
    return dense.index_put((places[:, 1], places[:, 0]), weight, accumulate=True)


def _convolve(x: Tensor, weight: Tensor, bias: Tensor, table: Tensor, dw: int, dh: int, full: bool) -> Tensor:
    filters = _filters(weight, table, len(bias))
    inputs = filters.shape[1]
    if x.shape[-3] < inputs:
        raise ValueError("invalid number of input planes")
    used, steps = x.narrow(-3, 0, inputs), (int(dh), int(dw))
    if full:
        return F.conv_transpose2d(used, filters.transpose(0, 1), bias, steps)
    if x.shape[-1] < weight.shape[-1] or x.shape[-2] < weight.shape[-2]:
        raise ValueError("input image smaller than kernel size")
    return F.conv2d(used, filters, bias, steps)


def mapped_convolution(
    out: Out, x: Tensor, weight: Tensor, bias: Tensor, table: Tensor, dw: int, dh: int, full: bool
) -> None:
    """``full``: every position where image and kernel overlap, dw and dh apart in the output; otherwise those
    where the kernel lies within the image, dw and dh apart in the input."""
    result = _convolve(x, weight, bias, table, dw, dh, full)
    out.resize_(result.shape)
    out.copy_(result)


def mapped_convolution_grad_input(
    grad: Out,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    bias: Tensor,
    table: Tensor,
    dw: int,
    dh: int,
    full: bool,
) -> None:
    inputs = [x, weight, bias, table]
    (result,) = gradients(lambda a, w, b, t: _convolve(a, w, b, t, dw, dh, full), inputs, [0], grad_output)
    grad.resize_(result.shape)
    grad.copy_(result)


def mapped_convolution_grad_parameters(
    grad_weight: Tensor,
    grad_bias: Tensor,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    bias: Tensor,
    table: Tensor,
    dw: int,
    dh: int,
    full: bool,
    scale: float,
) -> None:
    """Adds scale times the gradients to grad_weight and grad_bias."""
    inputs = [x, weight, bias, table]
    of_weight, of_bias = gradients(
        lambda a, w, b, t: _convolve(a, w, b, t, dw, dh, full), inputs, [1, 2], grad_output
    )
    grad_weight.add_(of_weight, alpha=scale)
    grad_bias.add_(of_bias, alpha=scale)

"""Locally connected layers: convolution of images with separate weights at each position."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import parametric_kernels

__all__ = [
    "local_convolution", "local_convolution_grad_input", "local_convolution_grad_parameters",
]  # fmt: skip
SANDBOXED = __all__


def _local_convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int
) -> Tensor:
    """Computes a convolution whose weight differs between positions: rows x columns x output x input x kh x
    kw elements in this order, in any shape."""
    padded = F.pad(x, (pw, pw, ph, ph))
    windows = padded.unfold(-2, kh, dh).unfold(-2, kw, dw)
    inputs, rows, columns = windows.shape[-5:-2]
    filters = weight.reshape(rows, columns, -1, inputs, kh, kw)
    result = torch.einsum("...iyxhw,yxoihw->...oyx", windows, filters)
    return result if bias is None else result + bias.reshape(-1, rows, columns)


local_convolution, local_convolution_grad_input, _add_gradients = parametric_kernels(_local_convolution)


def local_convolution_grad_parameters(
    grad_weight: Tensor,
    grad_bias: Tensor | None,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    scale: float,
    kw: int,
    kh: int,
    dw: int,
    dh: int,
    pw: int,
    ph: int,
) -> None:
    """Adds scale times the gradients. grad_weight may have other sizes than the weight."""
    weight = weight.reshape(grad_weight.shape)
    _add_gradients(grad_weight, grad_bias, x, grad_output, weight, bias, scale, kw, kh, dw, dh, pw, ph)

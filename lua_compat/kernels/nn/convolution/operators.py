"""Convolution of images by PyTorch's own operators: cuDNN's or CUDA's on a GPU, oneDNN's on a CPU.

``x`` and the gradients are (batch, plane, height, width), ``weight`` (output plane, input plane * taps).
"""

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine import ConvolutionShape

_aten = torch.ops.aten


def _filters(matrix: Tensor, shape: ConvolutionShape) -> Tensor:
    return matrix.view(shape.out_channels, shape.in_channels, *shape.kernel)


def forward(shape: ConvolutionShape, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
    """Fills ``out``."""
    filters = _filters(weight, shape)
    out.copy_(_aten.convolution(x, filters, bias, shape.stride, shape.padding, (1, 1), False, (0, 0), 1))


def _gradients(
    shape: ConvolutionShape, x: Tensor, grad_out: Tensor, weight: Tensor, mask: list[bool]
) -> tuple[Tensor, Tensor, Tensor]:
    filters = _filters(weight, shape)
    step = (shape.stride, shape.padding, (1, 1), False, (0, 0), 1)
    grads: tuple[Tensor, Tensor, Tensor] = _aten.convolution_backward(grad_out, x, filters, None, *step, mask)
    return grads


def input_gradient(
    shape: ConvolutionShape, x: Tensor, grad_out: Tensor, weight: Tensor, grad_in: Tensor
) -> None:
    """Fills ``grad_in``."""
    grad_in.copy_(_gradients(shape, x, grad_out, weight, [True, False, False])[0])


def weight_gradient(shape: ConvolutionShape, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
    """Adds to ``grad_weight``."""
    found = _gradients(shape, x, grad_out, grad_weight, [False, True, False])[1]
    grad_weight.add_(found.reshape(grad_weight.shape))

"""Depthwise convolution: the interface of its kernels, and the one by PyTorch's operators."""

from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from convnet_benchmarks.nets.channels_last import contiguous, is_unsafe
from convnet_benchmarks.nets.engine.kernels.onednn import place

aten = torch.ops.aten


@dataclass(frozen=True)
class DepthwiseGeometry:
    """The sizes along (height, width) of a convolution with one filter per channel."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]


class DepthwiseKernel(Protocol):
    """The three phases, on images (N, H, W, C) and a weight (C, 1, kernel)."""

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool) -> None:
        """Fills ``out``; with ``relu`` negative values become 0."""

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        """Fills ``grad_in``."""

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        """Adds to ``grad_weight``, which is contiguous."""

    def invalidate(self) -> None:
        """Discards the copies of the weight."""


class OperatorDepthwise:
    """See :class:`DepthwiseKernel`; for any dtype."""

    def __init__(self, geometry: DepthwiseGeometry) -> None:
        self._geometry = geometry

    def _images(self, images: Tensor, columns: int) -> Tensor:
        """Shows images (N, H, W, C) in PyTorch's shape, in a layout in which it can run them. ``columns``: of
        the output."""
        found, g = images.permute(0, 3, 1, 2), self._geometry
        unsafe = is_unsafe(g.kernel[1], g.stride[1], g.padding[1], g.dilation[1], columns)
        return contiguous(found) if unsafe else found

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool) -> None:
        g = self._geometry
        found = F.conv2d(
            self._images(x, out.shape[2]),
            weight,
            bias,
            g.stride,
            g.padding,
            g.dilation,
            groups=weight.shape[0],
        )
        place(found.permute(0, 2, 3, 1), relu, out)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        # PyTorch requires an input, of which it uses only the shape.
        found = self._gradients(grad_out, grad_in, weight, (True, False, False))[0]
        grad_in.copy_(found.permute(0, 2, 3, 1))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        # PyTorch requires the weight, of which it uses only the shape.
        grad_weight.add_(self._gradients(grad_out, x, grad_weight, (False, True, False))[1])

    def invalidate(self) -> None:
        """Keeps no copies."""

    def _gradients(
        self, grad_out: Tensor, x: Tensor, weight: Tensor, wanted: tuple[bool, bool, bool]
    ) -> tuple[Tensor, ...]:
        g = self._geometry
        found: tuple[Tensor, ...] = aten.convolution_backward(
            self._images(grad_out, grad_out.shape[2]),
            self._images(x, grad_out.shape[2]),
            weight,
            None,
            g.stride,
            g.padding,
            g.dilation,
            False,
            (0, 0),
            weight.shape[0],
            wanted,
        )
        return found

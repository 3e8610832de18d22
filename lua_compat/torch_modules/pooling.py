"""Pooling with Torch7's size rounding, and upsampling with its conventions."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module

_IMAGE_DIMS = 2


class CeilMaxPool2d(nn.MaxPool2d):
    """nn.MaxPool2d in ceil mode that keeps a last window that starts outside the image.

    Torch7 drops such a window only where there is padding, and cudnn's layers never; torch.nn always does.
    What is outside counts as the smallest number of the type.
    """

    def forward(self, input: Tensor) -> Tensor:
        sizes, steps, margins = (_pair(x) for x in (self.kernel_size, self.stride, self.padding))
        padding: list[int] = []
        for dim in (1, 0):
            length = input.shape[input.dim() - _IMAGE_DIMS + dim]
            windows = math.ceil((length + 2 * margins[dim] - sizes[dim]) / steps[dim]) + 1
            padding += [margins[dim], (windows - 1) * steps[dim] + sizes[dim] - length - margins[dim]]
        padded = functional.pad(input, padding, value=torch.finfo(input.dtype).min)
        return functional.max_pool2d(padded, sizes, steps)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


class SumPool2d(nn.AvgPool2d):
    """nn.AvgPool2d times the window's size (SpatialAveragePooling with divide = false)."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) * math.prod(_pair(self.kernel_size))


class SpatialUpSampling(Torch7Module):
    """Resizes images: nearest, or linear with the corners kept; to ``size`` (height, width) or by a scale."""

    scale_factor: int | None = None
    size: tuple[int, ...] | None = None
    linear: bool = False

    def forward(self, input: Tensor) -> Tensor:
        batch = input if input.dim() > 3 else input.unsqueeze(0)
        spatial = batch.shape[2:]
        size = list(self.size or (n * (self.scale_factor or 1) for n in spatial))
        if not self.linear:
            output = functional.interpolate(batch, size, mode="nearest")
        else:
            mode = "bilinear" if len(spatial) == _IMAGE_DIMS else "trilinear"
            output = functional.interpolate(batch, size, mode=mode, align_corners=True)
        return output if input.dim() > 3 else output.squeeze(0)

"""Pooling."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module

_IMAGE_DIMS = 2


class TemporalMaxPooling(nn.MaxPool1d):
    """nn.MaxPool1d of frames in rows."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.mT).mT


class TemporalDynamicKMaxPooling(Torch7Module):
    """The max(minK, ceil(factor * frames)) largest values of each feature, in their order."""

    minK: int
    factor: float

    def forward(self, input: Tensor) -> Tensor:
        frames = input.shape[-2]
        count = max(self.minK, int(-(-self.factor * frames // 1)))
        places = input.topk(count, -2).indices.sort(-2).values
        return input.gather(-2, places)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


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


class IndexedMaxPool2d(nn.MaxPool2d):
    """nn.MaxPool2d that keeps the places of the maxima for a SpatialMaxUnpooling."""

    indices: Tensor | None = None
    input_size: tuple[int, ...] = ()

    def forward(self, input: Tensor) -> Tensor:
        output, self.indices = functional.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            return_indices=True,
        )
        self.input_size = tuple(input.shape[-_IMAGE_DIMS:])
        return output


class SpatialMaxUnpooling(Torch7Module):
    """Puts each value where ``pooling`` found its maximum, zeros elsewhere."""

    pooling: nn.Module

    def forward(self, input: Tensor) -> Tensor:
        pool: Any = self.pooling
        if pool.indices is None:
            raise RuntimeError("unpooling comes before the pooling layer that it belongs to has run")
        return functional.max_unpool2d(
            input, pool.indices, pool.kernel_size, pool.stride, pool.padding, pool.input_size
        )


class SumPool2d(nn.AvgPool2d):
    """nn.AvgPool2d times the window's size (SpatialAveragePooling with divide = false)."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) * math.prod(_pair(self.kernel_size))

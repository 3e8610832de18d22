"""Borders of images and volumes."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import batched, layer_kernels, whole

__all__ = [
    "reflection_padding", "reflection_padding_gradient", "replication_padding",
    "replication_padding_gradient", "zero_padding", "zero_padding_gradient",
]  # fmt: skip
SANDBOXED = __all__

_aten = torch.ops.aten


def _pad(mode: str) -> Callable[..., Tensor]:
    def padded(x: Tensor, *sides: float) -> Tensor:
        widths = whole(*sides)
        if mode == "constant":
            return F.pad(x, widths)
        return batched(lambda b: F.pad(b, widths, mode=mode), x, len(widths) // 2 + 1)

    return padded


def _replication_padding_gradient(x: Tensor, grad: Tensor, *sides: float) -> Tensor:
    backward = _aten.replication_pad2d_backward if len(sides) == 4 else _aten.replication_pad3d_backward
    result: Tensor = backward(grad, x, whole(*sides))
    return result


zero_padding, zero_padding_gradient = layer_kernels(
    _pad("constant"), lambda x, grad, *sides: F.pad(grad, [-n for n in whole(*sides)])
)
reflection_padding, reflection_padding_gradient = layer_kernels(_pad("reflect"))
replication_padding, replication_padding_gradient = layer_kernels(
    _pad("replicate"), _replication_padding_gradient
)

"""Padding of images and volumes."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import batched, layer_kernels
from lua_compat.kernels.nn.sizes import check_size

__all__ = [
    "reflection_padding", "reflection_padding_gradient", "replication_padding",
    "replication_padding_gradient", "zero_padding", "zero_padding_gradient",
]  # fmt: skip
SANDBOXED = __all__

_aten = torch.ops.aten


def _pad(mode: str) -> Callable[..., Tensor]:
    def padded(x: Tensor, *sides: int) -> Tensor:
        if mode == "constant":
            return F.pad(x, sides)
        return batched(lambda b: F.pad(b, sides, mode=mode), x, len(sides) // 2 + 1)

    return padded


def _check_reflection(x: Tensor, sides: tuple[int, ...]) -> None:
    """Raises ValueError if a padding exceeds the image: PyTorch's backward would read out of bounds."""
    for number, width in enumerate(sides):
        size = x.shape[-1 - number // 2]
        if not -size < width < size:
            raise ValueError(f"reflection padding: {width} at a side of {size}")


def _check_planes(x: Tensor, grad: Tensor, axes: int) -> None:
    """Raises ValueError unless a gradOutput has x's batch and planes: PyTorch would read out of bounds."""
    for axis in range(x.dim() - axes):
        check_size(grad, "gradOutput", x.dim(), axis, x.shape[axis])


def _padding_gradient(plane: Callable[..., Tensor], volume: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """PyTorch's own backward of a padding of images, or of volumes."""

    def gradient(x: Tensor, grad: Tensor, *sides: int) -> Tensor:
        _check_planes(x, grad, len(sides) // 2)
        if plane is _aten.reflection_pad2d_backward:
            _check_reflection(x, sides)
        return (plane if len(sides) == 4 else volume)(grad, x, sides)

    return gradient


def _padded_sizes(x: Tensor, *sides: int) -> tuple[int, ...]:
    axes = len(sides) // 2
    each = zip(x.shape[-1 : -axes - 1 : -1], sides[::2], sides[1::2], strict=True)
    return (*x.shape[:-axes], *reversed([n + before + behind for n, before, behind in each]))


zero_padding, zero_padding_gradient = layer_kernels(
    _pad("constant"), lambda x, grad, *sides: F.pad(grad, [-n for n in sides]), _padded_sizes
)
reflection_padding, reflection_padding_gradient = layer_kernels(
    _pad("reflect"), _padding_gradient(_aten.reflection_pad2d_backward, _aten.reflection_pad3d_backward)
)
replication_padding, replication_padding_gradient = layer_kernels(
    _pad("replicate"), _padding_gradient(_aten.replication_pad2d_backward, _aten.replication_pad3d_backward)
)

"""Upsampling of images and volumes."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import batched, layer_kernels
from lua_compat.kernels.nn.sizes import check_gradient
from lua_compat.kernels.results import Scalar

__all__ = [
    "pixel_shuffle", "pixel_shuffle_gradient", "upsample_linear", "upsample_linear_gradient",
    "upsample_nearest", "upsample_nearest_gradient",
]  # fmt: skip
SANDBOXED = __all__

_SMALL_MATRIX = 1 << 15  # elements


@functools.lru_cache(maxsize=64)
def _interpolation(
    inner: tuple[int, ...], sizes: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> list[Tensor]:
    """Returns the matrices that interpolate along the last dimensions, from sizes ``inner`` to ``sizes``; a
    single matrix for all of them where that is small."""
    each = [_interpolation_matrix(n, size, dtype) for n, size in zip(inner, sizes, strict=True)]
    if math.prod(inner) * math.prod(sizes) <= _SMALL_MATRIX:
        each = [functools.reduce(torch.kron, each)]
    return [matrix.to(device) for matrix in each]


def _neighbours(n: int, size: int, dtype: torch.dtype) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Returns, for each of ``size`` positions among n points (with corners aligned), the points before and
    after it, each with its weight.

    Torch7 computes the positions in single precision, whatever the tensor's type.
    """
    step = torch.tensor((n - 1) / (size - 1) if size > 1 else 0.0, dtype=torch.float32)
    places = step * torch.arange(size, dtype=torch.float32)
    lower = places.long().clamp(max=n - 1)
    fraction = (places - lower).to(dtype)
    return (lower, 1 - fraction), ((lower + 1).clamp(max=n - 1), fraction)


def _interpolation_matrix(n: int, size: int, dtype: torch.dtype) -> Tensor:
    """Returns the matrix (size x n) that interpolates n points linearly at ``size`` points."""
    matrix = torch.zeros(size, n, dtype=dtype)
    for points, weights in _neighbours(n, size, dtype):
        matrix[torch.arange(size), points] += weights
    return matrix


def _multiplied(x: Tensor, matrices: list[Tensor], sizes: tuple[int, ...]) -> Tensor:
    """Multiplies the last dimensions of x, which become ``sizes``, by a matrix each, or by one for all."""
    axes = len(sizes)
    if len(matrices) == 1:
        return F.linear(x.flatten(-axes), matrices[0]).unflatten(-1, sizes)
    for axis, matrix in zip(range(-axes, 0), matrices, strict=True):
        x = F.linear(x.transpose(axis, -1), matrix).transpose(axis, -1)
    return x


def _spreads(x: Tensor) -> bool:
    """Returns whether x has elements that a matrix product would spread to others: NaN or infinite ones."""
    return not x.is_cuda and not math.isfinite(x.sum().item())


def _upsample_linear(x: Tensor, *sizes: int) -> Tensor:
    """Interpolates to ``sizes``, those of the last dimensions."""
    if _spreads(x):
        for axis, size in zip(range(-1, -len(sizes) - 1, -1), reversed(sizes), strict=True):
            (lower, before), (upper, behind) = _neighbours(x.shape[axis], size, x.dtype)
            lines = x.transpose(axis, -1)
            x = (lines[..., lower] * before + lines[..., upper] * behind).transpose(axis, -1)
        return x
    return _multiplied(x, _interpolation(tuple(x.shape[-len(sizes) :]), sizes, x.dtype, x.device), sizes)


def _upsample_linear_gradient(x: Tensor, grad: Tensor, *sizes: int) -> Tensor:
    check_gradient(grad, (*x.shape[: -len(sizes)], *sizes))
    inner = tuple(x.shape[-len(sizes) :])
    if _spreads(grad):
        for axis, n in zip(range(-len(inner), 0), inner, strict=True):
            lines = grad.transpose(axis, -1)
            sums = lines.new_zeros(*lines.shape[:-1], n)
            for points, weights in _neighbours(n, lines.shape[-1], grad.dtype):
                sums.index_add_(-1, points, lines * weights)
            grad = sums.transpose(axis, -1)
        return grad
    return _multiplied(grad, [m.T for m in _interpolation(inner, sizes, x.dtype, x.device)], inner)


def _upsample_nearest(x: Tensor, *sizes: int) -> Tensor:
    return batched(lambda b: F.interpolate(b, size=sizes, mode="nearest"), x, len(sizes) + 1)


def _upsample_nearest_gradient(x: Tensor, grad: Tensor, *sizes: int) -> Tensor:
    """Sums the block of each pixel, for ``sizes`` that are multiples of the input's."""
    check_gradient(grad, (*x.shape[: -len(sizes)], *sizes))
    blocks = [size // n for size, n in zip(sizes, x.shape[-len(sizes) :], strict=True)]
    pool = F.avg_pool2d if len(sizes) == 2 else F.avg_pool3d
    return pool(grad, blocks, divisor_override=1)


def _pixel_shuffle(x: Tensor, factor: Scalar) -> Tensor:
    return F.pixel_shuffle(x, int(factor))


def _shuffled(x: Tensor, factor: Scalar) -> tuple[int, ...]:
    *batch, planes, height, width = x.shape
    r = int(factor)
    return (*batch, planes // r**2, height * r, width * r)


def _enlarged(x: Tensor, *sizes: int) -> tuple[int, ...]:
    return (*x.shape[: -len(sizes)], *sizes)


upsample_nearest, upsample_nearest_gradient = layer_kernels(
    _upsample_nearest, _upsample_nearest_gradient, _enlarged
)
upsample_linear, upsample_linear_gradient = layer_kernels(
    _upsample_linear, _upsample_linear_gradient, _enlarged
)
pixel_shuffle, pixel_shuffle_gradient = layer_kernels(
    _pixel_shuffle, lambda x, grad, factor: F.pixel_unshuffle(grad, int(factor)), _shuffled
)

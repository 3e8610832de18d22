"""Pooling that remembers where the maxima were, and its inverse, forward and gradients.

An image is planes x height x width, a volume planes x time x height x width; a batch has one more dimension
in front, and so have its results. Positions count from 1 within each plane, row after row.
"""

import math

import torch
from torch import Tensor

from lua_compat.kernels.results import Out, write

__all__ = [
    "fractional_max_pooling", "fractional_max_pooling_grad_input", "max_unpooling",
    "max_unpooling_grad_input", "volumetric_max_pooling", "volumetric_max_pooling_grad_input",
]  # fmt: skip

_aten = torch.ops.aten


def _whole(*numbers: float) -> tuple[int, ...]:
    return tuple(int(n) for n in numbers)


def _batch(x: Tensor, axes: int) -> Tensor:
    if x.dim() not in (axes + 1, axes + 2):
        sizes = " x ".join(map(str, x.shape))
        raise ValueError(
            f"{axes + 1}D or {axes + 2}D (batch mode) tensor expected for input, but got: [{sizes}]"
        )
    return x if x.dim() == axes + 2 else x.unsqueeze(0)


def _volume(numbers: tuple[float, ...]) -> list[list[int]]:
    """Kernel, steps, paddings, dilations: time, width and height each, as time, height, width."""
    n = _whole(*numbers)
    return [[n[i], n[i + 2], n[i + 1]] for i in (0, 3, 6, 9)]


def volumetric_max_pooling(out: Out, indices: Out, x: Tensor, ceil: bool, *numbers: float) -> None:
    """Maxima, and where they were. ``numbers``: kernel, steps, paddings and dilations."""
    values, places = _aten.max_pool3d_with_indices.default(_batch(x, 3), *_volume(numbers), ceil)
    write(out, values, x)
    write(indices, places, x)
    indices.add_(1)


def volumetric_max_pooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, ceil: bool, *numbers: float
) -> None:
    result = _aten.max_pool3d_with_indices_backward(
        _batch(grad_output, 3), _batch(x, 3), *_volume(numbers), ceil, _batch(indices, 3) - 1
    )
    write(grad, result, x)


# Images and volumes shrunk by a factor that need not be whole


def fractional_max_pooling(out: Out, indices: Out, x: Tensor, samples: Tensor, *numbers: float) -> None:
    """Maxima of windows at random places, and where they were.

    ``numbers``: the sizes of the output, then of the windows, one per dimension of the image or volume.
    ``samples``: batch x planes x dimensions, uniform in [0, 1), for the last dimension of the image first.
    """
    axes = len(numbers) // 2
    sizes, kernel = _whole(*numbers[:axes]), _whole(*numbers[axes:])
    batch = _batch(x, axes)
    for size, width, room in zip(sizes, kernel, batch.shape[2:], strict=True):
        if size + width - 1 >= room:
            raise ValueError(f"poolSize ({width}) too large relative to input size ({room})")
    if axes == 2:
        values, flat = _aten.fractional_max_pool2d(batch, kernel, sizes, samples)
    else:  # PyTorch takes the samples for a volume's dimensions in their order
        values, flat = _aten.fractional_max_pool3d(batch, kernel, sizes, samples.flip(-1))
    write(out, values, x)
    write(indices, flat + 1, x)


def fractional_max_pooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, axes: int
) -> None:
    batch = _batch(x, int(axes))
    result = x.new_zeros(batch.shape).flatten(2)
    places = _batch(indices, int(axes)).flatten(2) - 1
    result.scatter_add_(2, places, _batch(grad_output, int(axes)).flatten(2))
    write(grad, result.view(batch.shape), x)


# Unpooling: each element goes to where pooling found it, all else is zero.


def _check_same(x: Tensor, indices: Tensor) -> None:
    if x.shape != indices.shape:
        raise ValueError(f"input and indices differ in size: {tuple(x.shape)} and {tuple(indices.shape)}")


def max_unpooling(out: Out, x: Tensor, indices: Tensor, *sizes: float) -> None:
    """``sizes``: those of the output's last dimensions."""
    _check_same(x, indices)
    shape = _whole(*sizes)
    batch, places = _batch(x, len(shape)), _batch(indices, len(shape)).flatten(2) - 1
    result = x.new_zeros(*batch.shape[:2], *shape)
    low, high = (int(end) for end in torch.aminmax(places))
    if low < 0 or high >= math.prod(shape):
        volume, bad = "x".join(map(str, shape)), low if low < 0 else high
        raise ValueError(f"found an invalid max index {bad} (output volumes are of size {volume})")
    result.flatten(2).scatter_(2, places, batch.flatten(2))
    write(out, result, x)


def max_unpooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, *sizes: float
) -> None:
    _check_same(x, indices)
    shape = _whole(*sizes)
    if tuple(grad_output.shape[-len(shape) :]) != shape:
        expected, got = ("x".join(map(str, s)) for s in (shape, grad_output.shape[-len(shape) :]))
        raise ValueError(f"Inconsistent gradOutput size. output: {expected}, gradOutput: {got}")
    places = _batch(indices, len(shape))
    values = _batch(grad_output, len(shape)).flatten(2).gather(2, places.flatten(2) - 1)
    write(grad, values.view(places.shape), x)

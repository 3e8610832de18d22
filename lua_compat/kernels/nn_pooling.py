"""Pooling that remembers where the maxima were, and its inverse, forward and gradients.

An image is planes x height x width, a volume planes x time x height x width; a batch has one more dimension
in front, and so have its results. Positions within an image count from 1, row after row, within each plane.
"""

import torch
from torch import Tensor

from lua_compat.bridge import Out

__all__ = [
    "fractional_max_pooling", "fractional_max_pooling_grad_input", "max_unpooling",
    "max_unpooling_grad_input", "volumetric_max_pooling", "volumetric_max_pooling_grad_input",
    "volumetric_max_unpooling", "volumetric_max_unpooling_grad_input",
]  # fmt: skip

_aten = torch.ops.aten


def _whole(*numbers: float) -> tuple[int, ...]:
    return tuple(int(n) for n in numbers)


def _write(out: Tensor, result: Tensor, like: Tensor) -> None:
    """result, which has a batch dimension, without it if ``like`` has none."""
    if result.dim() > like.dim():
        result = result.squeeze(0)
    out.resize_(result.shape)
    out.copy_(result)


def _batch(x: Tensor, axes: int) -> Tensor:
    if x.dim() not in (axes + 1, axes + 2):
        sizes = " x ".join(map(str, x.shape))
        raise ValueError(
            f"{axes + 1}D or {axes + 2}D (batch mode) tensor expected for input, but got: [{sizes}]"
        )
    return x if x.dim() == axes + 2 else x.unsqueeze(0)


# Volumes. Where a maximum was is kept as Torch7 keeps it: its place in its window,
# time + 256 * height + 65536 * width.


def _window_starts(count: int, step: int, pad: int) -> Tensor:
    return torch.arange(count) * step - pad


def _to_windows(
    flat: Tensor, sizes: torch.Size, steps: tuple[int, ...], pads: tuple[int, ...], dilations: tuple[int, ...]
) -> Tensor:
    """Positions in a volume of ``sizes`` (from 0) as places in their windows."""
    places = torch.zeros_like(flat)
    for axis in (2, 1, 0):  # width first: the remainder
        size, step, pad, dilation = sizes[axis], steps[axis], pads[axis], dilations[axis]
        shape = [1, 1, 1]
        shape[axis] = -1
        starts = _window_starts(flat.shape[axis - 3], step, pad).view(shape)
        places += torch.div(flat % size - starts, dilation, rounding_mode="floor") << 8 * axis
        flat = flat // size
    return places


def _to_positions(
    places: Tensor,
    sizes: tuple[int, ...],
    steps: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
) -> Tensor:
    """The inverse of _to_windows; -1 for what lies outside of the volume."""
    flat = torch.zeros_like(places)
    outside = torch.zeros_like(places, dtype=torch.bool)
    for axis in range(3):
        shape = [1, 1, 1]
        shape[axis] = -1
        starts = _window_starts(places.shape[axis - 3], steps[axis], pads[axis]).view(shape)
        position = starts + (places >> 8 * axis & 255) * dilations[axis]
        outside |= (position < 0) | (position >= sizes[axis])
        flat = flat * sizes[axis] + position
    return flat.masked_fill(outside, -1)


def volumetric_max_pooling(
    out: Out,
    indices: Out,
    x: Tensor,
    kt: int,
    kw: int,
    kh: int,
    dt: int,
    dw: int,
    dh: int,
    pt: int,
    pw: int,
    ph: int,
    lt: int,
    lw: int,
    lh: int,
    ceil: bool,
) -> None:
    """Maxima of windows kt x kh x kw (dilated by lt, lh, lw), and where in the windows they were."""
    kernel, steps = _whole(kt, kh, kw), _whole(dt, dh, dw)
    pads, dilations = _whole(pt, ph, pw), _whole(lt, lh, lw)
    batch = _batch(x, 3)
    values, flat = _aten.max_pool3d_with_indices(batch, kernel, steps, pads, dilations, ceil)
    _write(out, values, x)
    _write(indices, _to_windows(flat, batch.shape[2:], steps, pads, dilations), x)


def volumetric_max_pooling_grad_input(
    grad: Out,
    x: Tensor,
    grad_output: Tensor,
    indices: Tensor,
    dt: int,
    dw: int,
    dh: int,
    pt: int,
    pw: int,
    ph: int,
    lt: int,
    lw: int,
    lh: int,
) -> None:
    batch = _batch(x, 3)
    places = _batch(indices, 3)
    flat = _to_positions(places, batch.shape[2:], _whole(dt, dh, dw), _whole(pt, ph, pw), _whole(lt, lh, lw))
    result = torch.zeros(batch.shape, dtype=x.dtype).flatten(2)
    result.scatter_add_(2, flat.flatten(2), _batch(grad_output, 3).reshape(places.shape).flatten(2))
    _write(grad, result.view(batch.shape), x)


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
    _write(out, values, x)
    _write(indices, flat + 1, x)


def fractional_max_pooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, axes: int
) -> None:
    batch = _batch(x, int(axes))
    result = torch.zeros(batch.shape, dtype=x.dtype).flatten(2)
    places = _batch(indices, int(axes)).flatten(2) - 1
    result.scatter_add_(2, places, _batch(grad_output, int(axes)).flatten(2))
    _write(grad, result.view(batch.shape), x)


# Unpooling: each element goes to where pooling found it, all else is zero.


def _check_same(x: Tensor, indices: Tensor) -> None:
    if x.shape != indices.shape:
        raise ValueError(f"input and indices differ in size: {tuple(x.shape)} and {tuple(indices.shape)}")


def _unpool(out: Tensor, x: Tensor, flat: Tensor, sizes: tuple[int, ...]) -> None:
    """``flat``: positions from 0, checked against the output's ``sizes``."""
    batch = _batch(x, len(sizes))
    result = torch.zeros(*batch.shape[:2], *sizes, dtype=x.dtype)
    bad = (flat < 0) | (flat >= result[0, 0].numel())
    if bad.any():
        shape = "x".join(map(str, sizes))
        place = int(flat[bad][0])
        raise ValueError(f"found an invalid max index {place} (output volumes are of size {shape})")
    result.flatten(2).scatter_(2, flat.flatten(2), batch.flatten(2))
    _write(out, result, x)


def _unpool_gradient(
    grad: Tensor, x: Tensor, grad_output: Tensor, flat: Tensor, sizes: tuple[int, ...]
) -> None:
    if tuple(grad_output.shape[-len(sizes) :]) != sizes:
        expected, got = ("x".join(map(str, shape)) for shape in (sizes, grad_output.shape[-len(sizes) :]))
        raise ValueError(f"Inconsistent gradOutput size. output: {expected}, gradOutput: {got}")
    batch = _batch(grad_output, len(sizes))
    _write(grad, batch.flatten(2).gather(2, flat.flatten(2)).view(flat.shape), x)


def max_unpooling(out: Out, x: Tensor, indices: Tensor, width: int, height: int) -> None:
    _check_same(x, indices)
    _unpool(out, x, _batch(indices, 2) - 1, _whole(height, width))


def max_unpooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, width: int, height: int
) -> None:
    _check_same(x, indices)
    _unpool_gradient(grad, x, grad_output, _batch(indices, 2) - 1, _whole(height, width))


def _unpooled_positions(indices: Tensor, *numbers: int) -> tuple[Tensor, tuple[int, ...]]:
    t, w, h, dt, dw, dh, pt, pw, ph = _whole(*numbers)
    places = _batch(indices, 3)
    return _to_positions(places, (t, h, w), (dt, dh, dw), (pt, ph, pw), (1, 1, 1)), (t, h, w)


def volumetric_max_unpooling(out: Out, x: Tensor, indices: Tensor, *numbers: int) -> None:
    """``numbers``: time, width and height of the output, then the pooling's steps and paddings likewise."""
    _check_same(x, indices)
    _unpool(out, x, *_unpooled_positions(indices, *numbers))


def volumetric_max_unpooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, *numbers: int
) -> None:
    _check_same(x, indices)
    _unpool_gradient(grad, x, grad_output, *_unpooled_positions(indices, *numbers))

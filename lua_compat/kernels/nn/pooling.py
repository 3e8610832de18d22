"""Pooling and unpooling of images, volumes, sequences and features; forward and gradients.

An image is planes x height x width, a volume planes x time x height x width; a batch has one more dimension
in front, and so have its results. Positions count from 1 within each plane, row after row.
"""

import math
from collections.abc import Sequence
from operator import add

import torch
import torch.nn.functional as F
from torch import Tensor

from convnet_benchmarks.nets.engine import PIECE_BYTES, runs
from lua_compat.kernels.indices import check_indices, check_shape
from lua_compat.kernels.nn.layers import layer_kernels
from lua_compat.kernels.nn.sizes import argument_error, check_gradient, check_output, check_size, sizes_text
from lua_compat.kernels.nn.windows import (
    lowest,
    means_outside,
    windows_outside,
    with_outside,
    without_outside,
)
from lua_compat.kernels.results import Out, write
from lua_compat.kernels.workspace import Workspace

__all__ = [
    "adaptive_average_pooling", "adaptive_average_pooling_gradient", "adaptive_max_pooling",
    "adaptive_max_pooling_grad_input", "feature_lp_pooling", "feature_lp_pooling_gradient",
    "fractional_max_pooling", "fractional_max_pooling_grad_input", "max_unpooling",
    "max_unpooling_grad_input", "spatial_average_pooling", "spatial_average_pooling_grad_input",
    "spatial_max_pooling", "spatial_max_pooling_grad_input", "temporal_max_pooling",
    "temporal_max_pooling_grad_input", "volumetric_average_pooling",
    "volumetric_average_pooling_gradient", "volumetric_max_pooling",
    "volumetric_max_pooling_grad_input",
]  # fmt: skip
SANDBOXED = __all__

_aten = torch.ops.aten

# Smaller images are pooled in the layout that they have.
_FEW_PIXELS, _FEW_PLANES = 1 << 15, 16


def _batch(x: Tensor, axes: int, adaptive: bool = False) -> Tensor:
    if x.dim() not in (axes + 1, axes + 2):
        plain = axes == 2 and not adaptive
        what = "input tensor expected" if plain else "(batch mode) tensor expected for input,"
        raise argument_error(2, f"{axes + 1}D or {axes + 2}D {what} but got: {sizes_text(x)}")
    return x if x.dim() == axes + 2 else x.unsqueeze(0)


def _at_places(x: Tensor, grad_output: Tensor, indices: Tensor, axes: int) -> tuple[Tensor, Tensor]:
    """Returns the gradients and their positions in their planes of ``x``, as ``_with_places`` does."""
    planes = _batch(x, axes)
    check_gradient(grad_output, (*x.shape[:-axes], *indices.shape[-axes:]))
    check_shape(indices, grad_output.shape, "indices of the pooling")
    return _with_places(grad_output, indices, math.prod(planes.shape[2:]), 1)


def _with_places(gradients: Tensor, places: Tensor, count: int, first: int) -> tuple[Tensor, Tensor]:
    """Returns gradients and their positions; those with the position before the first (no maximum) are
    zeroed.

    Raises ValueError for other positions out of range. On a device, where checking would mean waiting for it,
    their gradients are zeroed, too.
    """
    if places.is_cuda:
        return _inside(gradients, places, count, first)
    if check_indices(places, count, "index of a maximum", first, none=first - 1):
        nowhere = places == first - 1
        return gradients.masked_fill(nowhere, 0), places.masked_fill(nowhere, first)
    return gradients, places


def _inside(gradients: Tensor, places: Tensor, count: int, first: int) -> tuple[Tensor, Tensor]:
    """Returns gradients and positions clamped to the plane; gradients of positions outside it are zeroed."""
    inside = places.clamp(first, first + count - 1)
    return gradients.masked_fill(inside != places, 0), inside


def _found_none(maxima: Tensor) -> bool:
    """Returns whether a window's maximum may be NaN or missing, which Torch7 skips."""
    return not maxima.is_cuda and maxima.numel() > 0 and not bool(maxima.min() > lowest(maxima.dtype))


def _compared(x: Tensor) -> Tensor:
    """Returns ``x`` with elements that never exceed Torch7's initial maximum (NaN, -infinity) replaced by
    it."""
    low = lowest(x.dtype)
    return torch.nan_to_num(x, nan=low, posinf=math.inf, neginf=low)


# Images


def _pooled(size: int, span: int, step: int, padding: int, ceil: bool) -> int:
    """Returns how many windows there are along a dimension; with ``ceil`` the last one may extend past the
    end."""
    slack = size + 2 * padding - span
    count = (slack + step - 1 if ceil else slack) // step + 1
    return count - 1 if ceil and (count - 1) * step >= size + padding else count


def _pooled_sizes(
    x: Tensor,
    kernel: Sequence[int],
    steps: Sequence[int],
    padding: Sequence[int],
    ceil: bool,
    dilations: Sequence[int] = (1, 1, 1),
) -> list[int]:
    """Returns the numbers of windows along the last axes of ``x``, one for each size of the kernel."""
    axes = zip(x.shape[-len(kernel) :], kernel, steps, padding, dilations, strict=False)
    return [_pooled(size, gap * (width - 1) + 1, step, pad, ceil) for size, width, step, pad, gap in axes]


def _planes_last(x: Tensor) -> Tensor:
    """Returns the images in channels-last layout."""
    return x.permute(0, 3, 1, 2)


def spatial_max_pooling(
    workspace: Workspace,
    out: Out,
    indices: Out,
    x: Tensor,
    kw: int,
    kh: int,
    dw: int,
    dh: int,
    pw: int,
    ph: int,
    ceil: bool,
    lw: int,
    lh: int,
) -> None:
    """Finds maxima, and where they were: from 1, within each plane of the input, 0 if there is none."""
    window = [kh, kw], [dh, dw], [ph, pw], [lh, lw], ceil
    _spatial_maxima(workspace, out, indices, x, *window)
    if _found_none(out):
        _spatial_maxima(workspace, out, indices, _compared(x), *window)
        indices.masked_fill_(out <= lowest(out.dtype), 0)


def _spatial_maxima(
    workspace: Workspace,
    out: Tensor,
    indices: Tensor,
    x: Tensor,
    kernel: list[int],
    steps: list[int],
    pads: list[int],
    dilations: list[int],
    ceil: bool,
) -> None:
    images = _batch(x, 2)
    batch, planes, height, width = images.shape
    window = kernel, steps, pads, dilations, ceil
    outside = windows_outside((height, width), kernel, steps, pads, ceil, dilations)
    if any(outside):
        maxima, at = _aten.max_pool2d_with_indices(images, *window)
        write(out, with_outside(maxima, outside, lowest(x.dtype)), x)
        write(indices, with_outside(at + 1, outside, 0), x)
        return
    rows, columns = _pooled_sizes(x, kernel, steps, pads, ceil, dilations)
    check_output((planes, height, width), (planes, rows, columns))
    for result in (out, indices):
        result.resize_((batch, planes, rows, columns)[4 - x.dim() :])
    values, places = _batch(out, 2), _batch(indices, 2)
    if images.numel() < _FEW_PIXELS or planes < _FEW_PLANES or images.is_cuda:
        _aten.max_pool2d_with_indices.out(images, *window, out=values, indices=places)
    else:
        # PyTorch finds maxima of many planes ten times as fast in channels-last layout; three times including
        # the copies.
        count = max(1, min(batch, PIECE_BYTES // images[0].nbytes))
        for part in runs(batch, count):
            n = part.stop - part.start
            source, found = workspace.memory.scratch(
                x.dtype, (n, height, width, planes), (n, rows, columns, planes)
            )
            where = torch.empty(n, rows, columns, planes, dtype=torch.int64)
            _aten.max_pool2d_with_indices.out(
                _planes_last(source).copy_(images[part]),
                *window,
                out=_planes_last(found),
                indices=_planes_last(where),
            )
            values[part].copy_(_planes_last(found))
            places[part].copy_(_planes_last(where))
    indices.add_(1)


def spatial_max_pooling_grad_input(
    grad: Out,
    x: Tensor,
    grad_output: Tensor,
    indices: Tensor,
    kw: int,
    kh: int,
    dw: int,
    dh: int,
    pw: int,
    ph: int,
    ceil: bool,
    lw: int,
    lh: int,
) -> None:
    outside = windows_outside(x.shape[-2:], (kh, kw), (dh, dw), (ph, pw), ceil, (lh, lw))
    check_gradient(grad_output, indices.shape)
    grad_output, indices = without_outside(grad_output, outside), without_outside(indices, outside)
    grad_output, indices = _at_places(x, grad_output, indices, 2)
    grad.resize_(x.shape)
    _aten.max_pool2d_with_indices_backward.grad_input(
        grad_output, x, [kh, kw], [dh, dw], [ph, pw], [lh, lw], ceil, indices - 1, grad_input=grad
    )


def spatial_average_pooling(
    out: Out, x: Tensor, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int, ceil: bool, include_pad: bool
) -> None:
    """Averages windows; ``include_pad``: padding counts as elements that are zero."""
    images = _batch(x, 2)
    planes, *sizes = (int(size) for size in images.shape[1:])
    check_output((planes, *sizes), (planes, *_pooled_sizes(x, (kh, kw), (dh, dw), (ph, pw), ceil)))
    outside = windows_outside(sizes, (kh, kw), (dh, dw), (ph, pw), ceil)
    means = with_outside(
        _aten.avg_pool2d(images, [kh, kw], [dh, dw], [ph, pw], ceil, include_pad), outside, math.nan
    )
    if any(outside):
        found = means_outside(sizes, (kh, kw), (dh, dw), means.shape[-2:]).to(means)
        inside = without_outside(means, outside)
        found = found.expand_as(means).clone()
        found[..., : inside.shape[-2], : inside.shape[-1]] = inside
        means = found
    write(out, means, x)


def spatial_average_pooling_grad_input(
    grad: Out,
    x: Tensor,
    grad_output: Tensor,
    kw: int,
    kh: int,
    dw: int,
    dh: int,
    pw: int,
    ph: int,
    ceil: bool,
    include_pad: bool,
) -> None:
    inside = _pooled_sizes(x, (kh, kw), (dh, dw), (ph, pw), ceil)
    outside = windows_outside(x.shape[-2:], (kh, kw), (dh, dw), (ph, pw), ceil)
    check_gradient(grad_output, (*x.shape[:-2], *map(add, inside, outside)))
    grad_output = without_outside(grad_output, outside)
    result = _aten.avg_pool2d_backward(
        _batch(grad_output, 2), _batch(x, 2), [kh, kw], [dh, dw], [ph, pw], ceil, include_pad, None
    )
    write(grad, result, x)


def _adaptive_windows(size: int, count: int) -> tuple[Tensor, Tensor]:
    """Returns where Torch7's windows along a dimension start and end.

    It divides and multiplies in single precision, so some windows begin an element earlier or end one later
    than they would in whole numbers.
    """
    places = torch.arange(count + 1, dtype=torch.float32) / count * size
    return places[:-1].floor().long(), places[1:].ceil().long()


def _adaptive_maxima(images: Tensor, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """Returns the maxima of windows that cover the images, and their positions in the image, from 0."""
    height, width = images.shape[-2:]
    (top, bottom), (left, right) = _adaptive_windows(height, rows), _adaptive_windows(width, columns)
    exact = [
        torch.equal(start, torch.arange(count) * size // count)
        and torch.equal(end, -(-(torch.arange(count) + 1) * size // count))
        for size, count, start, end in ((height, rows, top, bottom), (width, columns, left, right))
    ]
    if all(exact):
        values, flat = _aten.adaptive_max_pool2d(images, [rows, columns])
        return values, flat
    values = images.new_empty(*images.shape[:2], rows, columns)
    flat = torch.empty(values.shape, dtype=torch.int64, device=images.device)
    for i, (first, last) in enumerate(zip(top.tolist(), bottom.tolist(), strict=True)):
        for j, (start, end) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            values[..., i, j], at = images[..., first:last, start:end].flatten(-2).max(-1)
            flat[..., i, j] = (at // (end - start) + first) * width + at % (end - start) + start
    return values, flat


def adaptive_max_pooling(out: Out, indices: Out, x: Tensor, h: int, w: int) -> None:
    """Finds maxima of h x w windows that cover the image, and where they were in their windows: ``indices``
    is 2 x the shape of the output, rows, then columns, from 1.

    If there is none, Torch7 splits place -1 by the window's width: column 0, in a single column row 0.
    """
    images, (rows, columns) = _batch(x, 2, adaptive=True), (h, w)
    out.resize_((*x.shape[:-2], rows, columns))  # before anything else that is as large
    indices.resize_((2, *out.shape))
    values, flat = _adaptive_maxima(images, rows, columns)
    none = None
    if _found_none(values):
        values, flat = _adaptive_maxima(_compared(images), rows, columns)
        low = torch.finfo(torch.float32).min  # this layer's initial maximum, in all types
        none = values <= low
        values = values.masked_fill(none, low)
    height, width = images.shape[-2:]
    top = _adaptive_windows(height, rows)[0].to(flat)
    left, right = (bound.to(flat) for bound in _adaptive_windows(width, columns))
    write(out, values, x)
    indices[0] = (flat // width - top.unsqueeze(1) + 1).view(out.shape)
    indices[1] = (flat % width - left + 1).view(out.shape)
    if none is not None:
        single = right - left == 1
        indices[0][none.view(out.shape)] = (~single).to(indices).expand_as(none)[none]
        indices[1][none.view(out.shape)] = single.to(indices).expand_as(none)[none]


def adaptive_max_pooling_grad_input(grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor) -> None:
    check_gradient(grad_output, indices.shape[1:])
    check_shape(indices, (2, *grad_output.shape), "indices of the pooling")
    images, gradients = _batch(x, 2), _batch(grad_output, 2)
    height, width = images.shape[-2:]
    rows, columns = gradients.shape[-2:]
    top, left = (_adaptive_windows(*pair)[0].to(indices) for pair in ((height, rows), (width, columns)))
    row, column = indices.view(2, *gradients.shape) - 1
    flat = (row + top.unsqueeze(1)) * width + column + left
    nowhere = (row == -1) | (column == -1)
    flat, gradients = flat.masked_fill(nowhere, 0), gradients.masked_fill(nowhere, 0)
    if flat.is_cuda:
        gradients, flat = _inside(gradients, flat, height * width, 0)
    else:
        check_indices(flat, height * width, "index of a maximum", 0)
    result = images.new_zeros(images.shape).flatten(2)
    result.scatter_add_(2, flat.flatten(2), gradients.flatten(2))
    write(grad, result.view(images.shape), x)


def _adaptive_average_pooling(x: Tensor, h: int, w: int) -> Tensor:
    return F.adaptive_avg_pool2d(_batch(x, 2, adaptive=True), (h, w)).reshape(*x.shape[:-2], h, w)


adaptive_average_pooling, adaptive_average_pooling_gradient = layer_kernels(_adaptive_average_pooling)


# Sequences and features


def temporal_max_pooling(out: Out, indices: Out, x: Tensor, kw: int, dw: int) -> None:
    """Finds maxima of windows of frames, and where they were in their windows, from 0; -1: there is none."""
    if x.dim() not in (2, 3):
        raise argument_error(2, f"2D or 3D (batch mode) tensor expected for input, but got: {sizes_text(x)}")
    if x.shape[-2] < kw:
        raise argument_error(
            2, f"input sequence smaller than kernel size. Got: {x.shape[-2]}, Expected: {kw}"
        )
    values, places = x.unfold(-2, kw, dw).max(-1)
    if _found_none(values):
        values, places = _compared(x).unfold(-2, kw, dw).max(-1)
        places = places.masked_fill(values <= lowest(x.dtype), -1)
    write(out, values)
    write(indices, places)


def temporal_max_pooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, kw: int, dw: int
) -> None:
    check_gradient(grad_output, indices.shape)
    grad_output, indices = _with_places(grad_output, indices, kw, 0)
    first = torch.arange(indices.shape[-2], device=x.device).unsqueeze(-1) * dw
    check_size(x, "input", x.dim(), x.dim() - 1, indices.shape[-1])
    write(grad, torch.zeros_like(x).scatter_add_(-2, indices + first, grad_output))


def _inverse(power: float) -> float:
    return 1 / power if power else math.inf


def _feature_lp_pooling(x: Tensor, width: int, step: int, power: float, is_batch: bool) -> Tensor:
    """(sum x^power)^(1/power) over windows of features."""
    return x.unfold(int(is_batch), width, step).pow(power).sum(-1).pow(_inverse(power))


def _feature_lp_pooling_gradient(
    x: Tensor, grad: Tensor, width: int, step: int, power: float, is_batch: bool
) -> Tensor:
    """None if the result is 0."""
    axis = int(is_batch)
    windows = x.unfold(axis, width, step)
    y = windows.pow(power).sum(-1, keepdim=True).pow(_inverse(power))
    check_shape(grad, windows.shape[:-1], "gradOutput")
    slopes = torch.where(y == 0, 0.0, (windows / y).pow(power - 1))
    return _aten.unfold_backward(slopes * grad.unsqueeze(-1), x.shape, axis, width, step)


feature_lp_pooling, feature_lp_pooling_gradient = layer_kernels(
    _feature_lp_pooling, _feature_lp_pooling_gradient
)


# Volumes


def _averaged_volume(numbers: tuple[int, ...]) -> tuple[list[int], list[int], list[int], bool, bool]:
    """Returns the arguments of PyTorch's operator: kernel, steps, paddings, whether the last window may
    extend past the end, whether padding counts. ``numbers``: kernel and steps, as time, width, height;
    optionally the rest, the last two as 0 or 1."""
    kt, kw, kh, dt, dw, dh, pt, pw, ph, ceil, with_padding = (*numbers, 0, 0, 0, 0, 1)[:11]
    return [kt, kh, kw], [dt, dh, dw], [pt, ph, pw], bool(ceil), bool(with_padding)


def _volumetric_average_pooling(x: Tensor, *numbers: int) -> Tensor:
    volumes = F.avg_pool3d(_batch(x, 3), *_averaged_volume(numbers))
    return volumes if x.dim() == 5 else volumes[0]


def _volumetric_average_pooling_gradient(x: Tensor, grad: Tensor, *numbers: int) -> Tensor:
    kernel, steps, padding, ceil, with_padding = _averaged_volume(numbers)
    check_gradient(grad, (*x.shape[:-3], *_pooled_sizes(x, kernel, steps, padding, ceil)))
    return _aten.avg_pool3d_backward(grad, x, kernel, steps, padding, ceil, with_padding, None)


volumetric_average_pooling, volumetric_average_pooling_gradient = layer_kernels(
    _volumetric_average_pooling, _volumetric_average_pooling_gradient
)


def _volume(numbers: tuple[int, ...]) -> list[list[int]]:
    """Kernel, steps, paddings, dilations: time, width and height each, as time, height, width."""
    return [[numbers[i], numbers[i + 2], numbers[i + 1]] for i in (0, 3, 6, 9)]


def _volume_sizes(x: Tensor, ceil: bool, numbers: tuple[int, ...]) -> list[int]:
    """Returns the numbers of windows along time, height and width."""
    kernel, steps, padding, dilations = _volume(numbers)
    return _pooled_sizes(x, kernel, steps, padding, ceil, dilations)


def volumetric_max_pooling(out: Out, indices: Out, x: Tensor, ceil: bool, *numbers: int) -> None:
    """Finds maxima, and where they were. ``numbers``: kernel, steps, paddings and dilations."""
    volumes = _batch(x, 3)
    check_output(volumes.shape[1:], (volumes.shape[1], *_volume_sizes(x, ceil, numbers)))
    values, places = _aten.max_pool3d_with_indices.default(volumes, *_volume(numbers), ceil)
    places += 1
    if _found_none(values):
        values, places = _aten.max_pool3d_with_indices.default(_compared(volumes), *_volume(numbers), ceil)
        places = (places + 1).masked_fill(values <= lowest(x.dtype), 0)
    outside = _outside(x, ceil, numbers)
    write(out, with_outside(values, outside, lowest(x.dtype)), x)
    write(indices, with_outside(places, outside, 0), x)


def _outside(x: Tensor, ceil: bool, numbers: tuple[int, ...]) -> list[int]:
    kernel, steps, padding, dilation = _volume(numbers)
    return windows_outside(x.shape[-3:], kernel, steps, padding, ceil, dilation)


def volumetric_max_pooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, ceil: bool, *numbers: int
) -> None:
    outside = _outside(x, ceil, numbers)
    check_gradient(grad_output, (*x.shape[:-3], *map(add, _volume_sizes(x, ceil, numbers), outside)))
    grad_output, indices = without_outside(grad_output, outside), without_outside(indices, outside)
    grad_output, indices = _at_places(x, grad_output, indices, 3)
    result = _aten.max_pool3d_with_indices_backward(
        _batch(grad_output, 3), _batch(x, 3), *_volume(numbers), ceil, _batch(indices, 3) - 1
    )
    write(grad, result, x)


# Images and volumes reduced by a factor that need not be an integer


def fractional_max_pooling(out: Out, indices: Out, x: Tensor, samples: Tensor, *numbers: int) -> None:
    """Finds maxima of windows at random positions, and where they were.

    ``numbers``: the sizes of the output, then of the windows, one per dimension of the image or volume.
    ``samples``: batch x planes x dimensions, uniform in [0, 1), for the last dimension of the image first.
    """
    axes = len(numbers) // 2
    sizes, kernel = numbers[:axes], numbers[axes:]
    batch = _batch(x, axes)
    for size, width, length in zip(sizes, kernel, batch.shape[2:], strict=True):
        if size + width - 1 >= length:
            raise ValueError(f"poolSize ({width}) too large relative to input size ({length})")
    check_shape(samples, (*batch.shape[:2], axes), "random samples")
    if not bool(((samples >= 0) & (samples <= 1)).all()):  # NaN is neither
        raise ValueError("random samples: numbers from 0 to 1 expected")
    pool = _aten.fractional_max_pool2d if axes == 2 else _aten.fractional_max_pool3d
    if axes == 3:  # PyTorch takes the samples for a volume's dimensions in their order
        samples = samples.flip(-1)
    values, flat = pool(batch, kernel, sizes, samples)
    if _found_none(values):
        values, flat = pool(_compared(batch), kernel, sizes, samples)
        if _found_none(values):
            raise ValueError("Assertion `maxVal != -THInf' failed. ")
    write(out, values, x)
    write(indices, flat + 1, x)


def fractional_max_pooling_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, axes: int
) -> None:
    grad_output, indices = _at_places(x, grad_output, indices, axes)
    batch = _batch(x, axes)
    result = x.new_zeros(batch.shape).flatten(2)
    places = _batch(indices, axes).flatten(2) - 1
    result.scatter_add_(2, places, _batch(grad_output, axes).flatten(2))
    write(grad, result.view(batch.shape), x)


# Unpooling: each element goes back to its position, all others are zero.


def _check_same(x: Tensor, indices: Tensor) -> None:
    if x.shape != indices.shape:
        raise ValueError(f"input and indices differ in size: {tuple(x.shape)} and {tuple(indices.shape)}")


def max_unpooling(out: Out, x: Tensor, indices: Tensor, *sizes: int) -> None:
    """Puts maxima back at their positions; ``sizes``: those of the output's last dimensions."""
    _check_same(x, indices)
    shape = sizes
    batch, places = _batch(x, len(shape)), _batch(indices, len(shape)).flatten(2) - 1
    result = x.new_zeros(*batch.shape[:2], *shape)
    low, high = (int(end) for end in torch.aminmax(places))
    if low < 0 or high >= math.prod(shape):
        volume, bad = "x".join(map(str, shape)), low if low < 0 else high
        raise ValueError(f"found an invalid max index {bad} (output volumes are of size {volume})")
    result.flatten(2).scatter_(2, places, batch.flatten(2))
    write(out, result, x)


def max_unpooling_grad_input(grad: Out, x: Tensor, grad_output: Tensor, indices: Tensor, *sizes: int) -> None:
    _check_same(x, indices)
    shape = sizes
    if tuple(grad_output.shape[-len(shape) :]) != shape:
        expected, got = ("x".join(map(str, s)) for s in (shape, grad_output.shape[-len(shape) :]))
        raise ValueError(f"Inconsistent gradOutput size. output: {expected}, gradOutput: {got}")
    check_indices(indices, math.prod(shape), "index of a maximum")
    places = _batch(indices, len(shape))
    values = _batch(grad_output, len(shape)).flatten(2).gather(2, places.flatten(2) - 1)
    write(grad, values.view(places.shape), x)

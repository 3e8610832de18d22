"""Layers written as plain functions; autograd gives their gradients."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.results import Out, write

__all__ = [
    "layer", "layer_gradient", "pair_layer", "pair_layer_gradients", "parametric_layer",
    "parametric_layer_grad_input", "parametric_layer_grad_parameters",
]  # fmt: skip


_aten = torch.ops.aten


def gradients(
    f: Callable[..., Tensor], inputs: Sequence[Tensor | None], wanted: Sequence[int], grad_output: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of f(inputs...) with respect to the inputs at the places ``wanted``."""
    # Lua runs in inference mode, whose tensors autograd does not take; their clones it does.
    with torch.inference_mode(False), torch.enable_grad():
        leaves = [None if t is None else t.clone() for t in inputs]
        targets = []
        for place in wanted:
            leaf = leaves[place]
            assert leaf is not None
            targets.append(leaf.requires_grad_())
        y = f(*leaves)
        return torch.autograd.grad(y, targets, grad_output.clone().reshape(y.shape))


def _batched(f: Callable[..., Tensor], x: Tensor, dims: int) -> Tensor:
    """f of a batch, also for a single example of ``dims`` dimensions."""
    return f(x.unsqueeze(0)).squeeze(0) if x.dim() == dims else f(x)


def _whole(*numbers: float) -> tuple[int, ...]:
    return tuple(int(n) for n in numbers)


def _pad(mode: str) -> Callable[..., Tensor]:
    def padded(x: Tensor, *sides: float) -> Tensor:
        widths = _whole(*sides)
        if mode == "constant":
            return F.pad(x, widths)
        return _batched(lambda b: F.pad(b, widths, mode=mode), x, len(widths) // 2 + 1)

    return padded


def _normalize(x: Tensor, p: float, eps: float) -> Tensor:
    """Rows divided by (sum |x|^p + eps)^(1/p); p infinite: by max |x| + eps."""
    if p == float("inf"):
        return x / (x.abs().amax(-1, keepdim=True) + eps)
    return x / (x.abs().pow(p).sum(-1, keepdim=True) + eps).pow(1 / p)


def _temporal_max_pooling(x: Tensor, kw: float, dw: float) -> Tensor:
    return x.unfold(-2, int(kw), int(dw)).max(-1).values


def _temporal_max_pooling_gradient(x: Tensor, grad: Tensor, kw: float, dw: float) -> Tensor:
    places = x.unfold(-2, int(kw), int(dw)).max(-1).indices
    windows = torch.arange(places.shape[-2], device=x.device).unsqueeze(-1)
    return torch.zeros_like(x).scatter_add_(-2, places + windows * int(dw), grad)


def _max_pooling(
    x: Tensor, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int, lw: int, lh: int, ceil: bool
) -> Tensor:
    sizes = _whole(kh, kw), _whole(dh, dw), _whole(ph, pw), _whole(lh, lw)
    return F.max_pool2d(x, *sizes, ceil_mode=ceil)


def _volumetric_average_pooling(x: Tensor, *numbers: float) -> Tensor:
    kt, kw, kh, dt, dw, dh = _whole(*numbers)
    return F.avg_pool3d(x, (kt, kh, kw), (dt, dh, dw))


def _volumetric_average_pooling_gradient(x: Tensor, grad: Tensor, *numbers: float) -> Tensor:
    kt, kw, kh, dt, dw, dh = _whole(*numbers)
    kernel, steps = [kt, kh, kw], [dt, dh, dw]
    return _aten.avg_pool3d_backward(grad, x, kernel, steps, [0, 0, 0], False, True, None)


@functools.lru_cache(maxsize=64)
def _interpolation(
    inner: tuple[int, ...], sizes: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> list[Tensor]:
    """The matrices that interpolate along the last dimensions, of sizes ``inner``, to ``sizes``; where one
    matrix for all of them is small, that one."""
    each = [_interpolation_matrix(n, size, dtype) for n, size in zip(inner, sizes, strict=True)]
    if math.prod(inner) * math.prod(sizes) <= _SMALL_MATRIX:
        each = [functools.reduce(torch.kron, each)]
    return [matrix.to(device) for matrix in each]


_SMALL_MATRIX = 1 << 15  # elements


def _interpolation_matrix(n: int, size: int, dtype: torch.dtype) -> Tensor:
    """The matrix (size x n) that interpolates n points linearly at ``size`` points, ends on ends.

    Torch7 works the places out in single precision, whatever the type of the tensor.
    """
    step = torch.tensor((n - 1) / (size - 1) if size > 1 else 0.0, dtype=torch.float32)
    places = step * torch.arange(size, dtype=torch.float32)
    lower = places.long().clamp(max=n - 1)
    fraction = (places - lower).to(dtype)
    matrix = torch.zeros(size, n, dtype=dtype)
    rows = torch.arange(size)
    matrix[rows, lower] += 1 - fraction
    matrix[rows, (lower + 1).clamp(max=n - 1)] += fraction
    return matrix


def _multiplied(x: Tensor, matrices: list[Tensor], sizes: tuple[int, ...]) -> Tensor:
    """Along the last dimensions of x, which become ``sizes``, a matrix each, or one for all of them."""
    axes = len(sizes)
    if len(matrices) == 1:
        return F.linear(x.flatten(-axes), matrices[0]).unflatten(-1, sizes)
    for axis, matrix in zip(range(-axes, 0), matrices, strict=True):
        x = F.linear(x.transpose(axis, -1), matrix).transpose(axis, -1)
    return x


def _upsample_linear(x: Tensor, *sizes: float) -> Tensor:
    """To ``sizes``, those of the last dimensions."""
    outer = _whole(*sizes)
    return _multiplied(x, _interpolation(tuple(x.shape[-len(sizes) :]), outer, x.dtype, x.device), outer)


def _upsample_linear_gradient(x: Tensor, grad: Tensor, *sizes: float) -> Tensor:
    inner = tuple(x.shape[-len(sizes) :])
    return _multiplied(grad, [m.T for m in _interpolation(inner, _whole(*sizes), x.dtype, x.device)], inner)


def _upsample_nearest_gradient(x: Tensor, grad: Tensor, *sizes: float) -> Tensor:
    """For ``sizes`` that are multiples of the input's: the sums of the blocks that they became."""
    blocks = [int(size) // n for size, n in zip(sizes, x.shape[-len(sizes) :], strict=True)]
    pool = F.avg_pool2d if len(sizes) == 2 else F.avg_pool3d
    return pool(grad, blocks, divisor_override=1)


def _feature_lp_pooling(x: Tensor, width: float, step: float, power: float, axis: float) -> Tensor:
    """(sum x^power)^(1/power) over windows of features."""
    return x.unfold(int(axis), int(width), int(step)).pow(power).sum(-1).pow(1 / power)


def _feature_lp_pooling_gradient(
    x: Tensor, grad: Tensor, width: float, step: float, power: float, axis: float
) -> Tensor:
    """None where the result is 0."""
    windows = x.unfold(int(axis), int(width), int(step))
    y = windows.pow(power).sum(-1, keepdim=True).pow(1 / power)
    slopes = torch.where(y == 0, 0.0, (windows / y).pow(power - 1))
    return _aten.unfold_backward(slopes * grad.unsqueeze(-1), x.shape, int(axis), int(width), int(step))


def _replication_padding_gradient(x: Tensor, grad: Tensor, *sides: float) -> Tensor:
    backward = _aten.replication_pad2d_backward if len(sides) == 4 else _aten.replication_pad3d_backward
    result: Tensor = backward(grad, x, _whole(*sides))
    return result


def _sums_of_planes(x: Tensor, before: int, after: int) -> Tensor:
    """Of a batch of images, for each plane the sum of it, those before and those after it."""
    padded = F.pad(x.unsqueeze(1), (0, 0, 0, 0, before, after))
    return F.avg_pool3d(padded, (before + after + 1, 1, 1), 1, divisor_override=1).squeeze(1)


def _single(x: Tensor) -> Tensor:
    """Halves in single precision: their squares do not fit, and PyTorch does not pool them on a CPU."""
    return x.float() if x.dtype == torch.float16 else x


def _cross_map_lrn(x: Tensor, size: float, alpha: float, beta: float, k: float) -> Tensor:
    return _batched(
        lambda images: F.local_response_norm(images, int(size), alpha, beta, k), _single(x), 3
    ).to(x.dtype)


def _cross_map_lrn_gradient(
    x: Tensor, grad: Tensor, size: float, alpha: float, beta: float, k: float
) -> Tensor:
    """x is multiplied by s^-beta, where s is k + alpha times the mean of the squares in a window."""
    before, after = int(size) // 2, (int(size) - 1) // 2
    images, grads = (_single(t if t.dim() == 4 else t.unsqueeze(0)) for t in (x, grad))
    s = k + alpha / size * _sums_of_planes(images.square(), before, after)
    power = s.pow(-beta)
    # each plane is in the windows of those from ``after`` before it to ``before`` after it
    through = _sums_of_planes(grads * images * power / s, after, before)
    return (grads * power - 2 * alpha * beta / size * images * through).view(x.shape).to(x.dtype)


# name -> function of the input and numbers
_LAYERS: dict[str, Callable[..., Tensor]] = {
    "zero_padding": _pad("constant"),
    "reflection_padding": _pad("reflect"),
    "replication_padding": _pad("replicate"),
    "upsample_nearest": lambda x, *sizes: _batched(
        lambda b: F.interpolate(b, size=_whole(*sizes), mode="nearest"), x, len(sizes) + 1
    ),
    "upsample_linear": _upsample_linear,
    "feature_lp_pooling": _feature_lp_pooling,
    "pixel_shuffle": lambda x, factor: F.pixel_shuffle(x, int(factor)),
    "cross_map_lrn": _cross_map_lrn,
    "max_pooling": _max_pooling,
    "adaptive_max_pooling": lambda x, h, w: F.adaptive_max_pool2d(x, _whole(h, w)),
    "adaptive_average_pooling": lambda x, h, w: F.adaptive_avg_pool2d(x, (int(h), int(w))),
    "volumetric_average_pooling": _volumetric_average_pooling,
    "temporal_max_pooling": _temporal_max_pooling,
    "gated_linear_unit": lambda x, dimension: F.glu(x, int(dimension) - 1),
    "normalize": _normalize,
}


def layer(out: Out, x: Tensor, name: str, *numbers: Any) -> None:
    """out = name(x, numbers...)"""
    write(out, _LAYERS[name](x, *numbers))


# name -> the gradient as a function of the input, the gradient of the output and numbers, where that is
# faster than autograd
_LAYER_GRADIENTS: dict[str, Callable[..., Tensor]] = {
    "zero_padding": lambda x, grad, *sides: F.pad(grad, [-n for n in _whole(*sides)]),
    "upsample_nearest": _upsample_nearest_gradient,
    "upsample_linear": _upsample_linear_gradient,
    "pixel_shuffle": lambda x, grad, factor: F.pixel_unshuffle(grad, int(factor)),
    "temporal_max_pooling": _temporal_max_pooling_gradient,
    "volumetric_average_pooling": _volumetric_average_pooling_gradient,
    "feature_lp_pooling": _feature_lp_pooling_gradient,
    "gated_linear_unit": lambda x, grad, dimension: _aten.glu_backward(grad, x, int(dimension) - 1),
    "replication_padding": _replication_padding_gradient,
    "cross_map_lrn": _cross_map_lrn_gradient,
}


def layer_gradient(grad: Out, x: Tensor, grad_output: Tensor, name: str, *numbers: Any) -> None:
    explicit = _LAYER_GRADIENTS.get(name)
    if explicit:
        write(grad, explicit(x, grad_output, *numbers))
        return
    (result,) = gradients(lambda t: _LAYERS[name](t, *numbers), [x], [0], grad_output)
    write(grad, result)


def _cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """The cosine of the angle between the rows of a and b."""
    squares = (a.square().sum(-1) + 1e-12) * (b.square().sum(-1) + 1e-12)
    return ((a * b).sum(-1) / squares.sqrt()).reshape(-1)


# name -> function of two inputs and numbers; for each row of a batch one number
_PAIR_LAYERS: dict[str, Callable[..., Tensor]] = {
    "dot_product": lambda a, b: (a * b).sum(-1).reshape(-1),
    "cosine_distance": _cosine_distance,
    "pairwise_distance": lambda a, b, p: torch.linalg.vector_norm(a - b, p, dim=-1).reshape(-1),
}


def pair_layer(out: Out, a: Tensor, b: Tensor, name: str, *numbers: Any) -> None:
    """out = name(a, b, numbers...)"""
    write(out, _PAIR_LAYERS[name](a, b, *numbers))


def _pairwise_distance_gradient(a: Tensor, b: Tensor, grad_output: Tensor, p: float) -> Tensor:
    """With respect to a; as in Torch7 a distance counts as 1e-6 more, so that equal rows do no harm."""
    difference = a - b
    if p == 1:
        slope = torch.where(difference >= 0, 1.0, -1.0).to(a.dtype)
    else:
        length = torch.linalg.vector_norm(difference, p, dim=-1, keepdim=True) + 1e-6
        slope = difference * difference.abs().pow(p - 2) * length.pow(1 - p)
    return slope * grad_output.reshape(*a.shape[:-1], 1)


def pair_layer_gradients(
    grad_a: Out, grad_b: Out, a: Tensor, b: Tensor, grad_output: Tensor, name: str, *numbers: Any
) -> None:
    if name == "pairwise_distance":
        result = _pairwise_distance_gradient(a, b, grad_output, *numbers)
        write(grad_a, result)
        write(grad_b, -result)
        return
    results = gradients(lambda s, t: _PAIR_LAYERS[name](s, t, *numbers), [a, b], [0, 1], grad_output)
    write(grad_a, results[0])
    write(grad_b, results[1])


def _depthwise_convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int
) -> Tensor:
    """Each plane by itself; weight: output x (input * kh * kw), planes out: input-major."""
    planes = x.shape[-3]
    filters = weight.reshape(weight.shape[0], planes, 1, int(kh), int(kw)).transpose(0, 1).flatten(0, 1)
    biases = None if bias is None else bias.t().reshape(-1)
    return F.conv2d(x, filters, biases, _whole(dh, dw), _whole(ph, pw), groups=planes)


def _local_convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int
) -> Tensor:
    """A convolution whose weight (rows x columns x output x input x kh x kw in this order, whatever its
    sizes) differs from place to place."""
    padded = F.pad(x, (int(pw), int(pw), int(ph), int(ph)))
    windows = padded.unfold(-2, int(kh), int(dh)).unfold(-2, int(kw), int(dw))
    inputs, rows, columns = windows.shape[-5:-2]
    filters = weight.reshape(rows, columns, -1, inputs, int(kh), int(kw))
    result = torch.einsum("...iyxhw,yxoihw->...oyx", windows, filters)
    return result if bias is None else result + bias.reshape(-1, rows, columns)


def _spatial_subsampling(
    x: Tensor, weight: Tensor, bias: Tensor, kw: int, kh: int, dw: int, dh: int
) -> Tensor:
    sums = F.avg_pool2d(x, _whole(kh, kw), _whole(dh, dw), divisor_override=1)
    return sums * weight[:, None, None] + bias[:, None, None]


def _temporal_convolution(x: Tensor, weight: Tensor, bias: Tensor | None, kw: float, dw: float) -> Tensor:
    """weight: output x (frame by frame, input)."""
    windows = x.unfold(-2, int(kw), int(dw)).transpose(-1, -2).flatten(-2)
    return F.linear(windows, weight, bias)


def _temporal_subsampling(x: Tensor, weight: Tensor, bias: Tensor, kw: float, dw: float) -> Tensor:
    return x.unfold(-2, int(kw), int(dw)).sum(-1) * weight + bias


def _temporal_row_convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, dw: float, features_first: bool
) -> Tensor:
    """Each feature by itself."""
    rows = x if features_first else x.transpose(-1, -2)
    result = F.conv1d(rows, weight, bias, int(dw), groups=rows.shape[-2])
    return result if features_first else result.transpose(-1, -2)


def _prelu(x: Tensor, weight: Tensor, bias: None) -> Tensor:
    """Planes are the first dimension of a vector or an image, the second of anything else."""
    return _batched(lambda b: F.prelu(b, weight), x, 3 if x.dim() == 3 else 1)


def _spatial_subsampling_grad_input(
    x: Tensor, grad: Tensor, weight: Tensor, bias: Tensor, kw: int, kh: int, dw: int, dh: int
) -> Tensor:
    scaled = grad * weight[:, None, None]
    kernel, steps = _whole(kh, kw), _whole(dh, dw)
    result: Tensor = _aten.avg_pool2d_backward(scaled, x, kernel, steps, [0, 0], False, True, 1)
    return result


def _spatial_subsampling_grad_parameters(
    x: Tensor, grad: Tensor, weight: Tensor, bias: Tensor, kw: int, kh: int, dw: int, dh: int
) -> tuple[Tensor, Tensor]:
    sums = F.avg_pool2d(x, _whole(kh, kw), _whole(dh, dw), divisor_override=1)
    but_planes = [d for d in range(x.dim()) if d != x.dim() - 3]
    return (grad * sums).sum(but_planes), grad.sum(but_planes)


def _temporal_convolution_grad_input(
    x: Tensor, grad: Tensor, weight: Tensor, bias: Tensor | None, kw: float, dw: float
) -> Tensor:
    windows = (grad @ weight).unflatten(-1, (int(kw), -1)).transpose(-1, -2)
    result: Tensor = _aten.unfold_backward(windows, x.shape, x.dim() - 2, int(kw), int(dw))
    return result


def _temporal_convolution_grad_parameters(
    x: Tensor, grad: Tensor, weight: Tensor, bias: Tensor | None, kw: float, dw: float
) -> tuple[Tensor, Tensor]:
    windows = x.unfold(-2, int(kw), int(dw)).transpose(-1, -2).flatten(-2)
    rows = grad.reshape(-1, grad.shape[-1])
    return rows.t() @ windows.reshape(len(rows), -1), rows.sum(0)


def _slope_places(x: Tensor, weight: Tensor) -> tuple[int, list[int]]:
    """Of a parametric ReLU: the planes' dimension, and the sizes of a weight that fits the input."""
    planes = 0 if x.dim() in (1, 3) else 1
    sizes = [1] * x.dim()
    sizes[planes] = weight.numel()
    return planes, sizes


def _prelu_grad_input(x: Tensor, grad: Tensor, weight: Tensor, bias: None) -> Tensor:
    _, sizes = _slope_places(x, weight)
    return torch.where(x > 0, grad, grad * weight.view(sizes))


def _prelu_grad_parameters(x: Tensor, grad: Tensor, weight: Tensor, bias: None) -> tuple[Tensor, None]:
    planes, _ = _slope_places(x, weight)
    each = grad * x.clamp(max=0)
    if weight.numel() == 1:
        return each.sum().view(1), None
    return each.sum([d for d in range(x.dim()) if d != planes]) if x.dim() > 1 else each, None


# name -> function of the input, the weight, the bias (or None) and numbers
_PARAMETRIC_LAYERS: dict[str, Callable[..., Tensor]] = {
    "depthwise_convolution": _depthwise_convolution,
    "local_convolution": _local_convolution,
    "spatial_subsampling": _spatial_subsampling,
    "temporal_convolution": _temporal_convolution,
    "temporal_subsampling": _temporal_subsampling,
    "temporal_row_convolution": _temporal_row_convolution,
    "prelu": _prelu,
}


# name -> functions of the input, the gradient of the output, the weight, the bias and numbers, where they are
# faster than autograd: the gradient of the input; those of the weight and the bias
_PARAMETRIC_GRADIENTS: dict[
    str, tuple[Callable[..., Tensor], Callable[..., tuple[Tensor, Tensor | None]]]
] = {
    "spatial_subsampling": (_spatial_subsampling_grad_input, _spatial_subsampling_grad_parameters),
    "temporal_convolution": (_temporal_convolution_grad_input, _temporal_convolution_grad_parameters),
    "prelu": (_prelu_grad_input, _prelu_grad_parameters),
}


def parametric_layer(
    out: Out, x: Tensor, weight: Tensor, bias: Tensor | None, name: str, *numbers: Any
) -> None:
    """out = name(x, weight, bias, numbers...)"""
    write(out, _PARAMETRIC_LAYERS[name](x, weight, bias, *numbers))


def parametric_layer_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, weight: Tensor, bias: Tensor | None, name: str, *numbers: Any
) -> None:
    if name in _PARAMETRIC_GRADIENTS:
        write(grad, _PARAMETRIC_GRADIENTS[name][0](x, grad_output, weight, bias, *numbers))
        return
    f = _PARAMETRIC_LAYERS[name]
    (result,) = gradients(lambda t, w, b: f(t, w, b, *numbers), [x, weight, bias], [0], grad_output)
    write(grad, result)


def parametric_layer_grad_parameters(
    grad_weight: Tensor,
    grad_bias: Tensor | None,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    scale: float,
    name: str,
    *numbers: Any,
) -> None:
    """Adds scale times the gradients to grad_weight and grad_bias."""
    of_bias: Tensor | None
    if name in _PARAMETRIC_GRADIENTS:
        of_weight, of_bias = _PARAMETRIC_GRADIENTS[name][1](x, grad_output, weight, bias, *numbers)
    else:
        f = _PARAMETRIC_LAYERS[name]
        wanted = [1] if grad_bias is None else [1, 2]
        of_weight, *rest = gradients(
            lambda t, w, b: f(t, w, b, *numbers), [x, weight, bias], wanted, grad_output
        )
        of_bias = rest[0] if rest else None
    grad_weight.add_(of_weight, alpha=scale)
    if grad_bias is not None and of_bias is not None:
        grad_bias.add_(of_bias, alpha=scale)

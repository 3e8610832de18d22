"""Layers that Torch7's nn lacks, composed of layers that it has."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import nn

from convnet_benchmarks.nets.modules.torch7 import ConcatTable, View
from lua_compat.torch_modules import (
    arithmetic,
    decorators,
    linear,
    reduce,
    shape,
    similarity,
    tables,
    transfer,
)

# Returns a layer's parts, or None if nn has the layer itself.
Spelling = Callable[[Any], nn.Module | None]


def spelled_out(module: nn.Module) -> nn.Module | None:
    """Returns a module of exportable parts that is equivalent to ``module``; None if there is none."""
    spelling = _SPELLINGS.get(type(module))
    spelled = None if spelling is None else spelling(module)
    return None if spelled is None else spelled.train(module.training)


def both(*branches: nn.Module, by: nn.Module) -> nn.Module:
    """Returns the branches, applied to one input, with their outputs joined ``by`` a layer of tables."""
    return nn.Sequential(ConcatTable(branches), by)


def times(factor: float) -> nn.Module:
    return arithmetic.MulConstant(constant_scalar=factor, inplace=False)


def plus(number: float) -> nn.Module:
    return arithmetic.AddConstant(constant_scalar=number, inplace=False)


def for_rows(module: nn.Module) -> nn.Module:
    """Returns ``module``, which takes rows, for inputs of any dimensions, whose last one is that of the
    rows."""
    return decorators.Bottle(module=module, nInputDim=2, nOutputDim=2)


# Functions of each element


def _silu(m: nn.SiLU) -> nn.Module:
    return both(nn.Identity(), nn.Sigmoid(), by=tables.CMulTable())


def _hard_sigmoid() -> nn.Module:
    return nn.Sequential(plus(3), nn.ReLU6(), times(1 / 6))


def _gelu(m: nn.GELU) -> nn.Module:
    if m.approximate == "tanh":
        cubed = nn.Sequential(transfer.Power(pow=3), times(0.044715))
        inner = both(nn.Identity(), cubed, by=tables.CAddTable(inplace=False))
        gate = nn.Sequential(inner, times(math.sqrt(2 / math.pi)), nn.Tanh(), plus(1), times(0.5))
        return both(nn.Identity(), gate, by=tables.CMulTable())
    # relu(x) - |x| erfc(|x| / sqrt(2)) / 2
    tail = both(
        nn.Identity(), nn.Sequential(times(math.sqrt(0.5)), _erfc(), times(0.5)), by=tables.CMulTable()
    )
    return both(nn.ReLU(), nn.Sequential(transfer.Abs(), tail), by=tables.CSubTable())


def _erfc() -> nn.Module:
    """Returns erfc for x >= 0: t exp(-x^2 + P(2 t - 1)) with t = 1 / (1 + x / 2)."""
    t = nn.Sequential(times(0.5), plus(1), transfer.Power(pow=-1))
    polynomial = nn.Sequential(t, times(2), plus(-1), _polynomial(_erfc_coefficients()))
    square = nn.Sequential(transfer.Square(), times(-1))
    exponential = nn.Sequential(both(square, polynomial, by=tables.CAddTable(inplace=False)), transfer.Exp())
    return both(t, exponential, by=tables.CMulTable())


def _polynomial(coefficients: list[float]) -> nn.Module:
    """Returns a polynomial by Horner's scheme; the highest power comes first."""
    first, second, *rest = coefficients
    result: nn.Module = nn.Sequential(times(first), plus(second))
    for number in rest:
        result = nn.Sequential(both(nn.Identity(), result, by=tables.CMulTable()), plus(number))
    return result


def _erfc_coefficients(degree: int = 24, points: int = 200) -> list[float]:
    """Returns the polynomial P of ``_erfc``, the highest power first: erfc to 2e-15.

    It interpolates log(erfc(x) / t) + x^2, which is smooth, at Chebyshev points.
    """
    u = np.cos(np.pi * (np.arange(points) + 0.5) / points)
    t = (u + 1) / 2
    scaled = torch.special.erfcx(torch.from_numpy(2 / t - 2)).numpy()
    fitted = chebyshev.chebfit(u, np.log(scaled / t), degree)
    return [float(coefficient) for coefficient in chebyshev.cheb2poly(fitted)[::-1]]


# Normalization: sums over the remaining dimensions of a sample, so that sizes need not be known


def _standardized(eps: float) -> nn.Module:
    """Returns the rows of (batch, rows, elements) minus their mean, divided by their standard deviation."""
    return nn.Sequential(
        both(nn.Identity(), _spread_mean(), by=tables.CSubTable()),
        both(
            nn.Identity(),
            nn.Sequential(transfer.Square(), _spread_mean(), plus(eps), transfer.Sqrt()),
            by=tables.CDivTable(),
        ),
    )


def _spread_mean() -> nn.Module:
    """Returns each row's mean, repeated for its elements by a product with a row of ones."""
    column = nn.Sequential(reduce.Mean(dimension=3), shape.Unsqueeze(pos=2, numInputDims=1))
    ones = nn.Sequential(shape.Narrow(dimension=2, index=1, length=1), times(0), plus(1))
    return both(column, ones, by=arithmetic.MM())


def _in_its_own_shape(module: nn.Module) -> nn.Module:
    """Returns ``module`` with its output in the input's shape: nn adds elements in order, whatever the
    shapes."""
    return both(times(0), module, by=tables.CAddTable(inplace=False))


def _affine(m: Any, planes: int, dims: int) -> list[nn.Module]:
    if m.weight is None:
        return []
    sizes = (1, planes, *([1] * (dims - 2)))
    parts: list[nn.Module] = [_with("weight", m.weight, sizes, arithmetic.CMul)]
    if m.bias is not None:
        parts.append(_with("bias", m.bias, sizes, arithmetic.CAdd))
    return parts


def _with(name: str, parameter: nn.Parameter, sizes: tuple[int, ...], kind: Any) -> nn.Module:
    module: nn.Module = kind(**{name: nn.Parameter(parameter.detach().view(sizes))})
    return module


def _group_norm(m: nn.GroupNorm) -> nn.Module:
    rows = nn.Sequential(View(m.num_groups, -1, num_input_dims=3), _standardized(m.eps))
    return nn.Sequential(_in_its_own_shape(rows), *_affine(m, m.num_channels, 4))


def _instance_norm(m: nn.InstanceNorm2d) -> nn.Module | None:
    if m.track_running_stats:
        return None
    rows = nn.Sequential(View(m.num_features, -1, num_input_dims=3), _standardized(m.eps))
    return nn.Sequential(_in_its_own_shape(rows), *_affine(m, m.num_features, 4))


def _layer_norm(m: nn.LayerNorm) -> nn.Module | None:
    if len(m.normalized_shape) > 1:
        return None
    unfolded, folded = shape.Unsqueeze(pos=1, numInputDims=1), shape.Select(dimension=2, index=1)
    rows = nn.Sequential(unfolded, _standardized(m.eps), folded)
    return for_rows(nn.Sequential(rows, *_affine(m, m.normalized_shape[0], 2)))


def _batch_norm(m: nn.BatchNorm2d) -> nn.Module | None:
    """Returns a layer without running statistics: planes become rows of one sample."""
    if m.running_mean is not None:
        return None
    swapped = shape.Transpose(permutations=[[1, 2]])
    rows = nn.Sequential(
        View(-1, num_input_dims=3), shape.Unsqueeze(pos=1, numInputDims=2), _standardized(m.eps)
    )
    return nn.Sequential(swapped, _in_its_own_shape(rows), swapped, *_affine(m, m.num_features, 4))


# Convolutions


def _convolution(m: nn.Conv2d) -> nn.Module | None:
    edges = _edges(m)
    if edges is not None:
        plain = _copy(m, m.weight, m.bias, m.in_channels, m.out_channels, m.groups, (0, 0))
        return nn.Sequential(edges, _convolution(plain) or plain)
    depth_wise = m.groups == m.in_channels and set(m.dilation) == {1}
    if m.groups == 1 or depth_wise:
        return None
    inputs, outputs = m.in_channels // m.groups, m.out_channels // m.groups
    branches = []
    for group in range(m.groups):
        part = slice(group * outputs, (group + 1) * outputs)
        bias = None if m.bias is None else m.bias[part]
        planes = shape.Narrow(dimension=2, index=group * inputs + 1, length=inputs)
        branches.append(nn.Sequential(planes, _copy(m, m.weight[part], bias, inputs, outputs, 1, m.padding)))
    return both(*branches, by=tables.JoinTable(dimension=2))


def _edges(m: nn.Conv2d) -> nn.Module | None:
    """Returns the padding as a layer, if it is not of zeros or differs between the sides."""
    if isinstance(m.padding, str):
        same = m.padding == "same"
        spans = [d * (k - 1) if same else 0 for d, k in zip(m.dilation, m.kernel_size, strict=True)]
    else:
        spans = [2 * int(pad) for pad in m.padding]
    if m.padding_mode == "zeros" and not any(span % 2 for span in spans):
        return None
    (top, bottom), (left, right) = ((span // 2, span - span // 2) for span in spans)
    kinds: dict[str, Any] = {
        "zeros": nn.ZeroPad2d, "reflect": nn.ReflectionPad2d, "replicate": nn.ReplicationPad2d,
    }  # fmt: skip
    kind = kinds.get(m.padding_mode)
    return None if kind is None else kind((left, right, top, bottom))


def _copy(
    m: nn.Conv2d, weight: Any, bias: Any, inputs: int, outputs: int, groups: int, pads: Any
) -> nn.Conv2d:
    kind: Any = nn.Conv2d
    copy: nn.Conv2d = kind(
        inputs, outputs, m.kernel_size, m.stride, pads, m.dilation, groups, bias is not None, device="meta"
    )
    copy.weight = nn.Parameter(weight.detach())
    copy.bias = None if bias is None else nn.Parameter(bias.detach())
    return copy


def _as_image(layer: nn.Module) -> nn.Module:
    """Applies a layer of images to (batch, planes, length), as images of one row."""
    return nn.Sequential(shape.Unsqueeze(pos=2, numInputDims=2), layer, shape.Squeeze(dim=2, numInputDims=3))


def _convolution1d(m: nn.Conv1d) -> nn.Module | None:
    if isinstance(m.padding, str) or m.padding_mode != "zeros":
        return None
    image = nn.Conv2d(
        m.in_channels, m.out_channels, (1, m.kernel_size[0]), (1, m.stride[0]), (0, _one(m.padding)),
        (1, m.dilation[0]), m.groups, m.bias is not None, device="meta",
    )  # fmt: skip
    image.weight = nn.Parameter(m.weight.detach().unsqueeze(2))
    image.bias = None if m.bias is None else nn.Parameter(m.bias.detach())
    return _as_image(image)


def _one(value: Any) -> int:
    return int(value[0] if isinstance(value, tuple) else value)


def _max_pool1d(m: nn.MaxPool1d) -> nn.Module:
    sizes = (m.kernel_size, m.stride, m.padding, m.dilation)
    kernel, stride, pad, dilation = (_one(size) for size in sizes)
    return _as_image(nn.MaxPool2d((1, kernel), (1, stride), (0, pad), (1, dilation), ceil_mode=m.ceil_mode))


def _avg_pool1d(m: nn.AvgPool1d) -> nn.Module:
    kernel, stride, pad = (_one(size) for size in (m.kernel_size, m.stride, m.padding))
    return _as_image(nn.AvgPool2d((1, kernel), (1, stride), (0, pad), m.ceil_mode, m.count_include_pad))


def _upsample(m: nn.Upsample) -> nn.Module | None:
    """Returns bilinear interpolation between the centres of pixels: nearest neighbours, then means.

    nn's own interpolates between corners.
    """
    factors = m.scale_factor if isinstance(m.scale_factor, tuple) else (m.scale_factor, m.scale_factor)
    if m.mode != "bilinear" or m.align_corners or factors[0] != factors[1] or not factors[0]:
        return None
    factor = int(factors[0])
    if factor != factors[0]:
        return None
    means = [nn.AvgPool2d(factor, 1)] if factor % 2 else [nn.AvgPool2d(factor, 1), nn.AvgPool2d(2, 1)]
    return nn.Sequential(nn.Upsample(scale_factor=factor), nn.ReplicationPad2d(factor // 2), *means)


def _embedding(m: nn.Embedding) -> nn.Module:
    """Returns a lookup table whose indices are made to start at 1, as in Torch7."""
    table = linear.LookupTable(
        m.num_embeddings, m.embedding_dim, m.padding_idx, m.max_norm, m.norm_type, m.scale_grad_by_freq,
        device="meta",
    )  # fmt: skip
    table.weight = m.weight
    return table


_SPELLINGS: dict[type, Spelling] = {
    nn.SiLU: _silu,
    nn.Mish: lambda m: both(nn.Identity(), nn.Sequential(nn.Softplus(), nn.Tanh()), by=tables.CMulTable()),
    nn.Hardsigmoid: lambda m: _hard_sigmoid(),
    nn.Hardswish: lambda m: both(nn.Identity(), _hard_sigmoid(), by=tables.CMulTable()),
    nn.GELU: _gelu,
    nn.GroupNorm: _group_norm,
    nn.InstanceNorm2d: _instance_norm,
    nn.LayerNorm: _layer_norm,
    nn.BatchNorm2d: _batch_norm,
    nn.Conv2d: _convolution,
    nn.Conv1d: _convolution1d,
    nn.MaxPool1d: _max_pool1d,
    nn.AvgPool1d: _avg_pool1d,
    nn.Embedding: _embedding,
    nn.Bilinear: lambda m: similarity.Bilinear(weight=m.weight, bias=m.bias),
    nn.Upsample: _upsample,
    nn.Softmax2d: lambda m: transfer.SoftMax(),
}

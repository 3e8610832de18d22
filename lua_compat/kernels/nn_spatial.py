"""Convolution and pooling of images, forward and gradients, as nn's modules want them.

An image is planes x height x width, a batch has one more dimension in front, and so have its results.
"""

import torch
from torch import Tensor

from lua_compat.bridge import Out

__all__ = [
    "spatial_average_pooling", "spatial_average_pooling_grad_input", "spatial_convolution",
    "spatial_convolution_grad_input", "spatial_convolution_grad_weight", "spatial_max_pooling",
    "spatial_max_pooling_grad_input",
]  # fmt: skip

_aten = torch.ops.aten


def _batch(x: Tensor) -> Tensor:
    if x.dim() not in (3, 4):
        raise ValueError(f"3D or 4D (batch mode) tensor expected for input, but got: {_sizes(x)}")
    return x if x.dim() == 4 else x.unsqueeze(0)


def _sizes(x: Tensor) -> str:
    return "[" + " x ".join(map(str, x.shape)) + "]"


def _write(out: Tensor, result: Tensor, like: Tensor) -> None:
    """result, without its batch dimension if ``like`` has none."""
    if like.dim() == 3:
        result = result.squeeze(0)
    out.resize_(result.shape)
    out.copy_(result)


def _filters(weight: Tensor, kw: int, kh: int) -> Tensor:
    """Weights as output x input x height x width, also if they came as a matrix."""
    return weight if weight.dim() == 4 else weight.view(weight.shape[0], -1, kh, kw)


def _check_planes(x: Tensor, planes: int) -> None:
    if x.shape[1] != planes:
        raise ValueError(
            f"Need input of dimension {x.dim()} and input.size[1] == {planes}"
            f" but got input to be of shape: {_sizes(x)}"
        )


def spatial_convolution(
    out: Out,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    kw: int,
    kh: int,
    dw: int,
    dh: int,
    pw: int,
    ph: int,
) -> None:
    """Kernel kw x kh, step dw x dh, zero padding pw, ph on each side."""
    batch, filters = _batch(x), _filters(weight, kw, kh)
    _check_planes(batch, filters.shape[1])
    _write(out, torch.conv2d(batch, filters, bias, (dh, dw), (ph, pw)), x)


def _gradients(
    x: Tensor, grad_output: Tensor, filters: Tensor, steps: tuple[int, ...], mask: list[bool]
) -> tuple[Tensor, ...]:
    dw, dh, pw, ph = steps
    result: tuple[Tensor, ...] = _aten.convolution_backward(
        _batch(grad_output),
        _batch(x),
        filters,
        [filters.shape[0]],
        [dh, dw],
        [ph, pw],
        [1, 1],
        False,
        [0, 0],
        1,
        mask,
    )
    return result


def spatial_convolution_grad_input(
    grad: Out,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    kw: int,
    kh: int,
    dw: int,
    dh: int,
    pw: int,
    ph: int,
) -> None:
    filters = _filters(weight, kw, kh)
    _write(grad, _gradients(x, grad_output, filters, (dw, dh, pw, ph), [True, False, False])[0], x)


def spatial_convolution_grad_weight(
    grad_weight: Tensor,
    grad_bias: Tensor | None,
    x: Tensor,
    grad_output: Tensor,
    kw: int,
    kh: int,
    dw: int,
    dh: int,
    pw: int,
    ph: int,
    scale: float,
) -> None:
    """Adds scale times the gradients to grad_weight and grad_bias."""
    filters = _filters(grad_weight, kw, kh)
    mask = [False, True, grad_bias is not None]
    _, weights, biases = _gradients(x, grad_output, filters, (dw, dh, pw, ph), mask)
    filters.add_(weights, alpha=scale)
    if grad_bias is not None:
        grad_bias.add_(biases, alpha=scale)


def spatial_max_pooling(
    out: Out, indices: Out, x: Tensor, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int, ceil: bool
) -> None:
    """Maxima, and where they were: from 1, within each plane of the input."""
    values, places = _aten.max_pool2d_with_indices(_batch(x), [kh, kw], [dh, dw], [ph, pw], [1, 1], ceil)
    _write(out, values, x)
    _write(indices, places + 1, x)


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
) -> None:
    result = _aten.max_pool2d_with_indices_backward(
        _batch(grad_output), _batch(x), [kh, kw], [dh, dw], [ph, pw], [1, 1], ceil, _batch(indices) - 1
    )
    _write(grad, result, x)


def spatial_average_pooling(
    out: Out, x: Tensor, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int, ceil: bool, include_pad: bool
) -> None:
    """``include_pad``: padding counts as elements that are zero."""
    _write(out, _aten.avg_pool2d(_batch(x), [kh, kw], [dh, dw], [ph, pw], ceil, include_pad), x)


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
    result = _aten.avg_pool2d_backward(
        _batch(grad_output), _batch(x), [kh, kw], [dh, dw], [ph, pw], ceil, include_pad, None
    )
    _write(grad, result, x)

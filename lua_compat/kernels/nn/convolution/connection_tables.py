"""Convolutions in which a table lists which input plane contributes to which output plane; gradients.

table: connections x (input plane, output plane), from 1; weight: connections x kernel height x kernel width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.indices import check_indices
from lua_compat.kernels.nn.sizes import check_gradient
from lua_compat.kernels.results import Out, write

__all__ = [
    "mapped_convolution", "mapped_convolution_grad_input", "mapped_convolution_grad_parameters",
]  # fmt: skip
SANDBOXED = __all__

_MOST_PLANES = 1 << 20


def _filters(weight: Tensor, table: Tensor, outputs: int) -> Tensor:
    """Returns the filters of an ordinary convolution, output x input x kh x kw: zero for pairs that are not
    connected."""
    inputs, places = _places(table, outputs)
    dense = weight.new_zeros(outputs * inputs, *weight.shape[1:])
    dense.index_add_(0, places, weight)
    return dense.view(outputs, inputs, *weight.shape[1:])


def _places(table: Tensor, outputs: int) -> tuple[int, Tensor]:
    """Returns how many input planes are connected, and the position of each connection's filter: output *
    inputs + input."""
    check_indices(table.long()[:, 0], _MOST_PLANES, "input plane of a connection")
    check_indices(table.long()[:, 1], outputs, "output plane of a connection")
    entries = table.long() - 1
    inputs = int(entries[:, 0].max()) + 1
    return inputs, entries[:, 1] * inputs + entries[:, 0]


def _check(x: Tensor, inputs: int, weight: Tensor, full: bool) -> None:
    if x.shape[-3] < inputs:
        raise ValueError("invalid number of input planes")
    if not full and (x.shape[-1] < weight.shape[-1] or x.shape[-2] < weight.shape[-2]):
        raise ValueError("input image smaller than kernel size")


def _batch(x: Tensor) -> Tensor:
    return x if x.dim() == 4 else x.unsqueeze(0)


def _is_finite(t: Tensor) -> bool:
    """Returns whether t is finite, so that multiplying by the zeros of missing connections is harmless."""
    return bool(t.isfinite().all())


def _by_connection(
    t: Tensor, weight: Tensor, pairs: tuple[Tensor, Tensor], planes: int, steps: tuple[int, int], full: bool
) -> Tensor:
    """Returns the sums, in ``planes`` planes, of each connection's convolution of its plane of the batch t.

    ``pairs``: for each connection the plane of t and that of the sum, from 0.
    """
    source, target = pairs
    one = F.conv_transpose2d if full else F.conv2d
    found = one(t.index_select(1, source), weight.unsqueeze(1), stride=steps, groups=len(weight))
    sums = found.new_zeros(len(found), planes, *found.shape[2:])
    return sums.index_add_(1, target, found)


def mapped_convolution(
    out: Out, x: Tensor, weight: Tensor, bias: Tensor, table: Tensor, dw: int, dh: int, full: bool
) -> None:
    """Convolves; ``full``: at every position where image and kernel overlap, dw and dh apart in the output;
    otherwise those where the kernel lies within the image, dw and dh apart in the input."""
    filters = _filters(weight, table, len(bias))
    inputs, steps = filters.shape[1], (dh, dw)
    _check(x, inputs, weight, full)
    used = x.narrow(-3, 0, inputs)
    if not _is_finite(used):
        source, target = (table.long() - 1).unbind(1)
        sums = _by_connection(_batch(used), weight, (source, target), len(bias), steps, full)
        write(out, sums + bias.view(-1, 1, 1), x)
    elif full:
        write(out, F.conv_transpose2d(used, filters.transpose(0, 1), bias, steps))
    else:
        write(out, F.conv2d(used, filters, bias, steps))


def _output_sizes(x: Tensor, filters: Tensor, dw: int, dh: int, full: bool) -> tuple[int, ...]:
    """Returns the sizes of the output; filters: output x input x kh x kw."""
    sizes = []
    for size, kernel, step in zip(x.shape[-2:], filters.shape[-2:], (dh, dw), strict=True):
        sizes.append((size - 1) * step + kernel if full else (size - kernel) // step + 1)
    return (*x.shape[:-3], filters.shape[0], *sizes)


def _gradients(
    x: Tensor, grad_output: Tensor, filters: Tensor, dw: int, dh: int, full: bool, mask: list[bool]
) -> tuple[Tensor, ...]:
    """Returns the gradients of the connected input planes, the filters (transposed if ``full``), the bias."""
    used = _batch(x.narrow(-3, 0, filters.shape[1]))
    check_gradient(grad_output, _output_sizes(x, filters, dw, dh, full))
    if full:
        filters = filters.transpose(0, 1)
    result: tuple[Tensor, ...] = torch.ops.aten.convolution_backward.default(
        _batch(grad_output), used, filters, [grad_output.shape[-3]], [dh, dw], [0, 0], [1, 1],
        full, [0, 0], 1, mask,
    )  # fmt: skip
    return result


def mapped_convolution_grad_input(
    grad: Out,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    bias: Tensor,
    table: Tensor,
    dw: int,
    dh: int,
    full: bool,
) -> None:
    filters = _filters(weight, table, len(bias))
    if not _is_finite(grad_output):
        check_gradient(grad_output, _output_sizes(x, filters, dw, dh, full))
        target, source = (table.long() - 1).unbind(1)
        batch, steps = _batch(grad_output), (dh, dw)
        found = _by_connection(batch, weight, (source, target), filters.shape[1], steps, not full)
        left = [here - there for here, there in zip(x.shape[-2:], found.shape[-2:], strict=True)]
        found = F.pad(found, (0, left[1], 0, left[0]))  # pixels that no window covers
    else:
        found = _gradients(x, grad_output, filters, dw, dh, full, [True, False, False])[0]
    if found.shape[1] < x.shape[-3]:  # the other planes are not connected
        found = F.pad(found, (0, 0, 0, 0, 0, x.shape[-3] - found.shape[1]))
    write(grad, found, x)


def mapped_convolution_grad_parameters(
    grad_weight: Tensor,
    grad_bias: Tensor,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    bias: Tensor,
    table: Tensor,
    dw: int,
    dh: int,
    full: bool,
    scale: float,
) -> None:
    """Adds scale times the gradients to grad_weight and grad_bias."""
    inputs, places = _places(table, len(bias))
    filters = weight.new_empty(len(bias), inputs, *weight.shape[1:])  # only their sizes count
    _, of_filters, of_bias = _gradients(x, grad_output, filters, dw, dh, full, [False, True, True])
    if full:
        of_filters = of_filters.transpose(0, 1)
    of_weight = of_filters.reshape(-1, *weight.shape[1:]).index_select(0, places)
    grad_weight.add_(of_weight, alpha=scale)
    grad_bias.add_(of_bias, alpha=scale)

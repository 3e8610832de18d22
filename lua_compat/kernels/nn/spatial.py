"""Convolution and pooling of images, forward and gradients, as nn's modules want them.

An image is planes x height x width, a batch has one more dimension in front, and so have its results.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from lua_compat.kernels.nn import gpu_convolution, im2col
from lua_compat.kernels.results import Out, write
from lua_compat.kernels.workspace import Workspace
from nets.engine.shapes import PIECE_BYTES, ConvolutionShape, runs

__all__ = [
    "spatial_average_pooling", "spatial_average_pooling_grad_input", "spatial_convolution",
    "spatial_convolution_grad_input", "spatial_convolution_grad_weight", "spatial_max_pooling",
    "spatial_max_pooling_grad_input",
]  # fmt: skip

_aten = torch.ops.aten

# Below these, images are pooled as they lie.
_FEW_PIXELS, _FEW_PLANES = 1 << 15, 16


def _batch(x: Tensor) -> Tensor:
    if x.dim() not in (3, 4):
        raise ValueError(f"3D or 4D (batch mode) tensor expected for input, but got: {_sizes(x)}")
    return x if x.dim() == 4 else x.unsqueeze(0)


def _sizes(x: Tensor) -> str:
    return "[" + " x ".join(map(str, x.shape)) + "]"


def _geometry(
    x: Tensor, weight: Tensor, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int
) -> ConvolutionShape:
    """Of a batch; raises ValueError where it does not fit the weight or the kernel."""
    if weight.dim() not in (2, 4):
        raise ValueError(f"2D or 4D weight tensor expected, but got: {_sizes(weight)}")
    planes, size = weight[0].numel() // (kh * kw), (int(x.shape[2]), int(x.shape[3]))
    shape = ConvolutionShape(
        x.shape[0], planes, weight.shape[0], size, (kh, kw), (dh, dw), (ph, pw), weight.dtype
    )
    if min(shape.out_size) < 1:
        raise ValueError(
            f"Given input size: ({planes} x {size[0]} x {size[1]}). Calculated output size: "
            f"({shape.out_channels} x {shape.out_size[0]} x {shape.out_size[1]}). Output size is too small"
        )
    _check_planes(x, planes)
    return shape


def _check_planes(x: Tensor, planes: int) -> None:
    if x.shape[1] != planes:
        raise ValueError(
            f"Need input of dimension {x.dim()} and input.size[1] == {planes}"
            f" but got input to be of shape: {_sizes(x)}"
        )


def _check_gradient(grad_output: Tensor, shape: ConvolutionShape) -> None:
    batch, height, width, planes = shape.output_shape
    if tuple(_batch(grad_output).shape) != (batch, planes, height, width):
        raise ValueError(
            f"Need gradOutput of size [{batch} x {planes} x {height} x {width}] but got gradOutput to be of "
            f"shape: {_sizes(grad_output)}"
        )


def _matrix(weight: Tensor) -> Tensor:
    """Weights as output planes x everything else, contiguous."""
    return weight.reshape(weight.shape[0], -1).contiguous()


@contextmanager
def _contiguous(tensor: Tensor) -> Iterator[Tensor]:
    """``tensor`` to be written, by way of a contiguous copy if it is not."""
    if tensor.is_contiguous():
        yield tensor
    else:
        copy = tensor.contiguous()
        yield copy
        tensor.copy_(copy)


def spatial_convolution(
    workspace: Workspace,
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
    batch = _batch(x).contiguous()
    shape = _geometry(batch, weight, kw, kh, dw, dh, pw, ph)
    count, height, width, planes = shape.output_shape
    out.resize_((count, planes, height, width)[4 - x.dim() :])
    with _contiguous(out) as target:
        if x.is_cuda:
            gpu_convolution.forward(shape, batch, _matrix(weight), bias, _batch(target))
        else:
            im2col.forward(workspace, shape, batch, _matrix(weight), bias, _batch(target))


def spatial_convolution_grad_input(
    workspace: Workspace,
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
    shape = _geometry(_batch(x), weight, kw, kh, dw, dh, pw, ph)
    _check_gradient(grad_output, shape)
    grad.resize_(x.shape)
    gradient = _batch(grad_output).contiguous()
    with _contiguous(grad) as target:
        if x.is_cuda:
            gpu_convolution.input_gradient(shape, _batch(x), gradient, _matrix(weight), _batch(target))
        else:
            im2col.input_gradient(workspace, shape, gradient, _matrix(weight), _batch(target))


def spatial_convolution_grad_weight(
    workspace: Workspace,
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
    batch = _batch(x).contiguous()
    shape = _geometry(batch, grad_weight, kw, kh, dw, dh, pw, ph)
    _check_gradient(grad_output, shape)
    scaled = _batch(grad_output if scale == 1 else grad_output * scale).contiguous()
    with _contiguous(grad_weight) as target:
        matrix = target.view(shape.out_channels, -1)
        if x.is_cuda:
            gpu_convolution.weight_gradient(shape, batch, scaled, matrix)
        else:
            im2col.weight_gradient(workspace, shape, batch, scaled, matrix)
    if grad_bias is not None:
        grad_bias.add_(scaled.sum((0, 2, 3)))


def _pooled(size: int, kernel: int, step: int, padding: int, ceil: bool) -> int:
    """How many windows there are along a dimension; with ``ceil`` the last one may reach over the end."""
    room = size + 2 * padding - kernel
    count = (room + step - 1 if ceil else room) // step + 1
    return count - 1 if ceil and (count - 1) * step >= size + padding else count


def _planes_last(x: Tensor) -> Tensor:
    """(image, row, column, plane) memory seen as images."""
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
) -> None:
    """Maxima, and where they were: from 1, within each plane of the input."""
    images = _batch(x)
    batch, planes, height, width = images.shape
    rows, columns = _pooled(height, kh, dh, ph, ceil), _pooled(width, kw, dw, pw, ceil)
    for result in (out, indices):
        result.resize_((batch, planes, rows, columns)[4 - x.dim() :])
    window = [kh, kw], [dh, dw], [ph, pw], [1, 1], ceil
    values, places = _batch(out), _batch(indices)
    if images.numel() < _FEW_PIXELS or planes < _FEW_PLANES or images.is_cuda:
        _aten.max_pool2d_with_indices.out(images, *window, out=values, indices=places)
    else:
        # PyTorch finds maxima of many planes at once where the planes lie last: ten times as fast, with the
        # copies three times.
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
) -> None:
    grad.resize_(x.shape)
    _aten.max_pool2d_with_indices_backward.grad_input(
        grad_output, x, [kh, kw], [dh, dw], [ph, pw], [1, 1], ceil, indices - 1, grad_input=grad
    )


def spatial_average_pooling(
    out: Out, x: Tensor, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int, ceil: bool, include_pad: bool
) -> None:
    """``include_pad``: padding counts as elements that are zero."""
    write(out, _aten.avg_pool2d(_batch(x), [kh, kw], [dh, dw], [ph, pw], ceil, include_pad), x)


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
    write(grad, result, x)

"""Convolution of images, forward and gradients, for nn's modules.

An image is planes x height x width, a batch has one more dimension in front, and so have its results.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from convnet_benchmarks.nets.engine import ConvolutionShape
from lua_compat.kernels.nn.convolution import im2col, operators
from lua_compat.kernels.nn.sizes import argument_error, check_gradient, check_output, check_size, sizes_text
from lua_compat.kernels.results import Out
from lua_compat.kernels.workspace import Workspace

__all__ = ["spatial_convolution", "spatial_convolution_grad_input", "spatial_convolution_grad_weight"]
SANDBOXED = __all__


def _batch(x: Tensor) -> Tensor:
    if x.dim() not in (3, 4):
        raise argument_error(2, f"3D or 4D input tensor expected but got: {sizes_text(x)}")
    return x if x.dim() == 4 else x.unsqueeze(0)


def _geometry(
    x: Tensor, weight: Tensor, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int
) -> ConvolutionShape:
    """Returns the shape for a batch; raises ValueError where it does not fit the weight or the kernel."""
    if weight.dim() not in (2, 4):
        raise argument_error(5, f"2D or 4D weight tensor expected, but got: {sizes_text(weight)}")
    planes, size = weight[0].numel() // (kh * kw), (int(x.shape[2]), int(x.shape[3]))
    shape = ConvolutionShape(
        x.shape[0], planes, weight.shape[0], size, (kh, kw), (dh, dw), (ph, pw), weight.dtype
    )
    check_output((planes, *size), (shape.out_channels, *shape.out_size), " x ")
    return shape


def _check_planes(x: Tensor, shape: ConvolutionShape) -> None:
    check_size(x, "input", x.dim(), x.dim() - 3, shape.in_channels)


def _check_gradient(grad_output: Tensor, x: Tensor, shape: ConvolutionShape) -> None:
    batch, height, width, planes = shape.output_shape
    check_gradient(grad_output, (batch, planes, height, width)[4 - x.dim() :])


def _matrix(weight: Tensor) -> Tensor:
    """Returns the weight as a contiguous matrix, one row per output plane."""
    return weight.reshape(weight.shape[0], -1).contiguous()


@contextmanager
def _contiguous(tensor: Tensor) -> Iterator[Tensor]:
    """Yields a contiguous tensor to write to: ``tensor``, or a copy that is then copied back."""
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
    """Convolves with a kernel kw x kh, step dw x dh, zero padding pw, ph on each side."""
    batch = _batch(x).contiguous()
    shape = _geometry(batch, weight, kw, kh, dw, dh, pw, ph)
    _check_planes(x, shape)
    count, height, width, planes = shape.output_shape
    out.resize_((count, planes, height, width)[4 - x.dim() :])
    with _contiguous(out) as target:
        if x.is_cuda:
            operators.forward(shape, batch, _matrix(weight), bias, _batch(target))
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
    _check_planes(x, shape)
    _check_gradient(grad_output, x, shape)
    grad.resize_(x.shape)
    gradient = _batch(grad_output).contiguous()
    with _contiguous(grad) as target:
        if x.is_cuda:
            operators.input_gradient(shape, _batch(x), gradient, _matrix(weight), _batch(target))
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
    _check_planes(x, shape)
    _check_gradient(grad_output, x, shape)
    scaled = _batch(grad_output if scale == 1 else grad_output * scale).contiguous()
    with _contiguous(grad_weight) as target:
        matrix = target.view(shape.out_channels, -1)
        if x.is_cuda:
            operators.weight_gradient(shape, batch, scaled, matrix)
        else:
            im2col.weight_gradient(workspace, shape, batch, scaled, matrix)
    if grad_bias is not None:
        grad_bias.add_(scaled.sum((0, 2, 3)))

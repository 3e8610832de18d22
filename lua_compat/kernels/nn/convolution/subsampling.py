"""Sums over windows, with a weight and a bias for each plane of an image or feature of a sequence."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import parametric_kernels
from lua_compat.kernels.nn.sizes import argument_error, check_gradient, sizes_text

__all__ = [
    "spatial_subsampling", "spatial_subsampling_grad_input", "spatial_subsampling_grad_parameters",
    "temporal_subsampling", "temporal_subsampling_grad_input", "temporal_subsampling_grad_parameters",
]  # fmt: skip
SANDBOXED = __all__

_aten = torch.ops.aten


def _by_plane(parameter: Tensor, x: Tensor) -> Tensor:
    """Returns one number per plane of the images: the first elements of parameters that, in files of old
    versions, have three dimensions."""
    return parameter.reshape(-1)[: x.shape[-3], None, None]


def _in_place_of(parameter: Tensor, gradient: Tensor) -> Tensor:
    """Returns the gradient of one number per plane in the parameter's shape."""
    whole_gradient = torch.zeros_like(parameter, memory_format=torch.contiguous_format)
    whole_gradient.view(-1)[: gradient.numel()] = gradient
    return whole_gradient


def _check_gradient(x: Tensor, grad: Tensor, kw: int, kh: int, dw: int, dh: int) -> None:
    """Raises ValueError unless a gradient has the sizes of the output: PyTorch does not check the batch
    size."""
    rows, columns = (int(x.shape[-2]) - kh) // dh + 1, (int(x.shape[-1]) - kw) // dw + 1
    check_gradient(grad, (*x.shape[:-2], rows, columns))


def _spatial_subsampling(
    x: Tensor, weight: Tensor, bias: Tensor, kw: int, kh: int, dw: int, dh: int
) -> Tensor:
    if x.dim() not in (3, 4):
        raise argument_error(2, f"3D or 4D input tensor expected but got: {sizes_text(x)}")
    if x.shape[-3] != weight.shape[0]:
        raise argument_error(2, "invalid number of input planes")
    if x.shape[-2] < kh or x.shape[-1] < kw:
        raise argument_error(2, "input image smaller than kernel size")
    sums = F.avg_pool2d(x, (kh, kw), (dh, dw), divisor_override=1)
    return sums * _by_plane(weight, x) + _by_plane(bias, x)


def _spatial_subsampling_grad_input(
    x: Tensor, grad: Tensor, weight: Tensor, bias: Tensor, kw: int, kh: int, dw: int, dh: int
) -> Tensor:
    _check_gradient(x, grad, kw, kh, dw, dh)
    scaled = grad * _by_plane(weight, x)
    kernel, steps = (kh, kw), (dh, dw)
    result: Tensor = _aten.avg_pool2d_backward(scaled, x, kernel, steps, [0, 0], False, True, 1)
    return result


def _spatial_subsampling_grad_parameters(
    x: Tensor, grad: Tensor, weight: Tensor, bias: Tensor, kw: int, kh: int, dw: int, dh: int
) -> tuple[Tensor, Tensor]:
    _check_gradient(x, grad, kw, kh, dw, dh)
    sums = F.avg_pool2d(x, (kh, kw), (dh, dw), divisor_override=1)
    but_planes = [d for d in range(x.dim()) if d != x.dim() - 3]
    of_weight, of_bias = (grad * sums).sum(but_planes), grad.sum(but_planes)
    return _in_place_of(weight, of_weight), _in_place_of(bias, of_bias)


def _temporal_subsampling(x: Tensor, weight: Tensor, bias: Tensor, kw: int, dw: int) -> Tensor:
    if x.dim() != 2:
        raise argument_error(2, f"2D or 3D (batch mode) tensor expected for input, but got: {sizes_text(x)}")
    if x.shape[1] != weight.numel():
        raise argument_error(2, f"invalid input frame size.  Got: {x.shape[1]}, Expected: {weight.numel()}")
    if x.shape[0] < kw:
        raise argument_error(2, f"input sequence smaller than kernel size.  Got {x.shape[0]}, Expected: {kw}")
    return x.unfold(-2, kw, dw).sum(-1) * weight + bias


spatial_subsampling, spatial_subsampling_grad_input, spatial_subsampling_grad_parameters = parametric_kernels(
    _spatial_subsampling, _spatial_subsampling_grad_input, _spatial_subsampling_grad_parameters
)
temporal_subsampling, temporal_subsampling_grad_input, temporal_subsampling_grad_parameters = (
    parametric_kernels(_temporal_subsampling)
)

"""Convolution of sequences: (batch x) frames x features."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import parametric_kernels
from lua_compat.kernels.nn.sizes import argument_error, check_output, check_size, sizes_text

__all__ = [
    "temporal_convolution", "temporal_convolution_grad_input", "temporal_convolution_grad_parameters",
    "temporal_row_convolution", "temporal_row_convolution_grad_input",
    "temporal_row_convolution_grad_parameters",
]  # fmt: skip
SANDBOXED = __all__

_aten = torch.ops.aten


def _temporal_convolution(x: Tensor, weight: Tensor, bias: Tensor | None, kw: int, dw: int) -> Tensor:
    """weight: output x (frame by frame, input)."""
    if x.dim() not in (2, 3):
        raise argument_error(2, f"2D or 3D (batch mode) tensor expected for input, but got: {sizes_text(x)}")
    features = weight.shape[1] // kw
    if x.shape[-1] != features:
        raise argument_error(2, f"invalid input frame size. Got: {x.shape[-1]}, Expected: {features}")
    if x.shape[-2] < kw:
        raise argument_error(
            2, f"input sequence smaller than kernel size. Got: {x.shape[-2]}, Expected: {kw}"
        )
    windows = x.unfold(-2, kw, dw).transpose(-1, -2).flatten(-2)
    return F.linear(windows, weight, bias)


def _temporal_convolution_grad_input(
    x: Tensor, grad: Tensor, weight: Tensor, bias: Tensor | None, kw: int, dw: int
) -> Tensor:
    windows = (grad @ weight).unflatten(-1, (kw, -1)).transpose(-1, -2)
    result: Tensor = _aten.unfold_backward(windows, x.shape, x.dim() - 2, kw, dw)
    return result


def _temporal_convolution_grad_parameters(
    x: Tensor, grad: Tensor, weight: Tensor, bias: Tensor | None, kw: int, dw: int
) -> tuple[Tensor, Tensor]:
    windows = x.unfold(-2, kw, dw).transpose(-1, -2).flatten(-2)
    rows = grad.reshape(-1, grad.shape[-1])
    return rows.t() @ windows.reshape(len(rows), -1), rows.sum(0)


def _temporal_convolution_sizes(x: Tensor, weight: Tensor, kw: int, dw: int) -> tuple[int, ...]:
    return (*x.shape[:-2], (x.shape[-2] - kw) // dw + 1, weight.shape[0])


def _temporal_row_convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, dw: int, features_first: bool
) -> Tensor:
    """Convolves each feature separately."""
    if x.dim() not in (2, 3):
        raise argument_error(1, f"2D or 3D (batch mode) input tensor expected, but got :{sizes_text(x)}")
    rows = x if features_first else x.transpose(-1, -2)
    features, frames = len(weight), int(rows.shape[-1])
    check_output((features, frames), (features, (frames - weight.shape[-1]) // dw + 1), " x ")
    check_size(rows, "input", x.dim(), x.dim() - 2, features)
    result = F.conv1d(rows, weight, bias, dw, groups=rows.shape[-2])
    return result if features_first else result.transpose(-1, -2)


temporal_convolution, temporal_convolution_grad_input, temporal_convolution_grad_parameters = (
    parametric_kernels(
        _temporal_convolution,
        _temporal_convolution_grad_input,
        _temporal_convolution_grad_parameters,
        _temporal_convolution_sizes,
    )
)
temporal_row_convolution, temporal_row_convolution_grad_input, temporal_row_convolution_grad_parameters = (
    parametric_kernels(_temporal_row_convolution)
)

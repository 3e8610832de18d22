"""Depthwise convolution: each plane of an image separately."""

import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import parametric_kernels
from lua_compat.kernels.nn.sizes import argument_error, check_output, check_size, sizes_text

__all__ = [
    "depthwise_convolution", "depthwise_convolution_grad_input", "depthwise_convolution_grad_parameters",
]  # fmt: skip
SANDBOXED = __all__


def _depthwise_convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int
) -> Tensor:
    """Convolves each plane separately; weight: output x (input * kh * kw), planes out: input-major."""
    if x.dim() not in (3, 4):
        raise argument_error(2, f"3D or 4D input tensor expected but got: {sizes_text(x)}")
    outputs, planes = weight.shape[0], weight.numel() // (weight.shape[0] * kh * kw)
    (height, width), slacks = x.shape[-2:], (x.shape[-2] + 2 * ph - kh, x.shape[-1] + 2 * pw - kw)
    sizes = [slack // step + 1 for slack, step in zip(slacks, (dh, dw), strict=True)]
    check_output((planes, height, width), (outputs * planes, *sizes), " x ")
    check_size(x, "input", x.dim(), x.dim() - 3, planes)
    filters = weight.reshape(weight.shape[0], planes, 1, kh, kw).transpose(0, 1).flatten(0, 1)
    biases = None if bias is None else bias.t().reshape(-1)
    return F.conv2d(x, filters, biases, (dh, dw), (ph, pw), groups=planes)


depthwise_convolution, depthwise_convolution_grad_input, depthwise_convolution_grad_parameters = (
    parametric_kernels(_depthwise_convolution)
)

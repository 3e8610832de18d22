"""Convolution of each plane of an image by itself."""

import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import parametric_kernels, whole

__all__ = [
    "depthwise_convolution", "depthwise_convolution_grad_input", "depthwise_convolution_grad_parameters",
]  # fmt: skip
SANDBOXED = __all__


def _depthwise_convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, kw: int, kh: int, dw: int, dh: int, pw: int, ph: int
) -> Tensor:
    """Each plane by itself; weight: output x (input * kh * kw), planes out: input-major."""
    planes = x.shape[-3]
    filters = weight.reshape(weight.shape[0], planes, 1, int(kh), int(kw)).transpose(0, 1).flatten(0, 1)
    biases = None if bias is None else bias.t().reshape(-1)
    return F.conv2d(x, filters, biases, whole(dh, dw), whole(ph, pw), groups=planes)


depthwise_convolution, depthwise_convolution_grad_input, depthwise_convolution_grad_parameters = (
    parametric_kernels(_depthwise_convolution)
)

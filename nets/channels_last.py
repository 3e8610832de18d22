"""Convolutions of channels-last images on which PyTorch crashes or computes wrong results.

In PyTorch 2.4 to 2.14 (not 2.15), oneDNN's convolution of such images (brgemm) calls a missing function,
which crashes the process. It happens if the padding is so wide that a tap of the filter skips the whole
image: it is to the left of the image for one output, to the right of it for the next. It was seen with a bias
and a dilation, and only horizontally. And PyTorch 2.13 computes wrong results if a stride leaves a single
column of outputs: in bfloat16 the output and the gradient of the weight; in float32 with a single channel,
where images are in both layouts. Contiguous tensors take other code.
"""

from typing import Any

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.pair import pair


def is_unsafe(kernel: int, stride: int, padding: int, dilation: int, outputs: int) -> bool:
    """Returns whether a convolution with these horizontal sizes and this many columns of outputs should not
    run channels last."""
    return may_step_over(kernel, stride, padding, dilation) or is_one_column(stride, outputs)


def is_one_column(stride: int, outputs: int) -> bool:
    """Returns whether the stride skips all windows of a row but the first."""
    return stride > 1 and outputs == 1


def contiguous(tensor: Tensor) -> Tensor:
    """Returns a copy that PyTorch does not treat as channels last: images of one channel may be both."""
    return tensor.clone(memory_format=torch.contiguous_format)


def may_step_over(kernel: int, stride: int, padding: int, dilation: int) -> bool:
    """Returns whether a tap can skip an image of some width, from a convolution's horizontal sizes.

    The stride is then larger than the image, and two windows fit into it with its padding: the padding is
    more than half of the window.
    """
    return stride > 1 and 2 * padding > dilation * (kernel - 1) + 1


def unsafe_convolution(module: nn.Module) -> str:
    """Returns the name in ``module`` of a convolution that cannot run channels last ("itself" if it is the
    module); empty if there is none."""
    return next((name or "itself" for name, part in module.named_modules() if _is_unsafe(part)), "")


def _is_unsafe(module: Any) -> bool:
    if not isinstance(module, nn.Conv2d | nn.ConvTranspose2d) or isinstance(module.padding, str):
        return False
    sizes = (module.kernel_size, module.stride, module.padding, module.dilation)
    return may_step_over(*(pair(size)[1] for size in sizes))

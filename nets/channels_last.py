"""Convolutions that PyTorch cannot run, or gets wrong, on images that lie channels last.

oneDNN's convolution of such images (brgemm), in PyTorch 2.4 to 2.14 (not in 2.15), calls a function that was
never made, and so ends the process, where the padding is so wide that a filter's tap steps over the whole
image: to the left of it for one output, to the right of it for the next. That was seen with a bias, with a
dilation, and across only. And where a stride leaves a single column of outputs, PyTorch 2.13 computes wrong
numbers: in bfloat16 forward and of weights; in float32 of a single channel, whose images lie both ways.
Tensors that are contiguous take another way.
"""

from typing import Any

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.pair import pair


def is_unsafe(kernel: int, stride: int, padding: int, dilation: int, outputs: int) -> bool:
    """Returns whether a convolution with these sizes across, and so many columns of outputs, should not run
    channels last."""
    return may_step_over(kernel, stride, padding, dilation) or is_one_column(stride, outputs)


def is_one_column(stride: int, outputs: int) -> bool:
    """Returns whether all but the first of the windows across are left out by the stride."""
    return stride > 1 and outputs == 1


def contiguous(tensor: Tensor) -> Tensor:
    """Returns a copy that PyTorch does not take for channels last: images of one channel may be both."""
    return tensor.clone(memory_format=torch.contiguous_format)


def may_step_over(kernel: int, stride: int, padding: int, dilation: int) -> bool:
    """Returns whether a tap can step over an image of some width, by a convolution's sizes across.

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

"""Elementwise copies, sums and masks of values between layers, by compiled code if available, else by
PyTorch's operators."""

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import images
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.values import Value, to_images


def copy(value: Value, source: Tensor, target: Tensor) -> None:
    """Fills ``target``, of the shape and layout of ``value``, with ``source``."""
    try:
        images.copy_images(_as_images(value, source), _as_images(value, target))
    except NotCompiled:
        target.copy_(source)


def add(value: Value, source: Tensor, target: Tensor) -> None:
    """Adds ``source`` to ``target``."""
    try:
        images.add_images(_as_images(value, source), _as_images(value, target))
    except NotCompiled:
        target.add_(source)


def mask(value: Value, output: Tensor, gradient: Tensor) -> None:
    """Applies the gradient of a ReLU with result ``output`` to ``gradient``, in place."""
    try:
        images.mask_images(_as_images(value, output), _as_images(value, gradient))
    except NotCompiled:
        torch.ops.aten.threshold_backward.grad_input(gradient, output, 0, grad_input=gradient)


def add_channel_sums(values: Tensor, total: Tensor) -> None:
    """Adds the sums of ``values`` (..., channel) over all positions to ``total`` (channel,)."""
    rows = values.flatten(0, -2)
    try:
        if total.is_contiguous():
            images.add_channel_sums(rows, total)
            return
    except NotCompiled:
        pass
    total.add_(rows.sum(0))


def _as_images(value: Value, tensor: Tensor) -> Tensor:
    """Shows ``tensor``, in the shape of ``value``, as images (N, H, W, C)."""
    return to_images(tensor) if value.is_image else tensor.view(1, 1, 1, -1)

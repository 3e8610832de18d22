"""Convolutions of images and volumes, plain and transposed, forward and gradients, over PyTorch's operators.

An image is planes x height x width, a volume planes x time x height x width; a batch has one more dimension
in front, and so have its results. Numbers come in the order of nn's modules: (time,) width, height.
"""

from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.results import Out, write

__all__ = ["convolution", "convolution_grad_input", "convolution_grad_parameters"]
SANDBOXED = __all__


def _by_dimension(numbers: tuple[float, ...]) -> list[int]:
    """(time,) width, height -> (time,) height, width"""
    *first, width, height = (int(n) for n in numbers)
    return [*first, height, width]


def _geometry(axes: int, kind: str, numbers: tuple[float, ...]) -> tuple[Any, ...]:
    """Steps, paddings, dilations, transposed, output paddings, groups: what PyTorch's operator wants."""
    steps, pads = _by_dimension(numbers[:axes]), _by_dimension(numbers[axes : 2 * axes])
    last = _by_dimension(numbers[2 * axes :]) if len(numbers) > 2 * axes else None
    if kind == "transposed":
        return steps, pads, [1] * axes, True, last or [0] * axes, 1
    return steps, pads, last or [1] * axes, False, [0] * axes, 1


def _batched(x: Tensor, weight: Tensor) -> Tensor:
    if x.dim() not in (weight.dim() - 1, weight.dim()):
        dims = weight.dim()
        raise ValueError(f"{dims - 1}D or {dims}D (batch mode) tensor expected, but got {x.dim()}D")
    return x if x.dim() == weight.dim() else x.unsqueeze(0)


def convolution(out: Out, x: Tensor, weight: Tensor, bias: Tensor | None, kind: str, *numbers: float) -> None:
    """``kind``: "plain" (weight: output x input x kernel) or "transposed" (input x output x kernel).
    ``numbers``: steps, paddings, and for "plain" perhaps dilations, for "transposed" rows to add at the end.
    """
    geometry = _geometry(weight.dim() - 2, kind, numbers)
    write(out, torch.convolution(_batched(x, weight), weight, bias, *geometry), x)


def _gradients(
    x: Tensor, grad_output: Tensor, weight: Tensor, kind: str, numbers: tuple[float, ...], mask: list[bool]
) -> tuple[Tensor, ...]:
    steps, pads, dilations, transposed, extra, groups = _geometry(weight.dim() - 2, kind, numbers)
    outputs = weight.shape[1 if transposed else 0]
    result: tuple[Tensor, ...] = torch.ops.aten.convolution_backward(
        _batched(grad_output, weight), _batched(x, weight), weight, [outputs], steps, pads, dilations,
        transposed, extra, groups, mask,
    )  # fmt: skip
    return result


def convolution_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, weight: Tensor, bias: Tensor | None, kind: str, *numbers: float
) -> None:
    write(grad, _gradients(x, grad_output, weight, kind, numbers, [True, False, False])[0], x)


def convolution_grad_parameters(
    grad_weight: Tensor,
    grad_bias: Tensor | None,
    x: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    scale: float,
    kind: str,
    *numbers: float,
) -> None:
    """Adds scale times the gradients to grad_weight and grad_bias."""
    mask = [False, True, grad_bias is not None]
    _, of_weight, of_bias = _gradients(x, grad_output, weight, kind, numbers, mask)
    grad_weight.add_(of_weight, alpha=scale)
    if grad_bias is not None:
        grad_bias.add_(of_bias, alpha=scale)

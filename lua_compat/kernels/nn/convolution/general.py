"""Convolutions of images and volumes, plain and transposed, forward and gradients, over PyTorch's operators.

An image is planes x height x width, a volume planes x time x height x width; a batch has one more dimension
in front, and so have its results. Numbers are in the order of nn's modules: (time,) width, height.
"""

from math import prod
from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.nn.sizes import argument_error, check_gradient, check_output, check_size, sizes_text
from lua_compat.kernels.results import Out, write

__all__ = ["convolution", "convolution_grad_input", "convolution_grad_parameters"]
SANDBOXED = __all__


def _by_dimension(numbers: tuple[int, ...]) -> list[int]:
    """(time,) width, height -> (time,) height, width."""
    *first, width, height = numbers
    return [*first, height, width]


def _geometry(axes: int, kind: str, numbers: tuple[int, ...]) -> tuple[Any, ...]:
    """Steps, paddings, dilations, transposed, output paddings, groups: the arguments of PyTorch's
    operator."""
    steps, pads = _by_dimension(numbers[:axes]), _by_dimension(numbers[axes : 2 * axes])
    last = _by_dimension(numbers[2 * axes : 3 * axes]) if len(numbers) > 2 * axes else None
    if kind == "transposed":
        dilations = _by_dimension(numbers[3 * axes :]) if len(numbers) > 3 * axes else [1] * axes
        return steps, pads, dilations, True, last or [0] * axes, 1
    return steps, pads, last or [1] * axes, False, [0] * axes, 1


def _batched(x: Tensor, weight: Tensor) -> Tensor:
    return x if x.dim() == weight.dim() else x.unsqueeze(0)


def _is_product(weight: Tensor, kind: str, numbers: tuple[int, ...]) -> bool:
    """Recognizes Torch7's VolumetricConvolution, in which the matrix product finds a wrong number of
    planes."""
    return kind == "plain" and weight.dim() == 5 and len(numbers) == 6


def _check_input(x: Tensor, weight: Tensor, geometry: tuple[Any, ...], is_product: bool) -> list[int]:
    """Returns the sizes of the output; raises ValueError where the input does not fit the weight."""
    dims = weight.dim()
    if x.dim() not in (dims - 1, dims):
        expected = (
            "3D or 4D input tensor expected"
            if dims == 4
            else "4D or 5D (batch mode) tensor expected for input,"
        )
        raise argument_error(2, f"{expected} but got: {sizes_text(x)}")
    steps, pads, dilations, transposed, extra, _ = geometry
    inputs, outputs = weight.shape[:2] if transposed else weight.shape[:2][::-1]
    sizes = []
    for axis, kernel in enumerate(weight.shape[2:]):
        size, span = int(x.shape[axis + 2 - dims]), dilations[axis] * (kernel - 1) + 1
        if transposed:
            sizes.append((size - 1) * steps[axis] - 2 * pads[axis] + span + extra[axis])
        else:
            sizes.append((size + 2 * pads[axis] - span) // steps[axis] + 1)
    check_output((inputs, *x.shape[2 - dims :]), (outputs, *sizes), " x " if dims == 4 else "x")
    planes, taps = x.shape[x.dim() - dims + 1], prod(weight.shape[2:])
    if is_product and planes != inputs:
        factors = f"m1: [{outputs} x {inputs * taps}], m2: [{planes * taps} x {prod(sizes)}]"
        raise ValueError(f"size mismatch, {factors}")
    check_size(x, "input", x.dim(), x.dim() - dims + 1, inputs)
    return [*x.shape[: x.dim() - dims + 1], outputs, *sizes]


def convolution(out: Out, x: Tensor, weight: Tensor, bias: Tensor | None, kind: str, *numbers: int) -> None:
    """Convolves; ``kind``: "plain" (weight: output x input x kernel) or "transposed" (input x output x
    kernel). ``numbers``: steps, paddings, and for "plain" perhaps dilations, for "transposed" perhaps rows to
    add at the end, and dilations."""
    geometry = _geometry(weight.dim() - 2, kind, numbers)
    _check_input(x, weight, geometry, _is_product(weight, kind, numbers))
    write(out, torch.convolution(_batched(x, weight), weight, bias, *geometry), x)


def _gradients(
    x: Tensor, grad_output: Tensor, weight: Tensor, kind: str, numbers: tuple[int, ...], mask: list[bool]
) -> tuple[Tensor, ...]:
    geometry = _geometry(weight.dim() - 2, kind, numbers)
    sizes = _check_input(x, weight, geometry, _is_product(weight, kind, numbers))
    check_gradient(grad_output, sizes)
    steps, pads, dilations, transposed, extra, groups = geometry
    outputs = weight.shape[1 if transposed else 0]
    result: tuple[Tensor, ...] = torch.ops.aten.convolution_backward(
        _batched(grad_output, weight), _batched(x, weight), weight, [outputs], steps, pads, dilations,
        transposed, extra, groups, mask,
    )  # fmt: skip
    return result


def convolution_grad_input(
    grad: Out, x: Tensor, grad_output: Tensor, weight: Tensor, bias: Tensor | None, kind: str, *numbers: int
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
    *numbers: int,
) -> None:
    """Adds scale times the gradients to grad_weight and grad_bias."""
    mask = [False, True, grad_bias is not None]
    _, of_weight, of_bias = _gradients(x, grad_output, weight, kind, numbers, mask)
    grad_weight.add_(of_weight, alpha=scale)
    if grad_bias is not None:
        grad_bias.add_(of_bias, alpha=scale)

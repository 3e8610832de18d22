"""Checks of sizes, in the words of Torch7's layers."""

import math
from collections.abc import Sequence

from torch import Tensor


def argument_error(position: int, message: str) -> ValueError:
    """Returns the error of an argument of Torch7's C functions, which its Lua calls by the name ``v``."""
    return ValueError(f"bad argument #{position} to 'v' ({message})")


def sizes_text(x: Tensor) -> str:
    """Returns the sizes of a tensor as Torch7 writes them: [2 x 3]."""
    return "[" + " x ".join(map(str, x.shape if x.numel() else ())) + "]"


def check_size(x: Tensor, name: str, dims: int, axis: int, size: int) -> None:
    """Raises ValueError unless a tensor of ``dims`` dimensions has ``size`` elements along one of them.

    ``axis`` counts from 0.
    """
    if x.dim() != dims or x.shape[axis] != size:
        raise ValueError(
            f"Need {name} of dimension {dims} and {name}.size[{axis}] == {size}"
            f" but got {name} to be of shape: {sizes_text(x)}"
        )


def check_output(inputs: Sequence[int], outputs: Sequence[int], separator: str = "x") -> None:
    """Raises ValueError unless all sizes of the output are positive; the sizes are planes, then height and
    width."""
    fits = min(outputs) >= 1
    if fits and math.prod(outputs) <= 2**53:
        return
    given, calculated = (separator.join(map(str, sizes)) for sizes in (inputs, outputs))
    size = "large" if fits else "small"
    raise ValueError(
        f"Given input size: ({given}). Calculated output size: ({calculated}). Output size is too {size}"
    )


def check_same_shape(x: Tensor, grad_output: Tensor) -> None:
    """Raises ValueError unless a gradOutput has the sizes of the input."""
    if x.shape != grad_output.shape:
        raise ValueError(
            "input and gradOutput shapes do not match: "
            f"input {sizes_text(x)}, gradOutput {sizes_text(grad_output)}"
        )


def as_output(grad_output: Tensor, shape: Sequence[int]) -> Tensor:
    """Returns a gradOutput with the output's sizes, ``shape``; ValueError unless it has as many elements.

    PyTorch would repeat a gradOutput with fewer.
    """
    if grad_output.numel() != math.prod(shape):
        expected = " x ".join(map(str, shape))
        raise ValueError(f"gradOutput has the sizes {sizes_text(grad_output)}; [{expected}] expected")
    return grad_output.reshape(tuple(shape))


def check_gradient(grad_output: Tensor, shape: Sequence[int]) -> None:
    """Raises ValueError unless a gradOutput has the sizes of the output, ``shape``."""
    for axis, size in enumerate(shape):
        check_size(grad_output, "gradOutput", len(shape), axis, size)

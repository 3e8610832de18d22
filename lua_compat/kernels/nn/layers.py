"""Makes the kernels of a layer from plain functions; autograd gives the gradients that are not given."""

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from lua_compat.kernels.nn.sizes import as_output, sizes_text
from lua_compat.kernels.results import Out, write

Kernel = Callable[..., None]


def gradients(
    f: Callable[..., Tensor], inputs: Sequence[Tensor | None], wanted: Sequence[int], grad_output: Tensor
) -> tuple[Tensor, ...]:
    """Returns the gradients of f(inputs...) with respect to the inputs at the positions ``wanted``."""
    # Lua runs in inference mode, whose tensors autograd refuses; it accepts their clones.
    with torch.inference_mode(False), torch.enable_grad():
        leaves = [None if t is None else t.clone() for t in inputs]
        targets = []
        for place in wanted:
            leaf = leaves[place]
            assert leaf is not None
            targets.append(leaf.requires_grad_())
        y = f(*leaves)
        return torch.autograd.grad(weighted_sums([y], [grad_output]), targets)


def weighted_sums(outputs: Sequence[Tensor], weights: Sequence[Tensor]) -> list[Tensor]:
    """Returns a scalar for each output. The sum of their gradients is that of the outputs, weighted by
    ``weights``.

    PyTorch loads sympy, a third of a second, when gradients of outputs that are not scalars are given.
    """
    # clones, because autograd cannot save tensors of inference mode
    return [(y * w.clone().reshape(y.shape)).sum() for y, w in zip(outputs, weights, strict=True)]


def batched(f: Callable[..., Tensor], x: Tensor, dims: int) -> Tensor:
    """Returns f of a batch, also for a single example of ``dims`` dimensions."""
    return f(x.unsqueeze(0)).squeeze(0) if x.dim() == dims else f(x)


def rounded(numbers: tuple[Any, ...], x: Tensor) -> tuple[Any, ...]:
    """Returns a layer's numbers rounded to x's type, in which Torch7 compares and computes."""
    if x.dtype == torch.float64 or not x.dtype.is_floating_point:
        return numbers
    return tuple(_rounded(n, x.dtype) if isinstance(n, float) else n for n in numbers)


@lru_cache(256)
def _rounded(number: float, dtype: torch.dtype) -> float:
    return torch.tensor(number, dtype=dtype).item()


def _taking_numbers_of(f: Callable[..., Tensor], tensors: int, kernel: Kernel) -> Kernel:
    """Replaces ``*numbers`` in a kernel's signature by the parameters that f has after its tensors."""
    *own, _ = inspect.signature(kernel).parameters.values()
    numbers = list(inspect.signature(f).parameters.values())[tensors:]
    kernel.__dict__["__signature__"] = inspect.Signature([*own, *numbers])
    return kernel


def layer_kernels(
    f: Callable[..., Tensor],
    gradient: Callable[..., Tensor] | None = None,
    shape: Callable[..., Sequence[int]] | None = None,
) -> tuple[Kernel, Kernel]:
    """Returns the kernels for the output and the gradient of ``f(x, numbers...)``.

    ``gradient(x, grad_output, numbers...)`` is given where it is faster than autograd, and with it
    ``shape(x, numbers...)``, the sizes of the output, unless it checks those of grad_output itself.
    """

    def output(out: Out, x: Tensor, *numbers: Any) -> None:
        write(out, f(x, *numbers))

    def output_gradient(grad: Out, x: Tensor, grad_output: Tensor, *numbers: Any) -> None:
        if gradient is not None:
            if shape is not None:
                grad_output = as_output(grad_output, shape(x, *numbers))
            write(grad, gradient(x, grad_output, *numbers))
            return
        (result,) = gradients(lambda t: f(t, *numbers), [x], [0], grad_output)
        write(grad, result)

    return _taking_numbers_of(f, 1, output), _taking_numbers_of(f, 1, output_gradient)


def pair_kernels(
    f: Callable[..., Tensor],
    gradient: Callable[..., tuple[Tensor, Tensor]] | None = None,
    elementwise: bool = False,
) -> tuple[Kernel, Kernel]:
    """Does as ``layer_kernels`` for two inputs, ``f(a, b, numbers...)``; one kernel computes both
    gradients. ``elementwise``: b must have as many elements as a, and is read with a's sizes."""

    def beside(a: Tensor, b: Tensor) -> Tensor:
        if not elementwise or a.shape == b.shape:
            return b
        if a.numel() != b.numel():
            raise ValueError(f"inputs of the sizes {sizes_text(a)} and {sizes_text(b)}: the same expected")
        return b.reshape(a.shape)

    def output(out: Out, a: Tensor, b: Tensor, *numbers: Any) -> None:
        write(out, f(a, beside(a, b), *numbers))

    def output_gradients(
        grad_a: Out, grad_b: Out, a: Tensor, b: Tensor, grad_output: Tensor, *numbers: Any
    ) -> None:
        b_sizes, b = b.shape, beside(a, b)
        if gradient is not None:
            of_a, of_b = gradient(a, b, grad_output, *numbers)
        else:
            of_a, of_b = gradients(lambda s, t: f(s, t, *numbers), [a, b], [0, 1], grad_output)
        write(grad_a, of_a)
        write(grad_b, of_b.reshape(b_sizes))

    return _taking_numbers_of(f, 2, output), _taking_numbers_of(f, 2, output_gradients)


def parametric_kernels(
    f: Callable[..., Tensor],
    grad_input: Callable[..., Tensor] | None = None,
    grad_parameters: Callable[..., tuple[Tensor, Tensor | None]] | None = None,
    shape: Callable[..., Sequence[int]] | None = None,
) -> tuple[Kernel, Kernel, Kernel]:
    """Returns the kernels of ``f(x, weight, bias or None, numbers...)``: output and gradients.

    ``grad_input`` and ``grad_parameters`` take (x, grad_output, weight, bias, numbers...) and are given where
    they are faster than autograd, and with them ``shape(x, weight, numbers...)``, the sizes of the output,
    unless they check those of grad_output themselves.
    """

    def output(out: Out, x: Tensor, weight: Tensor, bias: Tensor | None, *numbers: Any) -> None:
        write(out, f(x, weight, bias, *numbers))

    def input_gradient(
        grad: Out, x: Tensor, grad_output: Tensor, weight: Tensor, bias: Tensor | None, *numbers: Any
    ) -> None:
        if grad_input is not None:
            if shape is not None:
                grad_output = as_output(grad_output, shape(x, weight, *numbers))
            write(grad, grad_input(x, grad_output, weight, bias, *numbers))
            return
        (result,) = gradients(lambda t, w, b: f(t, w, b, *numbers), [x, weight, bias], [0], grad_output)
        write(grad, result)

    def parameter_gradients(
        grad_weight: Tensor,
        grad_bias: Tensor | None,
        x: Tensor,
        grad_output: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        scale: float,
        *numbers: Any,
    ) -> None:
        """Adds scale times the gradients to grad_weight and grad_bias."""
        of_bias: Tensor | None
        if grad_parameters is not None:
            if shape is not None:
                grad_output = as_output(grad_output, shape(x, weight, *numbers))
            of_weight, of_bias = grad_parameters(x, grad_output, weight, bias, *numbers)
        else:
            wanted = [1] if grad_bias is None else [1, 2]
            of_weight, *rest = gradients(
                lambda t, w, b: f(t, w, b, *numbers), [x, weight, bias], wanted, grad_output
            )
            of_bias = rest[0] if rest else None
        grad_weight.add_(of_weight, alpha=scale)
        if grad_bias is not None and of_bias is not None:
            grad_bias.add_(of_bias, alpha=scale)

    return (
        _taking_numbers_of(f, 3, output),
        _taking_numbers_of(f, 3, input_gradient),
        _taking_numbers_of(f, 3, parameter_gradients),
    )

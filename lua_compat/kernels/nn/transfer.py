"""Transfer functions and softmax, forward and gradient, for nn's modules."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import layer_kernels, parametric_kernels, rounded
from lua_compat.kernels.nn.sizes import argument_error, check_same_shape
from lua_compat.kernels.pointwise import square_root
from lua_compat.kernels.results import Out

__all__ = [
    "class_softmax", "class_softmax_gradient", "gated_linear_unit", "gated_linear_unit_gradient", "prelu",
    "prelu_grad_input", "prelu_grad_parameters", "transfer", "transfer_gradient",
]  # fmt: skip
SANDBOXED = __all__

_aten = torch.ops.aten


def _sqrt_gradient(out: Tensor, y: Tensor, g: Tensor) -> None:
    zero = y == 0
    torch.div(g, y, out=out).mul_(0.5).masked_fill_(zero, 0)


# name -> (function of the input, gradient of (input or output, gradient of the output)), then the parameters;
# the result is written to the first argument. The modules declare whether the gradient takes the input or the
# output (``of_output`` in nn/transfer/init.lua).
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "abs": (
        lambda out, x: torch.abs(x, out=out),
        lambda out, x, g: torch.where(x >= 0, g, -g, out=out),
    ),
    "exp": (lambda out, x: torch.exp(x, out=out), lambda out, y, g: torch.mul(g, y, out=out)),
    "log": (lambda out, x: torch.log(x, out=out), lambda out, x, g: torch.div(g, x, out=out)),
    "sigmoid": (
        lambda out, x: torch.sigmoid(x, out=out),
        lambda out, y, g: _aten.sigmoid_backward.grad_input(g, y, grad_input=out),
    ),
    "square": (lambda out, x: torch.mul(x, x, out=out), lambda out, x, g: torch.mul(g, x, out=out).mul_(2)),
    "sqrt": (lambda out, x, *eps: square_root(out, x), _sqrt_gradient),  # Torch7 ignores eps, too
    "tanh": (
        lambda out, x: torch.tanh(x, out=out),
        lambda out, y, g: _aten.tanh_backward.grad_input(g, y, grad_input=out),
    ),
    "soft_sign": (
        lambda out, x: torch.div(x, x.abs().add_(1), out=out),
        lambda out, x, g: torch.div(g, x.abs().add_(1).square_(), out=out),
    ),
    "log_sigmoid": (
        lambda out, x: torch.neg(F.softplus(-x), out=out),
        lambda out, x, g: torch.mul(g, torch.sigmoid(-x), out=out),
    ),
    "soft_plus": (
        lambda out, x, beta, limit: _aten.softplus.out(x, beta, limit, out=out),
        lambda out, x, g, beta, limit: _aten.softplus_backward.grad_input(g, x, beta, limit, grad_input=out),
    ),
    "hard_shrink": (
        lambda out, x, limit: _aten.hardshrink.out(x, limit, out=out),
        lambda out, x, g, limit: _aten.hardshrink_backward.grad_input(g, x, limit, grad_input=out),
    ),
    "soft_shrink": (
        lambda out, x, limit: (
            _aten.softshrink.out(x, limit, out=out) if limit >= 0 else out.copy_(_shrunk(x, limit))
        ),
        lambda out, x, g, limit: _aten.softshrink_backward.grad_input(g, x, limit, grad_input=out),
    ),
    "elu": (
        lambda out, x, alpha: _aten.elu.out(x, alpha, out=out),
        lambda out, y, g, alpha: _aten.elu_backward.grad_input(g, alpha, 1, 1, True, y, grad_input=out),
    ),
    "leaky_relu": (
        lambda out, x, slope: _aten.leaky_relu.out(x, slope, out=out),
        lambda out, x, g, slope: _aten.leaky_relu_backward.grad_input(g, x, slope, False, grad_input=out),
    ),
    "hard_tanh": (
        lambda out, x, low, high: _aten.hardtanh.out(x, low, high, out=out),
        lambda out, x, g, low, high: _aten.hardtanh_backward.grad_input(g, x, low, high, grad_input=out),
    ),
    "relu6": (
        lambda out, x: _aten.hardtanh.out(x, 0, 6, out=out),
        lambda out, x, g: _aten.hardtanh_backward.grad_input(g, x, 0, 6, grad_input=out),
    ),
    "power": (
        lambda out, x, exponent: torch.pow(x, exponent, out=out),
        lambda out, x, g, exponent: torch.mul(g * exponent, torch.pow(x, exponent - 1), out=out),
    ),
    "threshold": (
        lambda out, x, *parameters: _aten.threshold.out(x, *parameters, out=out),
        lambda out, x, g, limit, *_: _aten.threshold_backward.grad_input(g, x, limit, grad_input=out),
    ),
}

for _name in ("threshold", "hard_tanh", "relu6", "leaky_relu"):
    _FUNCTIONS[f"{_name}_in_place"] = _FUNCTIONS[_name]


def _outside(x: Tensor, limit: float) -> Tensor:
    return (x > limit) | (x < -limit)


def _limited(x: Tensor, low: float, high: float) -> Tensor:
    return torch.where(x < low, low, torch.where(x <= high, x, high))


def _limited_gradient(x: Tensor, g: Tensor, low: float, high: float) -> Tensor:
    return torch.where((x <= low) | (x >= high), 0.0, g)


def _shrunk(x: Tensor, limit: float) -> Tensor:
    return torch.where(x > limit, x - limit, torch.where(x < -limit, x + limit, 0.0))


# The same functions for NaN and infinite elements, which follow Torch7's comparisons. Those of the table
# above do not, but are up to a hundred times as fast.
_UNUSUAL: dict[str, tuple[Callable[..., Tensor] | None, Callable[..., Tensor] | None]] = {
    "threshold": (
        lambda x, limit, value: torch.where(x > limit, x, value),
        lambda x, g, limit, *_: torch.where(x > limit, g, 0.0),
    ),
    "hard_tanh": (_limited, _limited_gradient),
    "hard_tanh_in_place": (None, _limited_gradient),
    "relu6": (lambda x: _limited(x, 0, 6), lambda x, g: _limited_gradient(x, g, 0, 6)),
    "relu6_in_place": (None, lambda x, g: _limited_gradient(x, g, 0, 6)),
    "hard_shrink": (
        lambda x, limit: torch.where(_outside(x, limit), x, 0.0),
        lambda x, g, limit: torch.where(_outside(x, limit), g, 0.0),
    ),
    "soft_shrink": (_shrunk, lambda x, g, limit: torch.where(_outside(x, limit), g, 0.0)),
    "leaky_relu_in_place": (None, lambda x, g, slope: torch.where(x <= 0, g * slope, g)),
    "log_sigmoid": (
        lambda x: torch.where(x == -math.inf, math.nan, F.logsigmoid(x)),
        lambda x, g: torch.where(x == -math.inf, math.nan, g * torch.sigmoid(-x)),
    ),
}


def _is_unusual(x: Tensor) -> bool:
    """Returns whether an element may be NaN or infinite; True on a GPU, where checking would mean waiting."""
    return x.is_cuda or not math.isfinite(x.sum().item())


def _function(name: str, which: int, x: Tensor) -> Callable[..., Any]:
    """Returns the function of a name (``which``: 0) or its gradient (1), for these elements."""
    f = _UNUSUAL.get(name, (None, None))[which]
    if f is None or not _is_unusual(x):
        return _FUNCTIONS[name][which]
    return lambda out, *arguments: out.copy_(f(*arguments))


def _compute(
    out: Tensor, f: Callable[..., Any], read: tuple[Tensor, ...], parameters: tuple[Any, ...]
) -> None:
    """Writes f of the tensors ``read`` to out: directly if each is out itself or does not overlap it, so that
    PyTorch may write while it reads."""
    place = out.untyped_storage().data_ptr()
    if all(
        t.shape == out.shape and (t.untyped_storage().data_ptr() != place or t.is_set_to(out)) for t in read
    ):
        f(out, *read, *parameters)
        return
    result = out.new_empty(torch.broadcast_shapes(*(t.shape for t in read)))
    f(result, *read, *parameters)
    out.copy_(result)


def transfer(out: Out, x: Tensor, name: str, *parameters: float) -> None:
    """Computes out = name(x, parameters...); out may be x."""
    out.resize_(x.shape)
    _compute(out, _function(name, 0, x), (x,), rounded(parameters, x))


def transfer_gradient(grad: Out, x: Tensor, grad_output: Tensor, name: str, *parameters: float) -> None:
    """Computes the gradient with respect to the input; ``x`` is the input or the output; grad may be
    grad_output."""
    grad.resize_(x.shape)
    _compute(grad, _function(name, 1, x), (x, grad_output), rounded(parameters, x))


def _class_dimension(x: Tensor) -> int:
    """1-D: the only one; 2-D: the second; 3-D (an image): the first; 4-D: the second."""
    return (0, 1, 0, 1)[x.dim() - 1]


def _exact(x: Tensor) -> Tensor:
    """Returns x in double precision, in which Torch7 adds up on a CPU."""
    return x if x.is_cuda else x.double()


def class_softmax(out: Out, x: Tensor, name: str) -> None:
    """Computes softmax, log_softmax, or softmin over the classes."""
    dimension = _class_dimension(x)
    out.resize_(x.shape)
    if name == "log_softmax":
        # A sum in single precision would shift all logarithms alike, and so sums of gradients.
        out.copy_(_aten._log_softmax(_exact(x), dimension, False))
    else:
        _aten._softmax.out(-x if name == "softmin" else x, dimension, False, out=out)


def class_softmax_gradient(grad: Out, y: Tensor, grad_output: Tensor, name: str) -> None:
    """Computes the gradient with respect to the input from the output y."""
    dimension = _class_dimension(y)
    check_same_shape(y, grad_output)
    grad.resize_(y.shape)
    if name == "log_softmax":
        exact = _exact(y)
        grad.copy_(
            _aten._log_softmax_backward_data(grad_output.to(exact.dtype), exact, dimension, exact.dtype)
        )
        return
    _aten._softmax_backward_data.out(grad_output, y, dimension, y.dtype, grad_input=grad)
    if name == "softmin":
        grad.neg_()


def _planes(x: Tensor) -> int:
    """Returns the dimension of the planes: the second, also of 3-D inputs, or the only one of a vector."""
    return min(1, x.dim() - 1)


def _check_planes(x: Tensor, weight: Tensor) -> None:
    planes = x.shape[_planes(x)]
    if weight.numel() not in (1, planes):
        raise ValueError(f"Wrong number of input planes. Expected {weight.numel()} but got {planes}.")


def _prelu(x: Tensor, weight: Tensor, bias: None) -> Tensor:
    _check_planes(x, weight)
    return F.prelu(x.unsqueeze(0), weight).squeeze(0) if x.dim() == 1 else F.prelu(x, weight)


def _prelu_grad_input(x: Tensor, grad: Tensor, weight: Tensor, bias: None) -> Tensor:
    _check_planes(x, weight)
    sizes = [1] * x.dim()
    sizes[_planes(x)] = weight.numel()
    return torch.where(x > 0, grad, grad * weight.view(sizes))


def _prelu_grad_parameters(x: Tensor, grad: Tensor, weight: Tensor, bias: None) -> tuple[Tensor, None]:
    _check_planes(x, weight)
    each = torch.where(x <= 0, grad * x, 0.0)  # none for NaN either
    if weight.numel() == 1:
        return each.sum().view(1), None
    return each.sum([d for d in range(x.dim()) if d != _planes(x)]) if x.dim() > 1 else each, None


prelu, prelu_grad_input, prelu_grad_parameters = parametric_kernels(
    _prelu, _prelu_grad_input, _prelu_grad_parameters
)


def _gated_linear_unit(x: Tensor, dimension: int) -> Tensor:
    axis = dimension - 1
    if x.shape[axis] % 2:
        raise argument_error(2, f"Halving dimension must be even. Dim {axis + 1} is size {x.shape[axis]}")
    return F.glu(x, axis)


gated_linear_unit, gated_linear_unit_gradient = layer_kernels(
    _gated_linear_unit,
    lambda x, grad, dimension: _aten.glu_backward(grad, x, dimension - 1),
    lambda x, dimension: [n // 2 if axis == dimension - 1 else n for axis, n in enumerate(x.shape)],
)

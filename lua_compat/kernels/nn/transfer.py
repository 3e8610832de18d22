"""Transfer functions and soft maxima, forward and gradient, for nn's modules."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import layer_kernels, parametric_kernels
from lua_compat.kernels.nn.sizes import argument_error, check_same_shape
from lua_compat.kernels.results import Out

__all__ = [
    "class_softmax", "class_softmax_gradient", "gated_linear_unit", "gated_linear_unit_gradient", "prelu",
    "prelu_grad_input", "prelu_grad_parameters", "transfer", "transfer_gradient",
]  # fmt: skip
SANDBOXED = __all__

_aten = torch.ops.aten


def _soft_sign(x: Tensor) -> Tensor:
    return x / (1 + x.abs())


# name -> (function of the input, gradient of (input or output, gradient of the output)), then the parameters.
# The modules say which of input and output the gradient wants (``of_output`` in nn/transfer.lua). Those of
# _INTO also take where the result is written: ``out`` and ``grad_input``.
_FUNCTIONS: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "abs": (torch.abs, lambda x, g: g * torch.where(x >= 0, 1, -1)),
    "exp": (torch.exp, lambda y, g: g * y),
    "log": (torch.log, lambda x, g: g / x),
    "sigmoid": (torch.sigmoid, lambda y, g, **into: _aten.sigmoid_backward(g, y, **into)),
    "square": (torch.square, lambda x, g: 2 * g * x),
    "sqrt": (torch.sqrt, lambda y, g: torch.where(y == 0, torch.zeros_like(y), 0.5 * g / y)),
    "tanh": (torch.tanh, lambda y, g, **into: _aten.tanh_backward(g, y, **into)),
    "tanh_shrink": (lambda x: x - torch.tanh(x), lambda x, g: g * torch.tanh(x).square()),
    "soft_sign": (_soft_sign, lambda x, g: g / (1 + x.abs()).square()),
    "log_sigmoid": (lambda x: -F.softplus(-x), lambda x, g: g * torch.sigmoid(-x)),
    "soft_plus": (
        lambda x, beta: F.softplus(x, beta, 20),
        lambda x, g, beta: _aten.softplus_backward(g, x, beta, 20),
    ),
    "hard_shrink": (F.hardshrink, lambda x, g, limit: _aten.hardshrink_backward(g, x, limit)),
    "soft_shrink": (F.softshrink, lambda x, g, limit: _aten.softshrink_backward(g, x, limit)),
    "elu": (F.elu, lambda y, g, alpha: _aten.elu_backward(g, alpha, 1, 1, True, y)),
    "leaky_relu": (F.leaky_relu, lambda x, g, slope: _aten.leaky_relu_backward(g, x, slope, False)),
    "hard_tanh": (F.hardtanh, lambda x, g, low, high: _aten.hardtanh_backward(g, x, low, high)),
    "relu6": (lambda x: F.hardtanh(x, 0, 6), lambda x, g: _aten.hardtanh_backward(g, x, 0, 6)),
    "power": (torch.pow, lambda x, g, exponent: g * exponent * torch.pow(x, exponent - 1)),
}
_INTO = ("sigmoid", "tanh")


def _may_be_written(out: Tensor, *read: Tensor) -> bool:
    """Returns whether PyTorch may write ``out`` while it reads: that is the same or lies elsewhere."""
    place = out.untyped_storage().data_ptr()
    return all(t.untyped_storage().data_ptr() != place or t.is_set_to(out) for t in read)


def transfer(out: Out, x: Tensor, name: str, *parameters: Any) -> None:
    """Computes out = name(x, parameters...); out may be x."""
    out.resize_(x.shape)
    if name == "threshold":
        _aten.threshold.out(x, *parameters, out=out)
    elif name in _INTO and _may_be_written(out, x):
        _FUNCTIONS[name][0](x, out=out)
    else:
        out.copy_(_FUNCTIONS[name][0](x, *parameters))


def transfer_gradient(grad: Out, x: Tensor, grad_output: Tensor, name: str, *parameters: Any) -> None:
    """Computes the gradient with respect to the input; ``x`` is the input or the output; grad may be
    grad_output."""
    grad.resize_(x.shape)
    if name == "threshold":
        _aten.threshold_backward.grad_input(grad_output, x, parameters[0], grad_input=grad)
    elif name in _INTO and _may_be_written(grad, x, grad_output):
        _FUNCTIONS[name][1](x, grad_output, grad_input=grad)
    else:
        grad.copy_(_FUNCTIONS[name][1](x, grad_output, *parameters))


def _class_dimension(x: Tensor) -> int:
    """1-D: the only one; 2-D: the second; 3-D (an image): the first; 4-D: the second."""
    return (0, 1, 0, 1)[x.dim() - 1]


def _exact(x: Tensor) -> Tensor:
    """In double precision, in which Torch7 adds up on a CPU."""
    return x if x.is_cuda else x.double()


def class_softmax(out: Out, x: Tensor, name: str) -> None:
    """Computes softmax, log_softmax, or softmin over the classes."""
    dimension = _class_dimension(x)
    out.resize_(x.shape)
    if name == "log_softmax":
        # A sum in single precision would put all logarithms, and so sums of gradients, off alike.
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
    """Returns the dimension of the planes: the second, also of three, or that of a vector."""
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
    each = grad * x.clamp(max=0)
    if weight.numel() == 1:
        return each.sum().view(1), None
    return each.sum([d for d in range(x.dim()) if d != _planes(x)]) if x.dim() > 1 else each, None


prelu, prelu_grad_input, prelu_grad_parameters = parametric_kernels(
    _prelu, _prelu_grad_input, _prelu_grad_parameters
)


def _gated_linear_unit(x: Tensor, dimension: float) -> Tensor:
    axis = int(dimension) - 1
    if x.shape[axis] % 2:
        raise argument_error(2, f"Halving dimension must be even. Dim {axis + 1} is size {x.shape[axis]}")
    return F.glu(x, axis)


gated_linear_unit, gated_linear_unit_gradient = layer_kernels(
    _gated_linear_unit,
    lambda x, grad, dimension: _aten.glu_backward(grad, x, int(dimension) - 1),
)

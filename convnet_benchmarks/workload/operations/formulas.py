"""How many floating-point operations each of PyTorch's operators does, by formula.

A multiplication and an addition are one operation each, and so are a comparison and a function value (exp,
sqrt, sigmoid). N is the number of elements of the output unless said otherwise.

    operator                    matrix product                other
    convolution                 2 N Cin/groups kH kW          N with a bias
    transposed convolution      the same with the input's N   N of the output with a bias
    convolution, backward       as forward, for the input's   N of the gradient for the bias
                                and for the weight's gradient
    mm, bmm, Linear (addmm)     2 m k n                       m n with a bias
    attention (q k v)           2 (q k) + 2 (p v)             5 for each score (softmax)
    max pooling, k x k                                        (k k - 1) N
    average pooling, k x k                                    k k N: the sum and one multiplication
    adaptive average pooling                                  the sizes of all windows
    batch normalisation                                       2 N: statistics folded into scale and shift
      in training                                             6 N: mean 1, variance 3, scale and shift 2
      backward                                                8 N: two sums 4, input gradient 4
    group, layer normalisation                                6 N, 8 N: mean 1, variance 3, then 2 or 2 + 2
    softmax, log-softmax                                      5 N: maximum, difference, exp, sum, quotient
    sum, mean, maximum                                        the input's N
    vector norm                                               2 of the input's N
    bilinear sampling of a grid                               7 N: four products, three sums
    ReLU, Threshold, + - x /, and other element-wise ones     N
    views, copies, concatenation, look-ups                    none
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


@dataclass(frozen=True)
class Operations:
    """``matrix``: those of matrix products and convolutions. ``other``: all others."""

    matrix: int = 0
    other: int = 0

    def __add__(self, more: "Operations") -> "Operations":
        return Operations(self.matrix + more.matrix, self.other + more.other)

    def __sub__(self, less: "Operations") -> "Operations":
        return Operations(self.matrix - less.matrix, self.other - less.other)

    @property
    def total(self) -> int:
        return self.matrix + self.other


def operations(
    operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
) -> Operations | None:
    """Returns the operations of a call of ``operator`` (an OpOverload); None if there is no formula
    for it.
    """
    packet = operator.overloadpacket
    if packet in _FORMULAS:
        return _FORMULAS[packet](args, kwargs, output)
    name = packet.__name__
    if operator.is_view or name in _WITHOUT_ARITHMETIC:
        return Operations()
    if name.removesuffix("_") in _ELEMENT_WISE:
        floating = any(isinstance(arg, Tensor) and arg.is_floating_point() for arg in args)
        return Operations(other=_size(output) * floating)
    return None


def _size(value: Any) -> int:
    """Returns the number of elements of a tensor, or of the first of several."""
    return value.numel() if isinstance(value, Tensor) else _size(value[0])


def _convolution_products(input: Tensor, weight: Tensor, output: Tensor, transposed: bool) -> int:
    """Returns 2 for each weight that an element of the output (transposed: of the input) meets."""
    return 2 * (input if transposed else output).numel() * weight[0].numel()


def _convolution(args: Any, kwargs: Any, output: Tensor) -> Operations:
    input, weight, bias, _, _, _, transposed = args[:7]
    products = _convolution_products(input, weight, output, transposed)
    return Operations(products, 0 if bias is None else output.numel())


def _convolution_backward(args: Any, kwargs: Any, output: Any) -> Operations:
    gradient, input, weight, _, _, _, _, transposed, _, _, wanted = args
    products = _convolution_products(input, weight, gradient, transposed)
    return Operations(products * (wanted[0] + wanted[1]), gradient.numel() * wanted[2])


def _product(first: int, bias: bool) -> Callable[[Any, Any, Tensor], Operations]:
    """Returns the formula of a matrix product whose factors are the arguments from ``first`` on."""

    def formula(args: Any, kwargs: Any, output: Tensor) -> Operations:
        return Operations(2 * output.numel() * args[first].shape[-1], output.numel() * bias)

    return formula


def _attention(args: Any, kwargs: Any, output: Any) -> Operations:
    query, key, value = args[:3]
    scores = math.prod(query.shape[:-1]) * key.shape[-2]
    return Operations(2 * scores * (query.shape[-1] + value.shape[-1]), 5 * scores)


def _times(factor: int, argument: int | None = None) -> Callable[[Any, Any, Any], Operations]:
    """Returns the formula that counts ``factor`` for each element of the output, or of an argument."""

    def formula(args: Any, kwargs: Any, output: Any) -> Operations:
        return Operations(other=factor * _size(output if argument is None else args[argument]))

    return formula


def _window(args: Any, dimensions: int) -> int:
    """Returns elements in a window of the pooling call whose kernel size is its second argument."""
    kernel = args[1]
    return math.prod(kernel) if len(kernel) == dimensions else kernel[0] ** dimensions


def _max_pool(dimensions: int) -> Callable[[Any, Any, Any], Operations]:
    def formula(args: Any, kwargs: Any, output: Any) -> Operations:
        return Operations(other=(_window(args, dimensions) - 1) * _size(output))

    return formula


def _average_pool(dimensions: int) -> Callable[[Any, Any, Any], Operations]:
    def formula(args: Any, kwargs: Any, output: Any) -> Operations:
        return Operations(other=_window(args, dimensions) * _size(output))

    return formula


def _average_pool_backward(args: Any, kwargs: Any, output: Any) -> Operations:
    gradient, _, kernel = args[:3]
    window = math.prod(kernel) if len(kernel) == 2 else kernel[0] ** 2
    return Operations(other=window * gradient.numel())


def _adaptive_average_pool(args: Any, kwargs: Any, output: Tensor) -> Operations:
    """Counts windows: number i of n over a length l goes from floor(i l / n) to ceil((i + 1) l / n)."""
    input, sizes = args[0], args[1]
    windows = math.prod(input.shape[: -len(sizes)])
    for length, n in zip(input.shape[-len(sizes) :], sizes, strict=True):
        windows *= sum(-(-(i + 1) * length // n) - i * length // n for i in range(n))
    return Operations(other=windows)


def _batch_norm(training: int) -> Callable[[Any, Any, Any], Operations]:
    """Returns the formula of an operator whose argument ``training`` says whether it computes statistics."""

    def formula(args: Any, kwargs: Any, output: Any) -> Operations:
        return Operations(other=(6 if args[training] else 2) * args[0].numel())

    return formula


_FORMULAS: dict[Any, Callable[[Any, Any, Any], Operations]] = {
    aten.convolution: _convolution,
    aten._convolution: _convolution,
    aten.convolution_backward: _convolution_backward,
    aten.mm: _product(0, bias=False),
    aten.mv: _product(0, bias=False),
    aten.bmm: _product(0, bias=False),
    aten.addmm: _product(1, bias=True),
    aten.addmm_: _product(1, bias=True),
    aten.baddbmm: _product(1, bias=True),
    aten._scaled_dot_product_flash_attention: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    aten._scaled_dot_product_efficient_attention: _attention,
    aten._scaled_dot_product_cudnn_attention: _attention,
    aten.max_pool2d_with_indices: _max_pool(2),
    aten.max_pool3d_with_indices: _max_pool(3),
    aten.max_pool2d_with_indices_backward: _times(1, argument=0),
    aten.avg_pool2d: _average_pool(2),
    aten.avg_pool3d: _average_pool(3),
    aten.avg_pool2d_backward: _average_pool_backward,
    aten._adaptive_avg_pool2d: _adaptive_average_pool,
    aten._adaptive_avg_pool2d_backward: _times(1),
    aten.native_batch_norm: _batch_norm(5),
    aten._native_batch_norm_legit: _batch_norm(5),
    aten._native_batch_norm_legit_no_training: _times(2),
    aten.cudnn_batch_norm: _batch_norm(5),
    aten.native_batch_norm_backward: _times(8, argument=0),
    aten.cudnn_batch_norm_backward: _times(8, argument=0),
    aten.native_group_norm: _times(6),
    aten.native_layer_norm: _times(8),
    aten._softmax: _times(5),
    aten._log_softmax: _times(5),
    aten._softmax_backward_data: _times(4),
    aten._log_softmax_backward_data: _times(4),
    aten.native_dropout: _times(2),
    aten.mean: _times(1, argument=0),
    aten.sum: _times(1, argument=0),
    aten.amax: _times(1, argument=0),
    aten.amin: _times(1, argument=0),
    aten.linalg_vector_norm: _times(2, argument=0),
    aten.grid_sampler_2d: _times(7),
    aten.max: _times(1, argument=0),
}
_ELEMENT_WISE_NAMES = """
    add sub rsub mul div neg abs pow square sqrt rsqrt exp log reciprocal maximum minimum
    clamp clamp_min clamp_max relu threshold hardtanh leaky_relu elu prelu _prelu_kernel
    sigmoid tanh gelu silu hardswish hardsigmoid softplus
    threshold_backward hardtanh_backward leaky_relu_backward sigmoid_backward tanh_backward
    gelu_backward silu_backward
    eq ne lt le gt ge where addcmul lerp bernoulli isneginf
"""
_NAMES_WITHOUT_ARITHMETIC = """
    empty empty_like empty_strided new_empty zeros zeros_like new_zeros ones ones_like full
    full_like fill fill_ zero_ arange scalar_tensor lift_fresh
    copy copy_ clone contiguous to _to_copy cat stack repeat flip roll constant_pad_nd
    reflection_pad2d replication_pad2d upsample_nearest2d
    view reshape _reshape_copy _unsafe_view as_strided_ resize_ set_ detach alias unbind split
    unsafe_split slice_backward select_backward _has_compatible_shallow_copy_type
    embedding index index_put index_select gather scatter masked_fill masked_fill_
    bitwise_not logical_not logical_and argmax topk sort nonzero
"""
_ELEMENT_WISE = frozenset(_ELEMENT_WISE_NAMES.split())
_WITHOUT_ARITHMETIC = frozenset(_NAMES_WITHOUT_ARITHMETIC.split())

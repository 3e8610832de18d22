"""Vectors compared with stored ones or with each other. Inputs: vectors or batches of them."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.nn.layers import pair_kernels
from lua_compat.kernels.nn.sizes import as_output
from lua_compat.kernels.results import Out, Scalar, write

__all__ = [
    "bilinear", "bilinear_grad_inputs", "bilinear_grad_parameters", "cosine", "cosine_distance",
    "cosine_distance_gradients", "cosine_grad_input", "cosine_grad_weight", "dot_product",
    "dot_product_gradients", "euclidean", "euclidean_grad_input", "euclidean_grad_parameters", "nearest",
    "pairwise_distance", "pairwise_distance_gradients",
]  # fmt: skip
SANDBOXED = __all__

# Added to norms, as in Torch7, so that none is zero
_COSINE_EPSILON = 1e-12


def bilinear(out: Out, a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Computes out[n, k] = a[n]' weight[k] b[n] + bias[k]."""
    write(out, F.bilinear(a, b, weight, bias))


def bilinear_grad_inputs(
    grad_a: Out, grad_b: Out, a: Tensor, b: Tensor, grad_output: Tensor, weight: Tensor
) -> None:
    write(grad_a, torch.einsum("nk,kij,nj->ni", grad_output, weight, b))
    write(grad_b, torch.einsum("nk,kij,ni->nj", grad_output, weight, a))


def bilinear_grad_parameters(
    grad_weight: Tensor, grad_bias: Tensor | None, a: Tensor, b: Tensor, grad_output: Tensor, scale: Scalar
) -> None:
    """Adds the gradients to grad_weight and, times scale, to grad_bias."""
    grad_weight.add_(torch.einsum("nk,ni,nj->kij", grad_output, a, b))
    if grad_bias is not None:
        grad_bias.add_(grad_output.sum(0), alpha=scale)


def _lengths(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=-1, keepdim=True) + _COSINE_EPSILON


def _cosines(x: Tensor, weight: Tensor) -> Tensor:
    return F.linear(x, weight / _lengths(weight)) / _lengths(x)


def cosine(out: Out, x: Tensor, weight: Tensor) -> None:
    """Computes the cosines of the angles between x and the rows of weight."""
    write(out, _cosines(x, weight))


def cosine_grad_input(grad: Out, x: Tensor, grad_output: Tensor, weight: Tensor) -> None:
    grad_output = as_output(grad_output, (*x.shape[:-1], weight.shape[0]))
    length = _lengths(x)
    along = (grad_output * _cosines(x, weight)).sum(-1, keepdim=True)
    write(grad, (grad_output @ (weight / _lengths(weight)) - along * x / length) / length)


def cosine_grad_weight(
    grad_weight: Tensor, x: Tensor, grad_output: Tensor, weight: Tensor, scale: Scalar
) -> None:
    """Adds the gradient. As in Torch7, scale applies only to a vector x, and there to the first term."""
    factor = scale if x.dim() == 1 else 1.0
    x = torch.atleast_2d(x)
    grad_output = as_output(grad_output, (x.shape[0], weight.shape[0]))
    length = _lengths(weight)
    along = (grad_output * _cosines(x, weight)).sum(0).unsqueeze(1)
    grad_weight.add_((factor * (grad_output.t() @ (x / _lengths(x))) - along * weight / length) / length)


def _differences(x: Tensor, weight: Tensor) -> Tensor:
    """Returns the differences, batch x input x output."""
    return torch.atleast_2d(x).unsqueeze(-1) - weight


def _scaled(differences: Tensor, scales: Tensor | None) -> Tensor:
    return differences if scales is None else differences * scales


def euclidean(out: Out, x: Tensor, weight: Tensor, scales: Tensor | None) -> None:
    """Computes the distances of x to the columns of weight, each difference multiplied by its scale."""
    distances = torch.linalg.vector_norm(_scaled(_differences(x, weight), scales), dim=1)
    write(out, distances.reshape(*x.shape[:-1], weight.shape[1]))


def euclidean_grad_input(grad: Out, x: Tensor, slopes: Tensor, weight: Tensor, scales: Tensor | None) -> None:
    """Computes the gradient of x from the slopes: the gradients of the distances, divided by these."""
    of_differences = _scaled(_scaled(_differences(x, weight), scales), scales)
    write(grad, (of_differences * torch.atleast_2d(slopes).unsqueeze(1)).sum(-1).reshape(x.shape))


def euclidean_grad_parameters(
    grad_weight: Tensor,
    grad_scales: Tensor | None,
    x: Tensor,
    slopes: Tensor,
    weight: Tensor,
    scales: Tensor | None,
    scale: Scalar,
) -> None:
    """Adds scale times the gradients to grad_weight and grad_scales; as in Torch7, those of grad_scales are
    not multiplied where x is a vector."""
    differences = _differences(x, weight)
    of_scaled = _scaled(differences, scales) * torch.atleast_2d(slopes).unsqueeze(1)
    of_scales = (of_scaled * differences).sum(0)
    grad_weight.sub_(_scaled(of_scaled, scales).sum(0), alpha=scale)
    if grad_scales is not None:
        grad_scales.add_(of_scales, alpha=1.0 if x.dim() == 1 else scale)


def nearest(scores: Out, index: Out, x: Tensor, centres: Tensor) -> None:
    """Finds for each row of x the nearest centre (a row), from 1, and the squared distance to it."""
    squares = (x.unsqueeze(1) - centres).square().sum(-1)
    best, places = squares.min(1)
    write(scores, best)
    write(index, places + 1)


# Two inputs compared row by row: one number for each row of a batch


def _cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """Returns the cosine of the angle between the rows of a and b."""
    squares = (a.square().sum(-1) + 1e-12) * (b.square().sum(-1) + 1e-12)
    return ((a * b).sum(-1) / squares.sqrt()).reshape(-1)


def _norms(rows: Tensor, p: float) -> Tensor:
    """Computes (sum |x|^p)^(1/p), also where p is 0 or not finite (vector_norm is defined differently
    there)."""
    if p and math.isfinite(p):
        return torch.linalg.vector_norm(rows, p, dim=-1)
    return rows.abs().pow(p).sum(-1).pow(1 / p if p else math.inf)


def _pairwise_distance(a: Tensor, b: Tensor, p: Scalar) -> Tensor:
    return _norms(a - b, p).reshape(-1)


def _pairwise_distance_gradients(
    a: Tensor, b: Tensor, grad_output: Tensor, p: float
) -> tuple[Tensor, Tensor]:
    """As in Torch7 a distance counts as 1e-6 more, so that equal rows do no harm, and below 2 the slope of a
    power is taken for that of a square."""
    difference = a - b
    if p == 1:
        slope = torch.where(difference >= 0, 1.0, -1.0).to(a.dtype)
    else:
        length = _norms(difference, p).unsqueeze(-1) + 1e-6
        powers = difference * difference.abs().pow(p - 2) if p > 2 else difference
        slope = powers * length.pow(1 - p)
    result = slope * grad_output.reshape(*a.shape[:-1], 1)
    return result, 0 - result


dot_product, dot_product_gradients = pair_kernels(lambda a, b: (a * b).sum(-1).reshape(-1), elementwise=True)
cosine_distance, cosine_distance_gradients = pair_kernels(_cosine_distance, elementwise=True)
pairwise_distance, pairwise_distance_gradients = pair_kernels(
    _pairwise_distance, _pairwise_distance_gradients, elementwise=True
)

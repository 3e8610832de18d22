"""Tensors with known contents, and tensors assembled from others."""

import torch
from torch import Tensor

__all__ = [
    "arithmetic_sequence", "cross", "diag", "even_sequence", "powers_of_ten", "repeat_tensor", "tril", "triu",
]  # fmt: skip
SANDBOXED = __all__


def arithmetic_sequence(out: Tensor, first: float, step: float) -> None:
    """Fills out[i] = first + i * step."""
    out.copy_((torch.arange(out.numel(), dtype=torch.float64) * step + first).reshape(out.shape))


def _even_sequence(out: Tensor, first: float, last: float) -> Tensor:
    """Returns first + i * (last - first) / (n - 1), rounded at each step to the precision of ``out``."""
    begin, end = torch.tensor([first, last], dtype=out.dtype)
    steps = max(out.numel() - 1, 1)
    return (torch.arange(out.numel(), dtype=out.dtype) * (end - begin) / steps + begin).reshape(out.shape)


def even_sequence(out: Tensor, first: float, last: float) -> None:
    """Fills out with evenly spaced numbers from first to last."""
    out.copy_(_even_sequence(out, first, last))


def powers_of_ten(out: Tensor, first: float, last: float) -> None:
    """Fills out with the powers of ten whose exponents are evenly spaced from first to last."""
    out.copy_(torch.pow(10.0, _even_sequence(out, first, last)))


def tril(out: Tensor, t: Tensor, k: int) -> None:
    out.copy_(torch.tril(t, int(k)))


def triu(out: Tensor, t: Tensor, k: int) -> None:
    out.copy_(torch.triu(t, int(k)))


def diag(out: Tensor, t: Tensor, k: int) -> None:
    """Computes the k-th diagonal of a matrix, or a matrix with the vector there."""
    out.copy_(torch.diag(t, int(k)))


def cross(out: Tensor, a: Tensor, b: Tensor, dimension: int) -> None:
    """Computes the cross product from individually rounded products: that of a vector with itself is zero."""
    a, b = a.movedim(dimension - 1, 0), b.movedim(dimension - 1, 0)
    ahead, behind = [1, 2, 0], [2, 0, 1]
    found = (a[ahead] * b[behind]).sub_(a[behind] * b[ahead])
    out.copy_(found.movedim(0, dimension - 1))


def repeat_tensor(out: Tensor, t: Tensor, *times: int) -> None:
    out.copy_(t.repeat(*times))

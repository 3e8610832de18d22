"""Tensors with known contents, and tensors put together from others."""

import torch
from torch import Tensor

__all__ = [
    "arithmetic_sequence", "cross", "diag", "geometric_sequence", "repeat_tensor", "tril", "triu",
]  # fmt: skip
SANDBOXED = __all__


def arithmetic_sequence(out: Tensor, first: float, step: float) -> None:
    """Fills out[i] = first + i * step."""
    out.copy_((torch.arange(out.numel(), dtype=torch.float64) * step + first).reshape(out.shape))


def geometric_sequence(out: Tensor, first: float, step: float) -> None:
    """Fills out[i] = 10 ** (first + i * step)."""
    exponents = torch.arange(out.numel(), dtype=torch.float64) * step + first
    out.copy_(torch.pow(10.0, exponents).reshape(out.shape))


def tril(out: Tensor, t: Tensor, k: int) -> None:
    out.copy_(torch.tril(t, int(k)))


def triu(out: Tensor, t: Tensor, k: int) -> None:
    out.copy_(torch.triu(t, int(k)))


def diag(out: Tensor, t: Tensor, k: int) -> None:
    """Computes the k-th diagonal of a matrix, or a matrix with the vector there."""
    out.copy_(torch.diag(t, int(k)))


def cross(out: Tensor, a: Tensor, b: Tensor, dimension: int) -> None:
    out.copy_(torch.linalg.cross(a, b, dim=dimension - 1))


def repeat_tensor(out: Tensor, t: Tensor, *times: int) -> None:
    out.copy_(t.repeat(*times))

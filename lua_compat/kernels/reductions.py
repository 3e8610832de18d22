"""Sums, extrema, orders: over all elements or along a dimension, which stays with size 1.

Torch7 adds up floats in double and whole numbers in 64 bits; so do these.
"""

import math

import torch
from torch import Tensor

__all__ = [
    "all_nonzero", "any_nonzero", "bhistc", "cumprod", "cumsum", "dist", "histc", "kthvalue", "max",
    "max_all", "mean", "mean_all", "min", "min_all", "mode", "norm", "norm_all", "prod",
    "prod_all", "renorm", "sort", "std", "std_all", "sum", "sum_all", "topk", "trace", "var", "var_all",
]  # fmt: skip
SANDBOXED = __all__


def _accumulator(t: Tensor) -> torch.dtype:
    return torch.float64 if t.dtype.is_floating_point else torch.int64


def sum_all(t: Tensor) -> float:
    return t.sum(dtype=_accumulator(t)).item()


def prod_all(t: Tensor) -> float:
    return t.prod(dtype=_accumulator(t)).item()


def mean_all(t: Tensor) -> float:
    return t.mean(dtype=torch.float64).item()


def var_all(t: Tensor, biased: bool) -> float:
    """Computes the variance; ``biased``: divides by n instead of n - 1."""
    if t.numel() == 1 and not biased:
        return float("nan")
    return t.double().var(correction=0 if biased else 1).item()


def std_all(t: Tensor, biased: bool) -> float:
    return var_all(t, biased) ** 0.5


def norm_all(t: Tensor, p: float) -> float:
    """Computes the p-norm; p 0 counts the elements that are not zero."""
    return torch.linalg.vector_norm(t.double(), p).item()


def max_all(t: Tensor) -> float:
    return t.max().item()


def min_all(t: Tensor) -> float:
    return t.min().item()


def all_nonzero(t: Tensor) -> bool:
    return bool(t.all())


def any_nonzero(t: Tensor) -> bool:
    return bool(t.any())


def trace(t: Tensor) -> float:
    return t.diagonal().sum(dtype=_accumulator(t)).item()


def dist(t: Tensor, s: Tensor, p: float) -> float:
    return torch.linalg.vector_norm(t.double() - s.double(), p).item()


def sum(out: Tensor, t: Tensor, dimension: int) -> None:
    out.copy_(t.sum(dimension - 1, keepdim=True, dtype=_accumulator(t)))


def prod(out: Tensor, t: Tensor, dimension: int) -> None:
    out.copy_(t.prod(dimension - 1, keepdim=True, dtype=_accumulator(t)))


def mean(out: Tensor, t: Tensor, dimension: int) -> None:
    out.copy_(t.mean(dimension - 1, keepdim=True, dtype=torch.float64))


def var(out: Tensor, t: Tensor, dimension: int, biased: bool) -> None:
    """Computes variances; ``biased``: divides by n instead of n - 1, which of one element gives NaN."""
    out.copy_(_variances(t, dimension - 1, biased))


def std(out: Tensor, t: Tensor, dimension: int, biased: bool) -> None:
    """Computes the roots of what ``var`` computes, exactly rounded, as PyTorch's of floats are not."""
    out.copy_(_variances(t, dimension - 1, biased).to(t.dtype).double().sqrt_())


def _variances(t: Tensor, dim: int, biased: bool) -> Tensor:
    """Returns variances in double precision.

    From the sum and the sum of squares, as Torch7 does; the squares, and n / (n - 1), have the precision of
    the element type.
    """
    n = t.shape[dim]
    mean = t.sum(dim, keepdim=True, dtype=torch.float64) / n
    squares = t.square().sum(dim, keepdim=True, dtype=torch.float64)
    if biased:
        result = squares / n - mean * mean
    else:
        fewer = n - 1 if n > 1 else math.nan
        result = squares / fewer - torch.tensor(n / fewer, dtype=t.dtype).item() * mean * mean
    return torch.where(result < 0, 0, result)


def norm(out: Tensor, t: Tensor, dimension: int, p: float) -> None:
    out.copy_(torch.linalg.vector_norm(t.double(), p, dim=dimension - 1, keepdim=True))


def renorm(out: Tensor, t: Tensor, p: float, dimension: int, maximum: float) -> None:
    """Slices along ``dimension`` whose p-norm is above ``maximum`` are scaled to it."""
    torch.renorm(t, p, dimension - 1, maximum, out=out)


def cumsum(out: Tensor, t: Tensor, dimension: int) -> None:
    out.copy_(torch.cumsum(t, dimension - 1, dtype=_accumulator(t)))


def cumprod(out: Tensor, t: Tensor, dimension: int) -> None:
    out.copy_(torch.cumprod(t, dimension - 1, dtype=_accumulator(t)))


def _write(values: Tensor, positions: Tensor, result: tuple[Tensor, Tensor]) -> None:
    values.copy_(result[0])
    torch.add(result[1], 1, out=positions)


def max(values: Tensor, positions: Tensor, t: Tensor, dimension: int) -> None:
    _write(values, positions, t.max(dimension - 1, keepdim=True))


def min(values: Tensor, positions: Tensor, t: Tensor, dimension: int) -> None:
    _write(values, positions, t.min(dimension - 1, keepdim=True))


def mode(values: Tensor, positions: Tensor, t: Tensor, dimension: int) -> None:
    """Finds the most frequent element, the smallest of several; its position is the last one."""
    values.copy_(t.mode(dimension - 1, keepdim=True)[0])
    from_the_end = torch.eq(t, values).flip(dimension - 1).byte().argmax(dimension - 1, keepdim=True)
    positions.copy_(t.shape[dimension - 1] - from_the_end)


def kthvalue(values: Tensor, positions: Tensor, t: Tensor, dimension: int, k: int) -> None:
    """Finds the k-th smallest element."""
    _write(values, positions, t.kthvalue(int(k), dimension - 1, keepdim=True))


def sort(values: Tensor, positions: Tensor, t: Tensor, dimension: int, descending: bool) -> None:
    """Sorts; equal elements keep their order."""
    _write(values, positions, torch.sort(t, dim=dimension - 1, descending=descending, stable=True))


def topk(
    values: Tensor, positions: Tensor, t: Tensor, dimension: int, k: int, largest: bool, sorted: bool
) -> None:
    """Finds the k smallest (or largest) elements, in no order unless ``sorted``."""
    _write(values, positions, torch.topk(t, int(k), dimension - 1, largest, bool(sorted)))


def _count_bins(counts: Tensor, t: Tensor, low: float, high: float) -> None:
    """The elements from low to high by bins of equal width; NaN is nowhere."""
    inside = t[(t >= low) & (t <= high)]
    bins = ((inside - low) / (high - low) * counts.numel()).long().clamp(0, counts.numel() - 1)
    counts.copy_(torch.bincount(bins, minlength=counts.numel()))


def _range_of_bins(t: Tensor, low: float, high: float) -> tuple[float, float]:
    if low == high:
        low, high = t.min().item(), t.max().item()
    return (low - 1, high + 1) if low == high else (low, high)


def histc(out: Tensor, t: Tensor, low: float, high: float) -> None:
    """Counts per bin of equal width; low = high means the range of t."""
    _count_bins(out, t, *_range_of_bins(t, low, high))


def bhistc(out: Tensor, t: Tensor, low: float, high: float) -> None:
    """Computes ``histc`` of each row, with one range for all."""
    for counts, row in zip(out, t, strict=True):
        _count_bins(counts, row, *_range_of_bins(t, low, high))

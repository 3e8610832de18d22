"""Sums, extrema and sorting: over all elements, or along a dimension, which is kept with size 1.

As in Torch7, floats are added up in double precision and integers in 64 bits.
"""

import builtins
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor

from lua_compat.kernels.pointwise import square_root

__all__ = [
    "all_nonzero", "any_nonzero", "bhistc", "cumprod", "cumsum", "dist", "histc", "kthvalue", "max",
    "max_all", "mean", "mean_all", "min", "min_all", "mode", "norm", "norm_all", "prod",
    "prod_all", "renorm", "sort", "std", "std_all", "sum", "sum_all", "topk", "trace", "var", "var_all",
]  # fmt: skip
SANDBOXED = __all__


def _accumulator(t: Tensor) -> torch.dtype:
    return torch.float64 if t.dtype.is_floating_point else torch.int64


# PyTorch converts all elements before it adds them up. Large tensors are reduced in pieces, so that no second
# tensor of their size is allocated.

_PIECE = 1 << 20  # elements
_RENORM_EPSILON = 1e-7  # as in Torch7 and PyTorch


def _pieces(t: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yields corresponding pieces of tensors of one shape. Doubles, which need no conversion, are one
    piece."""
    together = (t, *others)
    if t.numel() <= _PIECE or all(x.dtype == torch.float64 for x in together):
        yield together
    elif all(x.is_contiguous() for x in together):
        yield from zip(*(x.view(-1).split(_PIECE) for x in together), strict=True)
    else:
        for parts in zip(*_split(together, range(t.dim())), strict=True):
            yield from _pieces(*parts)


def _split(tensors: tuple[Tensor, ...], dims: Sequence[int]) -> Iterator[tuple[Tensor, ...]]:
    """Yields corresponding parts of tensors, split along the longest of the given dimensions."""
    size, dim = builtins.max((tensors[0].shape[dim], dim) for dim in dims)
    step = builtins.max(1, size * _PIECE // tensors[0].numel())
    for t in tensors:
        yield t.split(step, dim)


def _all_of(t: Tensor, reduce: Callable[[Tensor], Tensor]) -> float:
    """Reduces the pieces, then their results (kept as numbers: small tensors would fragment the heap)."""
    results = [reduce(piece).item() for (piece,) in _pieces(t)]
    return results[0] if len(results) == 1 else reduce(torch.tensor(results, dtype=_accumulator(t))).item()


def _along(out: Tensor, t: Tensor, dim: int, reduce: Callable[[Tensor], Tensor]) -> None:
    """Fills ``out`` with t reduced along a dimension."""
    others = [other for other in range(t.dim()) if other != dim and t.shape[other] > 1]
    if t.numel() <= _PIECE or t.dtype == torch.float64 or not others:
        out.copy_(reduce(t))
        return
    for part, result in zip(*_split((t, out), others), strict=True):
        _along(result, part, dim, reduce)


def sum_all(t: Tensor) -> float:
    return _all_of(t, lambda piece: piece.sum(dtype=_accumulator(t)))


def prod_all(t: Tensor) -> float:
    return _all_of(t, lambda piece: piece.prod(dtype=_accumulator(t)))


def mean_all(t: Tensor) -> float:
    return sum_all(t) / t.numel() if t.numel() else math.nan


def var_all(t: Tensor, biased: bool) -> float:
    """Computes the variance; ``biased``: divides by n instead of n - 1."""
    if t.numel() == 1 and not biased:
        return float("nan")
    n, mean = t.numel(), mean_all(t)
    squares = [(piece.double() - mean).square_().sum().item() for (piece,) in _pieces(t)]
    return math.fsum(squares) / (n if biased else n - 1)


def std_all(t: Tensor, biased: bool) -> float:
    return var_all(t, biased) ** 0.5


def norm_all(t: Tensor, p: float) -> float:
    """Computes the p-norm, for p below infinity; p 0 counts the nonzero elements. Torch7 raises the sum of
    the powers to 1 / p, so that infinite p gives 1."""
    if math.isinf(p):
        return 1.0
    return _norm((piece.double() for (piece,) in _pieces(t)), p)


def _norm(pieces: Iterable[Tensor], p: float) -> float:
    if math.isnan(p):
        return math.nan
    norms = [torch.linalg.vector_norm(piece, p).item() for piece in pieces]
    if len(norms) == 1:
        return norms[0]
    together = torch.tensor(norms, dtype=torch.float64)
    return (together.sum() if p == 0 else torch.linalg.vector_norm(together, p)).item()


def _of_first_zero(extreme: Tensor, t: Tensor) -> float:
    """Returns an extreme of t as a number; a zero gets the sign of t's first zero."""
    number = extreme.item()
    if number == 0 and t.dtype.is_floating_point:
        first = int((t == 0).flatten().byte().argmax())
        return t.flatten()[first].item()
    return number


def max_all(t: Tensor) -> float:
    return _of_first_zero(t.max(), t)


def min_all(t: Tensor) -> float:
    return _of_first_zero(t.min(), t)


def all_nonzero(t: Tensor) -> bool:
    return bool(t.all())


def any_nonzero(t: Tensor) -> bool:
    return bool(t.any())


def trace(t: Tensor) -> float:
    return t.diagonal().sum(dtype=_accumulator(t)).item()


def dist(t: Tensor, s: Tensor, p: float) -> float:
    """Computes the p-norm of the difference; p 0 raises the number of elements to 1 / 0, as Torch7 does."""
    if p == 0 or math.isinf(p):
        return math.inf if p == 0 and t.numel() > 1 else 1.0
    return _norm((a.double() - b.double() for a, b in _pieces(t, s)), p)


def sum(out: Tensor, t: Tensor, dimension: int) -> None:
    dim, dtype = dimension - 1, _accumulator(t)
    _along(out, t, dim, lambda part: part.sum(dim, keepdim=True, dtype=dtype))


def prod(out: Tensor, t: Tensor, dimension: int) -> None:
    dim, dtype = dimension - 1, _accumulator(t)
    _along(out, t, dim, lambda part: part.prod(dim, keepdim=True, dtype=dtype))


def mean(out: Tensor, t: Tensor, dimension: int) -> None:
    dim = dimension - 1
    _along(out, t, dim, lambda part: part.mean(dim, keepdim=True, dtype=torch.float64))


def var(out: Tensor, t: Tensor, dimension: int, biased: bool) -> None:
    """Computes variances; ``biased``: divides by n instead of n - 1, which gives NaN for one element."""
    _along(out, t, dimension - 1, lambda part: _variances(part, dimension - 1, biased))


def std(out: Tensor, t: Tensor, dimension: int, biased: bool) -> None:
    """Computes the square roots of ``var``, correctly rounded, which PyTorch's are not."""

    def roots(part: Tensor) -> Tensor:
        found = _variances(part, dimension - 1, biased).to(t.dtype).double()
        square_root(found, found)
        return found

    _along(out, t, dimension - 1, roots)


def _variances(t: Tensor, dim: int, biased: bool) -> Tensor:
    """Returns variances in double precision.

    Uses the sum and the sum of squares, as Torch7 does; the squares, and n / (n - 1), have the precision of
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
    if not math.isfinite(p):
        out.fill_(1 if math.isinf(p) else math.nan)
        return
    dim = dimension - 1
    _along(out, t, dim, lambda part: torch.linalg.vector_norm(part.double(), p, dim=dim, keepdim=True))


def renorm(out: Tensor, t: Tensor, p: float, dimension: int, maximum: float) -> None:
    """Scales slices along ``dimension`` whose p-norm exceeds ``maximum`` to it. For infinite p the norm is
    1."""
    if math.isnan(maximum):  # no norm is larger
        out.copy_(t)
        return
    if math.isinf(p):
        torch.mul(t, 1 if maximum >= 1 else maximum / (1 + _RENORM_EPSILON), out=out)
        return
    if maximum < 0:  # every norm is larger; torch.renorm refuses it
        others = [dim for dim in range(t.dim()) if dim != dimension - 1]
        norms = torch.linalg.vector_norm(t, p, dim=others, keepdim=True)
        torch.mul(t, maximum / (norms + _RENORM_EPSILON), out=out)
        return
    torch.renorm(t, p, dimension - 1, maximum, out=out)


def cumsum(out: Tensor, t: Tensor, dimension: int) -> None:
    dim, dtype = dimension - 1, _accumulator(t)
    _along(out, t, dim, lambda part: torch.cumsum(part, dim, dtype=dtype))


def cumprod(out: Tensor, t: Tensor, dimension: int) -> None:
    dim, dtype = dimension - 1, _accumulator(t)
    _along(out, t, dim, lambda part: torch.cumprod(part, dim, dtype=dtype))


def _write(values: Tensor, positions: Tensor, result: tuple[Tensor, Tensor]) -> None:
    values.copy_(result[0])
    torch.add(result[1], 1, out=positions)


def max(values: Tensor, positions: Tensor, t: Tensor, dimension: int) -> None:
    _write(values, positions, t.max(dimension - 1, keepdim=True))


def min(values: Tensor, positions: Tensor, t: Tensor, dimension: int) -> None:
    _write(values, positions, t.min(dimension - 1, keepdim=True))


def mode(values: Tensor, positions: Tensor, t: Tensor, dimension: int) -> None:
    """Finds the most frequent element (in a tie the smallest) and its last position."""
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
    """Counts the elements from low to high in bins of equal width; NaN is in none."""
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

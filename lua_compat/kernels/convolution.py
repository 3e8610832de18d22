"""Torch7's convolutions of plain tensors (torch.conv2 and the like; nn has its own)."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from lua_compat.kernels.alignment import aligned
from lua_compat.kernels.results import Out

__all__ = ["correlate"]
SANDBOXED = __all__


def correlate(out: Out, x: Tensor, kernel: Tensor, dims: int, full: bool, flipped: bool) -> None:
    """Correlates in ``dims`` dimensions; ``flipped``: convolves; ``full``: wherever the two overlap.

    x, kernel: one plane each; p planes each, paired; or p planes and o x p kernels, summed over p. Pairs are
    computed one by one, so that equal planes give results that are equal to the last bit.
    """
    dims = int(dims)
    spatial = tuple(range(-dims, 0))
    if flipped:
        kernel = kernel.flip(spatial)
    size = kernel.shape[-dims:]
    padding = tuple(n - 1 for n in size) if full else (0,) * dims
    convolve: Callable[..., Tensor] = F.conv2d if dims == 2 else F.conv3d
    work, weight = x, kernel
    if not x.dtype.is_floating_point:
        exact = _has_exact_sums(x, kernel)
        work, weight = (x.double(), kernel.double()) if exact else (x.long(), kernel.long())
        if not exact:
            convolve = partial(_in_64_bits, dims)
    work, weight = aligned(work), aligned(weight)
    if full and not bool(weight.isfinite().all()):
        # A border of zeros would meet infinite elements (0 * inf = NaN): only the overlap with x is computed.
        convolve = partial(_where_they_overlap, dims)
    if x.dim() == dims:
        result = convolve(work[None, None], weight[None, None], padding=padding)[0, 0]
    elif kernel.dim() == dims + 1:
        pairs = zip(work, weight, strict=True)
        each = [convolve(aligned(p)[None, None], aligned(k)[None, None], padding=padding) for p, k in pairs]
        result = torch.cat(each)[:, 0]
    else:
        result = convolve(work[None], weight, padding=padding)[0]
    out.resize_(result.shape)
    if not x.dtype.is_floating_point and result.dtype.is_floating_point:
        result = torch.round(result).long()  # narrower types keep the low bits
    out.copy_(result)


def _has_exact_sums(x: Tensor, kernel: Tensor) -> bool:
    """Returns whether doubles represent the sums of products of integers exactly, with some bits to spare."""
    largest = [int(t.abs().max()) if t.min() != torch.iinfo(t.dtype).min else 2**63 for t in (x, kernel)]
    return largest[0] * largest[1] * kernel.numel() < 2**48


def _in_64_bits(dims: int, x: Tensor, weight: Tensor, padding: tuple[int, ...]) -> Tensor:
    """Correlates integers; sums keep the low 64 bits, as Torch7's do."""
    windows = F.pad(x[0], [n for size in reversed(padding) for n in (size, size)])
    for dim in range(1, dims + 1):
        windows = windows.unfold(dim, weight.shape[dim + 1], 1)
    inner = list(range(dims))
    return torch.tensordot(
        weight, windows, ([1, *(n + 2 for n in inner)], [0, *(n + 1 + dims for n in inner)])
    )[None]


def _where_they_overlap(dims: int, x: Tensor, weight: Tensor, padding: tuple[int, ...]) -> Tensor:
    """Correlates x, padded by ``padding``, by adding up the contributions of each of its elements."""
    spread = torch.ops.aten.slow_conv_transpose2d if dims == 2 else torch.ops.aten.slow_conv_transpose3d
    turned = weight.flip(tuple(range(-dims, 0))).transpose(0, 1).contiguous()
    return spread(x, turned, [n + 1 for n in padding])

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
    computed one by one: of equal planes the results are equal, to the last bit.
    """
    dims = int(dims)
    spatial = tuple(range(-dims, 0))
    if flipped:
        kernel = kernel.flip(spatial)
    size = kernel.shape[-dims:]
    padding = tuple(n - 1 for n in size) if full else (0,) * dims
    work = aligned(x if x.dtype.is_floating_point else x.double())
    weight = aligned(kernel.to(work.dtype))
    convolve: Callable[..., Tensor] = F.conv2d if dims == 2 else F.conv3d
    if full and not bool(weight.isfinite().all()):
        # A border of zeros would be multiplied by what is infinite: only what lies on x counts.
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
    out.copy_(result if x.dtype.is_floating_point else torch.round(result))


def _where_they_overlap(dims: int, x: Tensor, weight: Tensor, padding: tuple[int, ...]) -> Tensor:
    """Correlates with a border of ``padding`` around x, adding up, for each element of x, what it gives."""
    spread = torch.ops.aten.slow_conv_transpose2d if dims == 2 else torch.ops.aten.slow_conv_transpose3d
    turned = weight.flip(tuple(range(-dims, 0))).transpose(0, 1).contiguous()
    return spread(x, turned, [n + 1 for n in padding])

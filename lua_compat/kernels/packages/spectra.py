"""Fourier and cosine transforms and convolution with strides, for the Lua package signal."""

import math

import torch
from torch import Tensor

from lua_compat.kernels.results import Out

__all__ = ["signal_conv1d", "signal_cosine", "signal_fft", "signal_real_fft", "signal_real_inverse"]
SANDBOXED = __all__


def _last(count: float) -> list[int]:
    return list(range(-int(count), 0))


def signal_fft(out: Out, t: Tensor, dims: float, inverse: bool) -> None:
    """Computes the transform over the last ``dims`` dimensions; t, out: (..., real and imaginary part)."""
    transform = torch.fft.ifftn if inverse else torch.fft.fftn
    result = torch.view_as_real(transform(torch.view_as_complex(t.contiguous()), dim=_last(dims)))
    out.resize_(result.shape).copy_(result)


def signal_real_fft(out: Out, t: Tensor, dims: float) -> None:
    """Computes the transform of real numbers: the positive frequencies of the last dimension."""
    result = torch.view_as_real(torch.fft.rfftn(t, dim=_last(dims)))
    out.resize_(result.shape).copy_(result)


def signal_real_inverse(out: Out, t: Tensor, dims: float, size: float) -> None:
    """Inverts ``signal_real_fft``; ``size``: that of the last dimension."""
    numbers = torch.view_as_complex(t.contiguous())
    sizes = [*numbers.shape[numbers.dim() - int(dims) : -1], int(size)]
    result = torch.fft.irfftn(numbers, s=sizes, dim=_last(dims))
    out.resize_(result.shape).copy_(result)


def _cosine(t: Tensor) -> Tensor:
    """Returns 2 sum_j t_j cos(pi k (j + 1/2) / n) along the last dimension (FFTW's REDFT10), by an FFT of the
    even-numbered elements followed by the odd-numbered ones in reverse (Makhoul 1980)."""
    n = t.shape[-1]
    turned = torch.cat([t[..., ::2], t[..., 1::2].flip(-1)], -1)
    angles = torch.arange(n, dtype=t.dtype) * (-math.pi / (2 * n))
    return 2 * (torch.fft.fft(turned) * torch.polar(torch.ones_like(angles), angles)).real


def _inverse_cosine(t: Tensor) -> Tensor:
    """Returns t_0 + 2 sum_k t_k cos(pi k (j + 1/2) / n) along the last dimension (FFTW's REDFT01)."""
    n = t.shape[-1]
    angles = torch.arange(n, dtype=t.dtype) * (math.pi / (2 * n))
    opposite = torch.cat([torch.zeros_like(t[..., :1]), t[..., 1:].flip(-1)], -1)
    numbers = torch.complex(t, -opposite) * torch.polar(torch.ones_like(angles), angles)
    turned = torch.fft.ifft(numbers).real * n
    result = torch.empty_like(t)
    result[..., ::2] = turned[..., : (n + 1) // 2]
    result[..., 1::2] = turned[..., (n + 1) // 2 :].flip(-1)
    return result


def signal_cosine(out: Out, t: Tensor, inverse: bool) -> None:
    """Computes the cosine transform over all dimensions, or its inverse."""
    result = t.clone()
    for dim in range(t.dim()):
        moved = result.movedim(dim, -1)
        result = (_inverse_cosine(moved) if inverse else _cosine(moved)).movedim(-1, dim)
    if inverse:
        result = result / math.prod(2 * size for size in t.shape)
    out.resize_(result.shape).copy_(result)


def signal_conv1d(out: Out, t: Tensor, kernel: Tensor, stride: float, count: float) -> None:
    """Computes ``count`` dot products of ``kernel`` with t at every ``stride``-th position; elements past t's
    end count as zero."""
    needed = (int(count) - 1) * int(stride) + kernel.numel()
    padded = torch.nn.functional.pad(t, (0, max(0, needed - t.numel())))
    windows = padded.unfold(0, kernel.numel(), int(stride))[: int(count)]
    out.resize_(int(count)).copy_((windows * kernel).sum(1))

"""Convolution in the Fourier domain, tile by tile, in real arithmetic.

Formulas: the discrete convolution theorem on t x t tiles (overlap-save), row-column decomposition, and three
real multiplications per complex product (Gauss; Knuth, The Art of Computer Programming, volume 2, 4.6.4).
"""

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.tile_transforms import TileMap, TileTransforms


@cache
def fft(output_tile: int, kernel: int) -> TileTransforms:
    """Returns the transforms of an m x m output tile under a k x k kernel, t = m + k - 1.

    With D and W the t x t Fourier transforms of input tile and weight, the correlation is the inverse
    transform of D conj(W); its first m x m values do not wrap around. Real data make frequencies (u, v) and
    (-u, -v) conjugate: one of each pair is kept, with D = a + ib, conj(W) = c + id and Gauss' products
    k1 = c (a + b), k2 = a (d - c), k3 = b (c + d): D conj(W) = (k1 - k3) + i (k1 + k2).
    """
    tile = output_tile + kernel - 1
    return TileTransforms(
        name=f"fft({output_tile})",
        output_tile=(output_tile, output_tile),
        kernel=(kernel, kernel),
        # The contribution of k1, k2, k3 to the real part of (D conj(W)) e^(i angle), with a and b the angle's
        # cosine
        # and minus its sine.
        output_adjoint=_fourier(tile, output_tile, lambda a, b: (a + b, b, -a), inverse=True),
        weight=_fourier(tile, kernel, lambda a, b: (a, -a - b, a - b)),  # c = a and d = -b
        input=_fourier(tile, tile, lambda a, b: (a + b, a, b)),
    )


def _fourier(
    tile: int, size: int, factors: Callable[[Tensor, Tensor], tuple[Tensor, ...]], inverse: bool = False
) -> TileMap:
    """Returns the Fourier transform of size x size tiles, zeros up to ``tile``, with every complex value a +
    ib replaced by the three of ``factors(a, b)``; with ``inverse``, the adjoint of the inverse transform.

    The rows are transformed first: real and imaginary parts of row frequency u. Frequencies 0 and tile / 2
    are real there; of the others u stands for -u too, which an inverse transform counts twice.
    """
    scale, pair = (1 / tile, 2.0) if inverse else (1.0, 1.0)
    angle = 2 * math.pi / tile * torch.arange(tile, dtype=torch.float64)[:, None] * torch.arange(size)
    cosine, sine = angle.cos() * scale, angle.sin() * scale
    own = [0, tile // 2] if tile % 2 == 0 else [0]  # frequencies that are their own conjugate
    paired = range(1, (tile + 1) // 2)

    rows = [cosine[u] for u in own]
    for u in paired:
        rows += [pair * cosine[u], -pair * sine[u]]

    real = [cosine[v] for v in own]
    for v in paired:
        real += [pair * factor for factor in factors(cosine[v], -sine[v])]
    complex_: list[Tensor] = []
    for v in range(tile):
        complex_ += factors(torch.cat([cosine[v], sine[v]]), torch.cat([-sine[v], cosine[v]]))
    return TileMap(torch.stack(rows), ((torch.stack(real), len(own)), (torch.stack(complex_), len(paired))))

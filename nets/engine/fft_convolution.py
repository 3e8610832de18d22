"""Convolution in the Fourier domain, tile by tile, in real arithmetic.

Formulas: the discrete convolution theorem on t x t tiles (overlap-save), with three real multiplications per
complex product (Gauss; Knuth, The Art of Computer Programming, volume 2, 4.6.4).
"""

import math

import torch
from torch import Tensor

from nets.engine.bilinear import TileTransforms


def fft(output_tile: int, kernel: int) -> TileTransforms:
    """The transforms of an m x m output tile under a k x k kernel, t = m + k - 1.

    With D and W the t x t Fourier transforms of input tile and weight, the correlation is the inverse
    transform of D conj(W); its first m x m values do not wrap around. Real data make frequencies (u, v) and
    (-u, -v) conjugate: one of each pair is kept, with D = a + ib, conj(W) = c + id and Gauss' products
    k1 = c (a + b), k2 = a (d - c), k3 = b (c + d): D conj(W) = (k1 - k3) + i (k1 + k2).
    """
    tile = output_tile + kernel - 1
    position = torch.arange(tile, dtype=torch.float64)
    output: list[Tensor] = []
    weight: list[Tensor] = []
    inputs: list[Tensor] = []
    for u, v in _frequencies(tile):
        angle = 2 * math.pi / tile * (u * position[:, None] + v * position[None, :])
        cosine, sine = angle.cos(), angle.sin()
        a, b = cosine.flatten(), -sine.flatten()
        c, d = cosine[:kernel, :kernel].flatten(), sine[:kernel, :kernel].flatten()
        real = cosine[:output_tile, :output_tile].flatten() / tile**2
        imaginary = sine[:output_tile, :output_tile].flatten() / tile**2
        if (2 * u % tile, 2 * v % tile) == (0, 0):  # its own conjugate: D and W are real
            inputs.append(a)
            weight.append(c)
            output.append(real)
        else:
            inputs += [a + b, a, b]
            weight += [c, d - c, c + d]
            # Twice the real part of D conj(W) e^(i angle), for the pair.
            output += [2 * (real - imaginary), -2 * imaginary, -2 * real]
    return TileTransforms(
        name=f"fft({output_tile})",
        output_tile=output_tile,
        kernel=kernel,
        output=torch.stack(output, dim=1),
        weight=torch.stack(weight),
        input=torch.stack(inputs),
    )


def _frequencies(tile: int) -> list[tuple[int, int]]:
    """One of each conjugate pair of the t x t frequencies."""
    every = ((u, v) for u in range(tile) for v in range(tile))
    return [(u, v) for u, v in every if (u, v) <= (-u % tile, -v % tile)]


def fft_products(tile: int) -> int:
    """Real multiplications per t x t tile: one per self-conjugate frequency, three per other pair."""
    own = 1 if tile % 2 else 4
    return own + 3 * (tile**2 - own) // 2

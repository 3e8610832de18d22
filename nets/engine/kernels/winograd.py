"""Winograd's minimal filtering: the transforms, from interpolation points.

Formulas: the Toom-Cook product of polynomials and its transposition (S. Winograd, Arithmetic Complexity of
Computations, 1980; R. Blahut, Fast Algorithms for Signal Processing, 2010, chapters 3 and 5); A. Lavin and
S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015, for the nesting into two dimensions.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import torch

from convnet_benchmarks.nets.engine.kernels.tile_transforms import (
    AxisMatrices,
    Pair,
    TileTransforms,
    along_axes,
)
from convnet_benchmarks.nets.pair import pair

# Finite interpolation points by input tile; infinity is always one more. Few-bit fractions around 1 keep the
# powers, and with them the rounding errors, small: the integers of the textbooks lose three times as much.
_POINTS: dict[int, tuple[float, ...]] = {
    4: (0.0, 1.0, -1.0),
    5: (0.5, -0.5, 1.25, -1.25),
    6: (0.0, 0.75, -0.75, 1.5, -1.5),
    7: (0.375, -0.375, 0.875, -0.875, 1.375, -1.375),
    8: (0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0),
    10: (0.0, 0.5, -0.5, 0.75, -0.75, 1.25, -1.25, 2.5, -2.5),
    12: (0.0, 0.375, -0.375, 0.75, -0.75, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5),
}

# Output tiles by kernel that are accurate enough and save multiplications: of square kernels, and of those
# with one row or one column. Along one axis alone larger tiles are as accurate as smaller ones along both.
OUTPUT_TILES: dict[int, tuple[int, ...]] = {3: (2, 3, 4, 5, 6), 5: (3, 4)}
LINE_TILES: dict[int, tuple[int, ...]] = {3: (4,), 5: (4,), 7: (4, 6)}


def output_tiles(kernel: Pair) -> tuple[int, ...]:
    """Returns the output tiles for ``kernel``: none if Winograd does not apply."""
    if kernel[0] == kernel[1]:
        return OUTPUT_TILES.get(kernel[0], ())
    return LINE_TILES.get(max(kernel), ()) if min(kernel) == 1 else ()


@cache
def winograd(output_tile: int, kernel: int | Pair = 3) -> TileTransforms:
    """Returns F(m x m, k x k), or F(m, k) along one axis for a kernel of 1 x k or k x 1, of single and double
    precision.

    A product of polynomials of degrees k - 1 and m - 1 is fixed by its values at t = m + k - 1 points: with
    V_n the (t, n) matrix of the points' powers 0 .. n - 1, the product's coefficients are V_t^-1 ((V_k w) *
    (V_m h)). Transposing this linear map from h gives the correlation y = V_m^T ((V_k w) * (V_t^-T d)).
    """
    taps = pair(kernel)
    rows, columns = (_along_one_axis(output_tile, size) if size > 1 else _NOTHING for size in taps)
    of_input, of_output, of_weight = (along_axes(*both) for both in zip(rows, columns, strict=True))
    return TileTransforms(
        name=f"winograd({output_tile})",
        output_tile=(output_tile if taps[0] > 1 else 1, output_tile if taps[1] > 1 else 1),
        kernel=taps,
        output_adjoint=of_output,
        weight=of_weight,
        input=of_input,
        along_axes=(rows, columns),
    )


# Along an axis where the kernel has one row or column.
_NOTHING = AxisMatrices(*(torch.ones(1, 1, dtype=torch.float64) for _ in range(3)))


def _along_one_axis(output_tile: int, kernel: int) -> AxisMatrices:
    tile = output_tile + kernel - 1
    if tile not in _POINTS:
        raise ValueError(
            f"no interpolation points for an output tile of {output_tile} and a kernel of {kernel}"
        )
    points = np.array(_POINTS[tile])

    def powers(count: int) -> np.ndarray:
        at_infinity = np.eye(count)[-1:]  # the value at infinity is the leading coefficient
        return np.concatenate([points[:, None] ** np.arange(count), at_infinity])

    output, weight, inputs = powers(output_tile).T, powers(kernel), _inverse(powers(tile)).T
    # A point's row may be scaled in one matrix and unscaled in the other: equal norms round best, and powers
    # of two do not round.
    scale = 2.0 ** np.round(np.log2(np.linalg.norm(inputs, axis=1) / np.linalg.norm(weight, axis=1)) / 2)
    weight, inputs = weight * scale[:, None], inputs / scale[:, None]
    return AxisMatrices(*map(torch.from_numpy, (inputs, output.T.copy(), weight)))


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Returns the inverse, rounded once: the powers of many points differ too much for floating point."""
    size = len(matrix)
    rows = [
        [*map(Fraction, row), *(Fraction(i == j) for j in range(size))]
        for i, row in enumerate(matrix.tolist())
    ]
    for i in range(size):
        chosen = next(row for row in range(i, size) if rows[row][i])
        rows[i], rows[chosen] = rows[chosen], [*rows[i]]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for other in range(size):
            if other != i:
                factor = rows[other][i]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[i], strict=True)]
    return np.array([[float(entry) for entry in row[size:]] for row in rows])

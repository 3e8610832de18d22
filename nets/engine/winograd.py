"""Winograd's minimal filtering: the transforms, from interpolation points.

Formulas: the Toom-Cook product of polynomials and its transposition (S. Winograd, Arithmetic Complexity of
Computations, 1980; R. Blahut, Fast Algorithms for Signal Processing, 2010, chapters 3 and 5); A. Lavin and
S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015, for the nesting into two dimensions.
"""

from functools import cache

import numpy as np
import torch

from nets.engine.tile_transforms import TileTransforms, along_both_axes

# Finite interpolation points by output tile, for 3-wide kernels; infinity is always one more. Few-bit
# fractions around 1 keep the powers, and with them the rounding errors, small: the integers of the textbooks
# lose three times as much.
POINTS: dict[int, tuple[float, ...]] = {
    2: (0.0, 1.0, -1.0),
    3: (0.5, -0.5, 1.25, -1.25),
    4: (0.0, 0.75, -0.75, 1.5, -1.5),
    5: (0.5, -0.5, 0.875, -0.875, 1.375, -1.375),
}


@cache
def winograd(output_tile: int, kernel: int = 3) -> TileTransforms:
    """F(m x m, k x k) with the points of :data:`POINTS`.

    A product of polynomials of degrees k - 1 and m - 1 is fixed by its values at t = m + k - 1 points: with
    V_n the (t, n) matrix of the points' powers 0 .. n - 1, the product's coefficients are V_t^-1 ((V_k w) *
    (V_m h)). Transposing this linear map from h gives the correlation y = V_m^T ((V_k w) * (V_t^-T d)).
    """
    tile = output_tile + kernel - 1
    points = np.array(POINTS[output_tile][: tile - 1])
    if len(points) != tile - 1:
        raise ValueError(
            f"no interpolation points for an output tile of {output_tile} and a kernel of {kernel}"
        )

    def powers(count: int) -> np.ndarray:
        at_infinity = np.eye(count)[-1:]  # the value at infinity is the leading coefficient
        return np.concatenate([points[:, None] ** np.arange(count), at_infinity])

    output, weight, inputs = powers(output_tile).T, powers(kernel), np.linalg.inv(powers(tile)).T
    # A point's row may be scaled in one matrix and unscaled in the other: equal norms round best, and powers
    # of two do not round.
    scale = 2.0 ** np.round(np.log2(np.linalg.norm(inputs, axis=1) / np.linalg.norm(weight, axis=1)) / 2)
    weight, inputs = weight * scale[:, None], inputs / scale[:, None]
    return TileTransforms(
        name=f"winograd({output_tile})",
        output_tile=output_tile,
        kernel=kernel,
        output_adjoint=along_both_axes(torch.from_numpy(output.T.copy())),
        weight=along_both_axes(torch.from_numpy(weight)),
        input=along_both_axes(torch.from_numpy(inputs)),
    )

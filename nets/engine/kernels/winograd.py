"""Winograd's minimal filtering: the transforms, from interpolation points.

Formulas: the Toom-Cook product of polynomials and its transposition (S. Winograd, Arithmetic Complexity of
Computations, 1980; R. Blahut, Fast Algorithms for Signal Processing, 2010, chapters 3 and 5); A. Lavin and
S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015, for the nesting into two dimensions.
"""

from functools import cache

import numpy as np
import torch

from nets.engine.kernels.tile_transforms import TileTransforms, along_both_axes

# Finite interpolation points by input tile; infinity is always one more. Few-bit fractions around 1 keep the
# powers, and with them the rounding errors, small: the integers of the textbooks lose three times as much.
_POINTS: dict[int, tuple[float, ...]] = {
    4: (0.0, 1.0, -1.0),
    5: (0.5, -0.5, 1.25, -1.25),
    6: (0.0, 0.75, -0.75, 1.5, -1.5),
    7: (0.375, -0.375, 0.875, -0.875, 1.375, -1.375),
    8: (0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0),
}

# Output tiles by kernel that are accurate enough and save multiplications.
OUTPUT_TILES: dict[int, tuple[int, ...]] = {3: (2, 3, 4, 5, 6), 5: (3, 4)}


@cache
def winograd(output_tile: int, kernel: int = 3) -> TileTransforms:
    """Returns F(m x m, k x k) of single and double precision.

    A product of polynomials of degrees k - 1 and m - 1 is fixed by its values at t = m + k - 1 points: with
    V_n the (t, n) matrix of the points' powers 0 .. n - 1, the product's coefficients are V_t^-1 ((V_k w) *
    (V_m h)). Transposing this linear map from h gives the correlation y = V_m^T ((V_k w) * (V_t^-T d)).
    """
    tile = output_tile + kernel - 1
    if tile not in _POINTS:
        raise ValueError(
            f"no interpolation points for an output tile of {output_tile} and a kernel of {kernel}"
        )
    points = np.array(_POINTS[tile])

    def powers(count: int) -> np.ndarray:
        at_infinity = np.eye(count)[-1:]  # the value at infinity is the leading coefficient
        return np.concatenate([points[:, None] ** np.arange(count), at_infinity])

    output, weight, inputs = powers(output_tile).T, powers(kernel), np.linalg.inv(powers(tile)).T
    # A point's row may be scaled in one matrix and unscaled in the other: equal norms round best, and powers
    # of two do not round.
    scale = 2.0 ** np.round(np.log2(np.linalg.norm(inputs, axis=1) / np.linalg.norm(weight, axis=1)) / 2)
    weight, inputs = weight * scale[:, None], inputs / scale[:, None]
    along_axes = (torch.from_numpy(inputs), torch.from_numpy(output.T.copy()), torch.from_numpy(weight))
    of_input, of_output, of_weight = map(along_both_axes, along_axes)
    return TileTransforms(
        name=f"winograd({output_tile})",
        output_tile=output_tile,
        kernel=kernel,
        output_adjoint=of_output,
        weight=of_weight,
        input=of_input,
        along_axes=along_axes,
    )

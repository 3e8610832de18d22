"""Values of pixels: whole numbers from 0 to 65535."""

import numpy as np
import torch
from torch import Tensor

MOST = 65535.0


def rounded(values: np.ndarray) -> np.ndarray:
    """Returns the nearest values that a pixel can have."""
    return np.clip(np.floor(values + 0.5), 0, MOST)


def weighed(matrix: np.ndarray, values: np.ndarray, axis: int) -> np.ndarray:
    """Returns sums of values along an axis, each weighed by a row of the matrix."""
    return np.moveaxis(np.tensordot(matrix, values, (1, axis)), 0, axis)


def give(out: Tensor, pixels: np.ndarray) -> None:
    """Makes ``out`` as large as the pixels, and puts them there."""
    out.resize_(pixels.shape).copy_(torch.from_numpy(np.ascontiguousarray(pixels)))

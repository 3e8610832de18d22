"""Pixel values: integers from 0 to 65535."""

import numpy as np
import torch
from torch import Tensor

MOST = 65535.0


def rounded(values: np.ndarray) -> np.ndarray:
    """Returns the nearest pixel values."""
    return np.clip(np.floor(values + 0.5), 0, MOST)


def weighed(matrix: np.ndarray, values: np.ndarray, axis: int) -> np.ndarray:
    """Returns sums of values along an axis, weighted by each row of the matrix."""
    return np.moveaxis(np.tensordot(matrix, values, (1, axis)), 0, axis)


def give(out: Tensor, pixels: np.ndarray) -> None:
    """Resizes ``out`` to the pixels, and copies them there."""
    out.resize_(pixels.shape).copy_(torch.from_numpy(np.ascontiguousarray(pixels)))

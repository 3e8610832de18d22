"""Resizing by one of GraphicsMagick's filters: along the axis that needs less work in total, then along the
other.

The filters are those of Turkowski, "Filters for Common Resampling Tasks", Schumacher, "General Filtered
Image Rescaling" (both in Graphics Gems), and Mitchell and Netravali.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.packages.magick.quanta import MOST, give, rounded, weighed
from lua_compat.kernels.results import Out

__all__ = ["magick_resize"]
SANDBOXED = __all__

_EPSILON = 1e-12
Weights = Callable[[np.ndarray], np.ndarray]


def _blackman(x: np.ndarray) -> np.ndarray:
    return 0.42 + 0.5 * np.cos(np.pi * x) + 0.08 * np.cos(2 * np.pi * x)


def _bessel(x: np.ndarray) -> np.ndarray:
    """Returns J1(pi x) / 2x, with a Blackman window."""
    first = torch.special.bessel_j1(torch.from_numpy(np.pi * x)).numpy()
    safe = np.where(x == 0, 1.0, x)
    return _blackman(x / 3.2383) * np.where(x == 0, np.pi / 4, first / (2 * safe))


def _cubic(b: float, c: float) -> Weights:
    """Returns the cubic filter of Mitchell and Netravali with their parameters B and C."""

    def weights(x: np.ndarray) -> np.ndarray:
        x = np.abs(x)
        near = (12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + 6 - 2 * b
        far = (-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + 8 * b + 24 * c
        return np.where(x < 1, near, np.where(x < 2, far, 0.0)) / 6

    return weights


def _quadratic(x: np.ndarray) -> np.ndarray:
    x = np.abs(x)
    return np.where(x < 0.5, 0.75 - x * x, np.where(x < 1.5, 0.5 * (x - 1.5) ** 2, 0.0))


# By name: the width on either side, in pixels, and the weights.
_FILTERS: dict[str, tuple[float, Weights]] = {
    "Point": (0.0, lambda x: ((x >= -0.5) & (x < 0.5)).astype(float)),
    "Box": (0.5, lambda x: ((x >= -0.5) & (x < 0.5)).astype(float)),
    "Triangle": (1.0, lambda x: np.maximum(0.0, 1 - np.abs(x))),
    "Hermite": (1.0, lambda x: np.where(np.abs(x) < 1, (2 * np.abs(x) - 3) * x * x + 1, 0.0)),
    "Hanning": (1.0, lambda x: 0.5 + 0.5 * np.cos(np.pi * x)),
    "Hamming": (1.0, lambda x: 0.54 + 0.46 * np.cos(np.pi * x)),
    "Blackman": (1.0, _blackman),
    "Gaussian": (1.25, lambda x: np.exp(-2 * x * x) * math.sqrt(2 / math.pi)),
    "Quadratic": (1.5, _quadratic),
    "Cubic": (2.0, _cubic(1, 0)),
    "Catrom": (2.0, _cubic(0, 0.5)),
    "Mitchell": (2.0, _cubic(1 / 3, 1 / 3)),
    "Lanczos": (3.0, lambda x: np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)),
    "Bessel": (3.2383, _bessel),
    "Sinc": (4.0, lambda x: _blackman(x / 4) * np.sinc(x)),
}


def _matrix(name: str, before: int, after: int, blur: float) -> np.ndarray:
    """Returns the weight of each old pixel (columns) in each new one (rows)."""
    support, weights_of = _FILTERS[name]
    factor = after / before
    scale = blur * max(1 / factor, 1.0)
    reach = scale * support
    if reach <= 0.5:
        reach, scale = 0.5 + _EPSILON, 1.0
    matrix = np.zeros((after, before))
    for place in range(after):
        center = (place + 0.5) / factor
        first = int(max(center - reach + 0.5, 0))
        last = int(min(center + reach + 0.5, before))
        weights = weights_of((np.arange(first, last) - center + 0.5) / scale)
        total = weights.sum()
        matrix[place, first:last] = weights / total if total not in (0.0, 1.0) else weights
    return matrix


def _along(matrix: np.ndarray, picture: np.ndarray, axis: int, transparent: bool) -> np.ndarray:
    """Applies the weights along an axis; colors are weighted by their opacity."""
    if not transparent:
        return rounded(weighed(matrix, picture, axis))
    cover = picture[..., 3:] / MOST
    shares = weighed(matrix, cover, axis)
    colors = weighed(matrix, picture[..., :3] * cover, axis)
    colors /= np.where(np.abs(shares) <= _EPSILON, 1.0, shares)
    return rounded(np.concatenate([colors, weighed(matrix, picture[..., 3:], axis)], -1))


def magick_resize(
    out: Out, picture: Tensor, columns: float, rows: float, name: str, blur: float, transparent: bool
) -> None:
    """Resizes a picture. ``name``: a filter; Undefined is Mitchell if the picture is enlarged or transparent,
    and Lanczos if it is reduced."""
    pixels = array_of(picture)
    before_rows, before_columns = pixels.shape[:2]
    columns, rows = int(columns), int(rows)
    if not (0 < columns < 1 << 16 and 0 < rows < 1 << 16 and 0 < blur < 1e3):
        raise ValueError(f"graphicsmagick: a picture cannot be resized to {columns} x {rows} (blur {blur:g})")
    if name == "Undefined":
        name = "Mitchell" if transparent or columns * rows > before_columns * before_rows else "Lanczos"
    if name not in _FILTERS:
        raise ValueError(f"graphicsmagick: no filter {name}; there are Undefined, {', '.join(_FILTERS)}")
    steps = [(columns, before_columns, 1), (rows, before_rows, 0)]
    if columns * (before_rows + rows) <= rows * (before_columns + columns):
        steps.reverse()
    for after, before, axis in steps:
        pixels = _along(_matrix(name, before, after, blur), pixels, axis, transparent)
    give(out, pixels)

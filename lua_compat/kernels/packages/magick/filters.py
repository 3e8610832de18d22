"""Blurring, sharpening, compositing, and affine transforms."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.packages.magick.quanta import MOST, give, rounded, weighed
from lua_compat.kernels.results import Out

__all__ = [
    "magick_affine",
    "magick_blur",
    "magick_compose",
    "magick_rotate",
    "magick_sharpen",
    "magick_unsharp",
]
SANDBOXED = __all__

_FINER = 3  # samples of the Gaussian for each pixel of a blur
_WIDEST = 1001


def _check(radius: float, sigma: float) -> None:
    if not (0 <= radius < _WIDEST / 2 and 1e-6 < sigma < _WIDEST / 6):
        raise ValueError(f"graphicsmagick: radius {radius:g} and sigma {sigma:g} make no filter")


def _line(width: int, sigma: float) -> np.ndarray:
    """Returns a Gaussian of ``width`` pixels, each the sum of three samples, that sums to 1."""
    most = _FINER * width // 2
    points = np.arange(-most, most + 1)
    values = np.exp(-(points**2) / (2 * (_FINER * sigma) ** 2))
    line = np.bincount((points + most) // _FINER, values, width)[:width]
    return line / line.sum()


def _line_for(radius: float, sigma: float) -> np.ndarray:
    """Returns a Gaussian of a radius, or, for radius 0, of the width at which its ends become negligible."""
    if radius > 0:
        return _line(2 * math.ceil(radius) + 1, sigma)
    width = 3
    while width < _WIDEST and int(MOST * _line(width, sigma)[0]) > 0:
        width += 2
    return _line(max(3, width - 2), sigma)


def _blurred(pixels: np.ndarray, radius: float, sigma: float) -> np.ndarray:
    _check(radius, sigma)
    line = _line_for(radius, sigma)
    for axis in (1, 0):
        length = pixels.shape[axis]
        # pixels outside are ignored
        places = np.arange(length)
        offsets = places[None, :] - places[:, None] + len(line) // 2
        inside = (offsets >= 0) & (offsets < len(line))
        matrix = np.where(inside, line[np.clip(offsets, 0, len(line) - 1)], 0.0)
        matrix /= matrix.sum(1, keepdims=True)
        pixels = rounded(weighed(matrix, pixels, axis))
    return pixels


def magick_blur(out: Out, picture: Tensor, radius: float, sigma: float) -> None:
    """Blurs a picture: rows, then columns; radius 0: chosen from sigma."""
    give(out, _blurred(array_of(picture), radius, sigma))


def magick_unsharp(
    out: Out, picture: Tensor, radius: float, sigma: float, amount: float, threshold: float
) -> None:
    """Adds ``amount`` times the difference from the blurred picture where it is ``threshold`` or more."""
    pixels = array_of(picture)
    difference = pixels - _blurred(pixels, radius, sigma)
    sharper = rounded(pixels + difference * amount)
    give(out, np.where(np.abs(2 * difference) < MOST * threshold, pixels, sharper))


def _square(radius: float, sigma: float) -> np.ndarray:
    """Returns a Gaussian in two dimensions, its middle replaced by -2 times the sum."""

    def gaussian(width: int) -> np.ndarray:
        places = np.arange(width) - width // 2
        distances = places[:, None] ** 2 + places[None, :] ** 2
        return np.exp(-distances / (2 * sigma * sigma)) / (2 * math.pi * sigma * sigma)

    if radius > 0:
        width = 2 * math.ceil(radius) + 1
    else:
        width = 5
        while width < _WIDEST:
            values = gaussian(width)
            if int(MOST * values[width // 2, 0] / values.sum()) <= 0:
                break
            width += 2
        width -= 2
    values = gaussian(width)
    values[width // 2, width // 2] = -2 * values.sum()
    return values / values.sum()


def magick_sharpen(out: Out, picture: Tensor, radius: float, sigma: float) -> None:
    """Sharpens a picture, extended by its edge pixels."""
    _check(radius, sigma)
    square = _square(radius, sigma)
    pixels = array_of(picture)
    height, width = pixels.shape[:2]
    more = square.shape[0] // 2
    padded = np.pad(pixels, ((more, more), (more, more), (0, 0)), "edge")
    total = np.zeros_like(pixels)
    for y in range(square.shape[0]):
        for x in range(square.shape[1]):
            total += square[y, x] * padded[y : y + height, x : x + width]
    sharp = rounded(total)
    sharp[..., 3] = pixels[..., 3]
    give(out, sharp)


# Porter and Duff's, "Compositing Digital Images": the weights of the upper and the lower picture.
_SHARES: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "Over": lambda upper, lower: (upper, lower * (1 - upper)),
    "In": lambda upper, lower: (upper * lower, 0 * upper),
    "Atop": lambda upper, lower: (upper * lower, lower * (1 - upper)),
    "Xor": lambda upper, lower: (upper * (1 - lower), lower * (1 - upper)),
}
_PLANES = {"CopyRed": 0, "CopyGreen": 1, "CopyBlue": 2, "CopyOpacity": 3}


def magick_compose(out: Out, picture: Tensor, other: Tensor, operation: str, left: float, top: float) -> None:
    """Composes ``other`` onto a picture at a column and a row, by one of GraphicsMagick's operations."""
    pixels, added = array_of(picture).copy(), array_of(other)
    left, top = int(left), int(top)
    first_row, first_column = max(0, -top), max(0, -left)
    rows = min(added.shape[0], pixels.shape[0] - top) - first_row
    columns = min(added.shape[1], pixels.shape[1] - left) - first_column
    if operation not in (*_SHARES, *_PLANES, "Copy"):
        raise ValueError(
            f"graphicsmagick: no operation {operation} to compose by; there are "
            f"{', '.join([*_SHARES, 'Copy', *_PLANES])}"
        )
    if rows > 0 and columns > 0:
        place = np.s_[
            top + first_row : top + first_row + rows, left + first_column : left + first_column + columns
        ]
        below = pixels[place]
        above = added[first_row : first_row + rows, first_column : first_column + columns]
        if operation == "Copy":
            pixels[place] = above
        elif operation in _PLANES:
            plane = _PLANES[operation]
            below[..., plane] = above[..., plane]
        else:
            covers = above[..., 3:] / MOST, below[..., 3:] / MOST
            share, rest = _SHARES[operation](*covers)
            whole = share + rest
            colors = (share * above[..., :3] + rest * below[..., :3]) / np.where(whole == 0, 1.0, whole)
            pixels[place] = rounded(np.concatenate([colors, whole * MOST], -1))
    give(out, pixels)


def magick_affine(out: Out, picture: Tensor, matrix: Tensor, background: Tensor) -> None:
    """Transforms a picture: (x, y) maps to (sx x + ry y, rx x + sy y), with bilinear interpolation.

    ``matrix``: sx, rx, ry, sy; uncovered pixels get ``background`` (4 values). The result is as large as the
    corners need, so that a translation would change nothing.
    """
    sx, rx, ry, sy = array_of(matrix).tolist()
    forward = np.array([[sx, ry], [rx, sy]])
    if abs(np.linalg.det(forward)) < 1e-9:
        raise ValueError("graphicsmagick: an affine transform that has no inverse")
    corners = _corners(picture, forward)
    low = np.floor(corners.min(1) + 1e-6)
    _transform(out, picture, forward, low, np.ceil(corners.max(1) - 1e-6) - low, background)


def magick_rotate(out: Out, picture: Tensor, angle: float, background: Tensor) -> None:
    """Turns a picture clockwise about its center, by ``angle`` in radians, with bilinear interpolation.

    Uncovered pixels get ``background`` (4 values). The result has the rounded size of the turned picture.
    """
    forward = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = _corners(picture, forward)
    size = np.floor(corners.max(1) - corners.min(1) + 0.5)
    _transform(out, picture, forward, (corners.max(1) + corners.min(1) - size) / 2, size, background)


def _corners(picture: Tensor, forward: Any) -> Any:
    """Returns the mapped corners: x in the first row, y in the second."""
    height, width = picture.shape[:2]
    return forward @ np.array([[0, width, 0, width], [0, 0, height, height]], float)


def _transform(out: Out, picture: Tensor, forward: Any, low: Any, size: Any, background: Tensor) -> None:
    """Writes the picture mapped by ``forward`` to ``out``, from the point ``low`` on, in ``size``."""
    pixels = array_of(picture)
    height, width = pixels.shape[:2]
    new_width, new_height = size.astype(int)
    if new_width * new_height > 1 << 28:
        raise ValueError("graphicsmagick: an affine transform that makes a picture too large")
    places = np.stack(np.meshgrid(np.arange(new_width), np.arange(new_height)), -1) + 0.5 + low
    source = places @ np.linalg.inv(forward).T - 0.5
    inside = (source > -0.5).all(-1) & (source[..., 0] < width - 0.5) & (source[..., 1] < height - 0.5)
    x = np.clip(source[..., 0], 0, width - 1)
    y = np.clip(source[..., 1], 0, height - 1)
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    x1, y1 = np.minimum(x0 + 1, width - 1), np.minimum(y0 + 1, height - 1)
    right, down = (x - x0)[..., None], (y - y0)[..., None]
    upper = pixels[y0, x0] * (1 - right) + pixels[y0, x1] * right
    lower = pixels[y1, x0] * (1 - right) + pixels[y1, x1] * right
    values = rounded(upper * (1 - down) + lower * down)
    give(out, np.where(inside[..., None], values, array_of(background)))

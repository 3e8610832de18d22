"""Geometry of images as in Torch7's package image: rotating, warping, polar coordinates.

An image is height x width or channels x height x width. Positions are computed in float32 and pixels in
the element type, or in float32 for whole numbers, as Torch7's C code does it; only where that code sends
pixels of a DoubleTensor through a float, they keep their precision here.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from lua_compat.kernels.arrays import array_of

__all__ = [
    "image_polar", "image_rotate", "image_rotate_bilinear", "image_warp",
]  # fmt: skip
SANDBOXED = __all__

_f32 = np.float32


def pixels_of(t: Tensor) -> np.ndarray:
    """Returns a copy of a tensor, channels first, in the type in which pixels are computed."""
    working = torch.float64 if t.dtype == torch.float64 else torch.float32
    array = np.array(array_of(t.detach().to(working)), order="C")
    return array if array.ndim == 3 else array[None]


def store_pixels(out: Tensor, pixels: np.ndarray) -> None:
    """Stores pixels: bytes are rounded and clamped to 0 to 255, other integers truncated."""
    if out.dtype == torch.uint8:
        pixels = np.clip(pixels.astype(_f32) + _f32(0.5), 0, 255)
        pixels = pixels.astype(np.uint8)
    out.copy_(torch.from_numpy(np.ascontiguousarray(pixels)).reshape(out.shape))


def _check_depth(out: Tensor, src: Tensor, what: str) -> None:
    if src.dim() not in (2, 3) or out.dim() != src.dim() or (src.dim() == 3 and out.shape[0] != src.shape[0]):
        raise ValueError(f"image.{what}: src and dst depths do not match")


# Results are made in pieces of whole rows that fit the processor's cache, without large temporaries.

_PIECE = 1 << 18  # pixels


def _pieces(rows: int, pixels_per_row: int) -> Iterator[slice]:
    """Splits the rows into consecutive ranges."""
    height = max(1, _PIECE // max(pixels_per_row, 1))
    for first in range(0, rows, height):
        yield slice(first, min(first + height, rows))


def _channels_of(out: Tensor) -> Tensor:
    return out if out.dim() == 3 else out[None]


# Pixels at computed positions


def _cubic_between(
    p0: np.ndarray, p1: np.ndarray, p2: np.ndarray, p3: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Returns the Catmull-Rom spline between p1 (x = 0) and p2 (x = 1). Its last steps are in double
    precision, as in Torch7.
    """
    a2 = 2 * p0 - 5 * p1 + 4 * p2 - p3
    a3 = 3 * (p1 - p2) + p3 - p0
    inner = (p2 - p0) + x * (a2 + x * a3)
    result: np.ndarray = p1 + 0.5 * x.astype(np.float64) * inner
    return result.astype(p1.dtype, copy=False)


def _inside(row: np.ndarray, column: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    _, height, width = pixels.shape
    return (row >= 0) & (row < height) & (column >= 0) & (column < width)


def _take(pixels: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """pixels[:, row, column], 0 outside of the image."""
    inside = _inside(row, column, pixels)
    taken = _pick(pixels, np.where(inside, row, 0), np.where(inside, column, 0))
    taken *= inside
    return taken


def _pick(pixels: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """pixels[:, row, column]; PyTorch gathers faster."""
    channels, _, width = pixels.shape
    places = torch.from_numpy((row * width + column).reshape(-1))
    picked = torch.from_numpy(pixels.reshape(channels, -1)).index_select(1, places)
    return picked.numpy().reshape(channels, *row.shape)


def _mix(
    pixels: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray],
    columns: tuple[np.ndarray, np.ndarray],
    wj: np.ndarray,
    wi: np.ndarray,
) -> np.ndarray:
    """Interpolates between the four pixels at rows x columns; wj, wi: weights of the second row and column.
    Computes in double precision, as Torch7 does, except for the last product."""
    last = wi * wj * _take(pixels, rows[1], columns[1])
    wj, wi = wj.astype(np.float64), wi.astype(np.float64)
    return (
        (1 - wi) * (1 - wj) * _take(pixels, rows[0], columns[0])
        + wi * (1 - wj) * _take(pixels, rows[0], columns[1])
        + (1 - wi) * wj * _take(pixels, rows[1], columns[0])
        + last
    )


def _fill(out: Tensor, pixels_at: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    """Computes all pixels from their rows and columns, which are float32."""
    to = _channels_of(out)
    _, height, width = to.shape
    for where in _pieces(height, len(to) * width):
        rows, columns = np.indices((where.stop - where.start, width), dtype=_f32)
        store_pixels(to[:, where], pixels_at(rows + _f32(where.start), columns))


def image_rotate(out: Tensor, src: Tensor, theta: float) -> None:
    """Rotates by theta radians around the middle; takes the nearest pixel, 0 from outside."""
    _check_depth(out, src, "rotate")
    pixels = pixels_of(src)
    yc, xc = _f32((src.shape[-2] - 1) / 2), _f32((src.shape[-1] - 1) / 2)
    angle = float(_f32(theta))
    sine, cosine = _f32(np.sin(angle)), _f32(np.cos(angle))

    def nearest(position: np.ndarray) -> np.ndarray:
        # rounds halves away from zero
        return (np.sign(position) * np.floor(np.abs(position.astype(np.float64)) + 0.5)).astype(np.int64)

    def pixels_at(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        x = cosine * (column - xc) - sine * (row - yc) + xc
        y = cosine * (row - yc) + sine * (column - xc) + yc
        return _take(pixels, nearest(y), nearest(x))

    _fill(out, pixels_at)


def image_rotate_bilinear(out: Tensor, src: Tensor, theta: float) -> None:
    """Rotates by theta radians around the middle, interpolating. Up to half a pixel beyond the border the
    nearest pixel counts, further out 0."""
    _check_depth(out, src, "rotate")
    pixels = pixels_of(src)
    real = pixels.dtype
    height, width = src.shape[-2:]
    yc, xc = _f32((height - 1) / 2), _f32((width - 1) / 2)
    angle = float(_f32(theta))

    def ends(position: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first = np.floor(position).astype(np.int64)
        weight = position - first.astype(real)
        second = first + 1
        second = np.where((second == size) & (weight < 0.5), first, second)
        first = np.where((first == -1) & (weight > 0.5), second, first)
        return first, second, weight

    def pixels_at(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        across, down = (column - xc).astype(np.float64), (row - yc).astype(np.float64)
        x = (np.cos(angle) * across - np.sin(angle) * down).astype(real) + xc.astype(real)
        y = (np.cos(angle) * down + np.sin(angle) * across).astype(real) + yc.astype(real)
        x0, x1, wi = ends(x, width)
        y0, y1, wj = ends(y, height)
        inside = (x0 >= 0) & (y0 >= 0) & (x1 < width) & (y1 < height)
        return np.where(inside, _mix(pixels, (y0, y1), (x0, x1), wj, wi), 0)

    _fill(out, pixels_at)


def image_polar(out: Tensor, src: Tensor, logarithmic: bool, full: bool, bilinear: bool) -> None:
    """Maps to polar coordinates: rows of ``out`` are angles, columns distances from the middle or their
    logarithms, up to the nearer border, or (``full``) up to the corners. Pixels outside the image are 0."""
    _check_depth(out, src, "polar")
    pixels = pixels_of(src)
    height, width = src.shape[-2:]
    mid_y, mid_x = _f32(height / 2), _f32(width / 2)
    if full:
        farthest = _f32(np.sqrt(_f32(width) * _f32(width) + _f32(height) * _f32(height)) / 2)
    else:
        farthest = mid_x if width < height else mid_y

    def pixels_at(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        angle = (2 * np.pi * row.astype(np.float64) / out.shape[-2]).astype(_f32).astype(np.float64)
        if logarithmic:
            factor = _f32(np.log(float(farthest)) / out.shape[-1])
            distance = np.exp((column * factor).astype(np.float64)).astype(_f32)
        else:
            distance = farthest * column / _f32(out.shape[-1])
        y = distance * np.cos(angle) + mid_y
        x = -distance * np.sin(angle) + mid_x
        if not bilinear:
            return _take(pixels, np.floor(y).astype(np.int64), np.floor(x).astype(np.int64))
        precision = _f32 if logarithmic else pixels.dtype
        y, x = y.astype(precision), x.astype(precision)
        y0, x0 = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
        whole = _inside(y0, x0, pixels) & _inside(y0 + 1, x0 + 1, pixels)
        mixed = _mix(pixels, (y0, y0 + 1), (x0, x0 + 1), y - y0.astype(precision), x - x0.astype(precision))
        return np.where(whole, mixed, _take(pixels, y0, x0))

    _fill(out, pixels_at)


# Warping

_LANCZOS = 3  # pixels to each side


def _lanczos_weights(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the 2 * _LANCZOS pixels around each position, and their weights."""
    offsets = np.arange(1 - _LANCZOS, _LANCZOS + 1)
    places = np.floor(position).astype(np.int64)[None] + offsets.reshape(-1, *[1] * position.ndim)
    away = np.abs(position[None] - places.astype(_f32))
    near = away < _f32(1e-6)
    d = np.where(near, _f32(1), away)
    pi = _f32(np.pi)
    numerator = _LANCZOS * np.sin((pi * d).astype(np.float64))
    numerator = numerator * np.sin((pi * d / _f32(_LANCZOS)).astype(np.float64))
    weights = (numerator / (_f32(np.pi**2) * d * d)).astype(_f32)
    weights = np.where(near, _f32(1), np.where(away > _LANCZOS, _f32(0), weights))
    return places, weights


def _warp_lanczos(pixels: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    _, height, width = pixels.shape
    (rows, lv), (columns, lu) = _lanczos_weights(y), _lanczos_weights(x)
    result = np.zeros((pixels.shape[0], *y.shape), pixels.dtype)
    total = np.zeros(y.shape, _f32)
    for u in range(2 * _LANCZOS):
        column = np.clip(columns[u], 0, width - 1)
        for v in range(2 * _LANCZOS):
            weight = lu[u] * lv[v]
            total += weight
            result += _pick(pixels, np.clip(rows[v], 0, height - 1), column) * weight.astype(pixels.dtype)
    return result / total.astype(pixels.dtype)


def _warp_bicubic(pixels: np.ndarray, y: np.ndarray, x: np.ndarray, pad: float) -> np.ndarray:
    y0, x0 = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    dy, dx = (y - y0.astype(_f32)).astype(pixels.dtype), (x - x0.astype(_f32)).astype(pixels.dtype)

    def pixel(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        return np.where(_inside(row, column, pixels), _take(pixels, row, column), pixels.dtype.type(pad))

    rows = []
    for v in range(-1, 3):
        p = [pixel(y0 + v, x0 + u) for u in range(-1, 3)]
        rows.append(_cubic_between(p[0], p[1], p[2], p[3], dx))
    return _cubic_between(rows[0], rows[1], rows[2], rows[3], dy)


def _warp_bilinear(pixels: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    _, height, width = pixels.shape
    y0, x0 = np.floor(y), np.floor(x)
    below, right = y0 + 1 - y, x0 + 1 - x
    row, column = y0.astype(np.int64), x0.astype(np.int64)
    next_row, next_column = np.minimum(row + 1, height - 1), np.minimum(column + 1, width - 1)
    real = pixels.dtype
    return (
        _pick(pixels, row, column) * (right * below).astype(real)
        + _pick(pixels, row, next_column) * ((x - x0) * below).astype(real)
        + _pick(pixels, next_row, column) * (right * (y - y0)).astype(real)
        + _pick(pixels, next_row, next_column) * ((x - x0) * (y - y0)).astype(real)
    )


def image_warp(
    out: Tensor, src: Tensor, field: Tensor, mode: str, offset: bool, pad_outside: bool, pad: float
) -> None:
    """Fills each pixel of ``out`` from the position (y, x) = ``field`` (2 x height x width) in src, or
    (``offset``) that far from its own. ``mode``: simple, bilinear, bicubic or lanczos. Positions outside of
    src are moved to its border, or (``pad_outside``) give the value ``pad``."""
    pixels = pixels_of(src)
    pad = torch.tensor(pad, dtype=torch.float64).to(src.dtype).item()
    _, height, width = pixels.shape
    flow = field.detach().to(torch.float32, copy=True).numpy()

    def pixels_at(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        down, across = flow[:, int(row[0, 0]) : int(row[-1, 0]) + 1]
        y, x = (row + down, column + across) if offset else (down, across)
        outside = (y < 0) | (y > height - 1) | (x < 0) | (x > width - 1)
        y, x = np.clip(y, 0, height - 1).astype(_f32), np.clip(x, 0, width - 1).astype(_f32)
        if mode == "simple":
            nearest = [np.floor(p.astype(np.float64) + 0.5).astype(np.int64) for p in (y, x)]
            result = _pick(pixels, nearest[0], nearest[1])
        elif mode == "bilinear":
            result = _warp_bilinear(pixels, y, x)
        elif mode == "bicubic":
            result = _warp_bicubic(pixels, y, x, pad)
        else:
            result = _warp_lanczos(pixels, y, x)
        return np.where(outside, result.dtype.type(pad), result) if pad_outside else result

    _fill(out, pixels_at)

"""Color spaces of Torch7's package image: channels x height x width, values from 0 to 1, or bytes.

Sources of the formulas: en.wikipedia.org/wiki/HSL_and_HSV; brucelindbloom.com (sRGB, XYZ and CIE Lab with
the white D65).
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from lua_compat.kernels.image.geometry import pixels_of, store_pixels

__all__ = [
    "image_gaussian", "image_hsl_to_rgb", "image_hsv_to_rgb", "image_lab_to_rgb", "image_rgb_to_hsl",
    "image_rgb_to_hsv", "image_rgb_to_lab",
]  # fmt: skip
SANDBOXED = __all__


def _convert(out: Tensor, image: Tensor, formula: Callable[..., tuple[np.ndarray, ...]]) -> None:
    """Applies a formula of three channels to values from 0 to 1."""
    bytes_ = image.dtype == torch.uint8
    channels = pixels_of(image)
    if bytes_:
        channels = channels / np.float32(255)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.stack(formula(*channels))
    store_pixels(out, result * np.float32(255) if bytes_ else result.astype(channels.dtype))


def _hue(r: np.ndarray, g: np.ndarray, b: np.ndarray, largest: np.ndarray, range_: np.ndarray) -> np.ndarray:
    """Returns a sixth of the circle for each of red, yellow, green... ; 0 for grey."""
    red = (g - b) / range_ + np.where(g < b, 6, 0).astype(r.dtype)
    hue = np.where(largest == r, red, np.where(largest == g, (b - r) / range_ + 2, (r - g) / range_ + 4))
    return np.where(range_ == 0, 0, hue / 6)


def _rgb_to_hsl(r: np.ndarray, g: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    largest, smallest = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    range_ = largest - smallest
    light = np.where(range_ == 0, largest, (largest + smallest) / 2)
    chroma = np.where(light > 0.5, range_ / (2 - largest - smallest), range_ / (largest + smallest))
    return _hue(r, g, b, largest, range_), np.where(range_ == 0, 0, chroma), light


def _rgb_to_hsv(r: np.ndarray, g: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    largest, smallest = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    range_ = largest - smallest
    return _hue(r, g, b, largest, range_), np.where(range_ == 0, 0, range_ / largest), largest


def _hsl_to_rgb(h: np.ndarray, s: np.ndarray, light: np.ndarray) -> tuple[np.ndarray, ...]:
    q = np.where(light < 0.5, light * (1 + s), light + s - light * s)
    p = 2 * light - q
    hue, range_ = h.astype(np.float64), (q - p).astype(np.float64)

    def channel(turned: np.ndarray) -> np.ndarray:
        """Thirds and sixths are computed in double precision; the hue is rounded."""
        t = turned.astype(h.dtype)
        t = np.where(t < 0, t + 1, t)
        t = np.where(t > 1, t - 1, t).astype(np.float64)
        rising, falling = p + range_ * 6 * t, p + range_ * (2 / 3 - t) * 6
        value = np.where(t < 1 / 6, rising, np.where(t < 1 / 2, q, np.where(t < 2 / 3, falling, p)))
        return np.where(s == 0, light, value)

    return channel(hue + 1 / 3), channel(hue), channel(hue - 1 / 3)


def _hsv_to_rgb(h: np.ndarray, s: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    sector = np.floor(h.astype(np.float64) * 6).astype(np.int64)
    f = h * 6 - sector.astype(h.dtype)
    p, q, t = v * (1 - s), v * (1 - f * s), v * (1 - (1 - f) * s)
    sixth = np.fmod(sector, 6)

    def choose(*values: np.ndarray) -> np.ndarray:
        return np.select([sixth == i for i in range(6)], values, 0)

    return choose(v, q, p, p, t, v), choose(t, v, v, q, p, p), choose(p, p, t, v, v, q)


_EPSILON, _KAPPA = 216 / 24389, 24389 / 27
_WHITE_X, _WHITE_Z = 0.950456, 1.088754
_RGB_TO_XYZ = ((0.412453, 0.357580, 0.180423), (0.212671, 0.715160, 0.072169), (0.019334, 0.119193, 0.950227))
_XYZ_TO_RGB = (
    (3.2404542, -1.5371385, -0.4985314),
    (-0.9692660, 1.8760108, 0.0415560),
    (0.0556434, -0.2040259, 1.0572252),
)


def _apply(
    matrix: tuple[tuple[float, ...], ...], a: np.ndarray, b: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, ...]:
    return tuple(row[0] * a + row[1] * b + row[2] * c for row in matrix)


def _rgb_to_lab(r: np.ndarray, g: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    def linear(value: np.ndarray) -> np.ndarray:
        wide = value.astype(np.float64)
        expanded = np.where(value <= 0.04045, wide / 12.92, ((wide + 0.055) / 1.055) ** 2.4)
        return expanded.astype(value.dtype).astype(np.float64)

    x, y, z = _apply(_RGB_TO_XYZ, linear(r), linear(g), linear(b))

    def root(value: np.ndarray) -> np.ndarray:
        return np.where(value > _EPSILON, np.cbrt(value), (_KAPPA * value + 16) / 116)

    fx, fy, fz = root(x / _WHITE_X), root(y), root(z / _WHITE_Z)
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def _lab_to_rgb(light: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    real = light.dtype
    fy = ((light + 16) / 116).astype(np.float64)  # double precision from here on
    fx, fz = a / 500 + fy, fy - b / 200
    light = light.astype(np.float64)

    def cube(f: np.ndarray) -> np.ndarray:
        return np.where(f**3 <= _EPSILON, (116 * f - 16) / _KAPPA, f**3)

    y = np.where(light > _KAPPA * _EPSILON, fy**3, light / _KAPPA)

    def compressed(value: np.ndarray) -> np.ndarray:
        wide = value.astype(real).astype(np.float64)
        bright = 1.055 * np.maximum(wide, 0) ** (1 / 2.4) - 0.055
        return np.where(wide <= 0.0031308, 12.92 * wide, bright)

    channels = _apply(_XYZ_TO_RGB, cube(fx) * _WHITE_X, y, cube(fz) * _WHITE_Z)
    return tuple(compressed(channel) for channel in channels)


def image_rgb_to_hsl(out: Tensor, image: Tensor) -> None:
    _convert(out, image, _rgb_to_hsl)


def image_rgb_to_hsv(out: Tensor, image: Tensor) -> None:
    _convert(out, image, _rgb_to_hsv)


def image_hsl_to_rgb(out: Tensor, image: Tensor) -> None:
    _convert(out, image, _hsl_to_rgb)


def image_hsv_to_rgb(out: Tensor, image: Tensor) -> None:
    _convert(out, image, _hsv_to_rgb)


def image_rgb_to_lab(out: Tensor, image: Tensor) -> None:
    """Converts sRGB to CIE Lab; not for bytes."""
    if image.dtype == torch.uint8:
        raise ValueError("image.rgb2lab: not supported for torch.ByteTensor")
    _convert(out, image, _rgb_to_lab)


def image_lab_to_rgb(out: Tensor, image: Tensor) -> None:
    """Converts CIE Lab to sRGB; not for bytes."""
    if image.dtype == torch.uint8:
        raise ValueError("image.lab2rgb: not supported for torch.ByteTensor")
    _convert(out, image, _lab_to_rgb)


def image_gaussian(
    out: Tensor,
    amplitude: float,
    normalize: bool,
    sigma_x: float,
    sigma_y: float,
    mean_x: float,
    mean_y: float,
) -> None:
    """Draws a Gaussian, height x width; sigmas and means are fractions of the width and the height."""
    real = pixels_of(out).dtype.type
    height, width = out.shape

    def distance(n: int, sigma: float, mean: float) -> np.ndarray:
        centre = real(real(mean) * n + 0.5)
        away = (np.arange(1, n + 1, dtype=real) - centre) * real(1 / float(real(sigma) * real(n)))
        return np.asarray(away, real)

    du, dv = distance(width, sigma_x, mean_x)[None], distance(height, sigma_y, mean_y)[:, None]
    store_pixels(out, (real(amplitude) * np.exp(-0.5 * (du * du + dv * dv).astype(np.float64))).astype(real))
    if normalize:
        out.copy_(out.to(torch.float64) / out.to(torch.float64).sum())

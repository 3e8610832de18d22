"""Color spaces, as GraphicsMagick stores them in the red, green and blue planes."""

import numpy as np
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.packages.magick.quanta import MOST, give, rounded
from lua_compat.kernels.results import Out

__all__ = ["magick_space"]
SANDBOXED = __all__

_LUMA_601 = (0.299, 0.587, 0.114)
_LUMA_709 = (0.2126, 0.7152, 0.0722)
_YCBCR_601 = (_LUMA_601, (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312))
_YUV = (_LUMA_601, (-0.14740, -0.28950, 0.43690), (0.61500, -0.51500, -0.10000))
# Three rows of weights of red, green and blue; whether an offset is added to the last two.
_MATRICES: dict[str, tuple[tuple[tuple[float, float, float], ...], bool]] = {
    "OHTA": (((0.33333, 0.33334, 0.33333), (0.5, 0.0, -0.5), (-0.25, 0.5, -0.25)), True),
    "XYZ": (
        ((0.412453, 0.357580, 0.180423), (0.212671, 0.715160, 0.072169), (0.019334, 0.119193, 0.950227)),
        False,
    ),
    "YIQ": ((_LUMA_601, (0.596, -0.274, -0.322), (0.211, -0.523, 0.312)), True),
    "YPbPr": (_YCBCR_601, True),
    "Rec601YCbCr": (_YCBCR_601, True),
    "Rec709YCbCr": ((_LUMA_709, (-0.114572, -0.385428, 0.5), (0.5, -0.454153, -0.045847)), True),
    "YUV": (_YUV, True),
    "LAB": (_YUV, True),  # as in the library, which has no Lab
    "GRAY": ((_LUMA_601,) * 3, False),
    "Rec601Luma": ((_LUMA_601,) * 3, False),
    "Rec709Luma": ((_LUMA_709,) * 3, False),
}
_GREY = ("GRAY", "Rec601Luma", "Rec709Luma")
_MIDDLE = 32768.0


def _hue(colors: np.ndarray) -> np.ndarray:
    """Returns the hue from 0 to 1: six parts from red through yellow, green, cyan, blue and magenta."""
    red, green, blue = np.moveaxis(colors, -1, 0)
    most, least = colors.max(-1), colors.min(-1)
    span = np.where(most == least, 1.0, most - least)
    hue = np.where(
        most == red,
        (green - blue) / span,
        np.where(most == green, 2 + (blue - red) / span, 4 + (red - green) / span),
    )
    return np.where(most == least, 0.0, (hue / 6) % 1.0)


def _of_hue(hue: np.ndarray, most: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Returns the colors of a hue, from their minimum to their maximum."""

    def wave(shift: float) -> np.ndarray:
        return np.clip(np.abs((hue * 6 + shift) % 6 - 3) - 1, 0, 1)

    parts = np.stack([wave(0), wave(4), wave(2)], -1)
    return least[..., None] + parts * (most - least)[..., None]


def _to_hsl(colors: np.ndarray) -> np.ndarray:
    most, least = colors.max(-1), colors.min(-1)
    light = (most + least) / 2
    span = most - least
    among = np.where(light <= 0.5, most + least, 2 - most - least)
    return np.stack(
        [_hue(colors), np.where(span == 0, 0.0, span / np.where(among == 0, 1, among)), light], -1
    )


def _from_hsl(planes: np.ndarray) -> np.ndarray:
    hue, saturation, light = np.moveaxis(planes, -1, 0)
    most = np.where(light <= 0.5, light * (1 + saturation), light + saturation - light * saturation)
    return _of_hue(hue, most, 2 * light - most)


def _to_hwb(colors: np.ndarray) -> np.ndarray:
    return np.stack([_hue(colors), colors.min(-1), 1 - colors.max(-1)], -1)


def _from_hwb(planes: np.ndarray) -> np.ndarray:
    hue, white, black = np.moveaxis(planes, -1, 0)
    return _of_hue(hue, 1 - black, white)


_CHANGES = {"HSL": (_to_hsl, _from_hsl), "HWB": (_to_hwb, _from_hwb)}


def _from_rgb(colors: np.ndarray, space: str) -> np.ndarray:
    if space in _CHANGES:
        return _CHANGES[space][0](colors / MOST) * MOST
    rows, centered = _MATRICES[space]
    return colors @ np.array(rows).T + (np.array([0, _MIDDLE, _MIDDLE]) if centered else 0)


def _to_rgb(planes: np.ndarray, space: str) -> np.ndarray:
    if space in _CHANGES:
        return _CHANGES[space][1](planes / MOST) * MOST
    if space in _GREY:
        return planes
    rows, centered = _MATRICES[space]
    return (planes - (np.array([0, _MIDDLE, _MIDDLE]) if centered else 0)) @ np.linalg.inv(np.array(rows)).T


def _to_cmyk(pixels: np.ndarray) -> np.ndarray:
    """Returns cyan, magenta, yellow and, in the alpha plane, their common part as black, which the library
    does not subtract from them."""
    inks = MOST - pixels[..., :3]
    return np.concatenate([inks, inks.min(-1, keepdims=True)], -1)


def _from_cmyk(pixels: np.ndarray) -> np.ndarray:
    colors = (MOST - pixels[..., :3]) * (MOST - pixels[..., 3:]) / MOST
    return np.concatenate([colors, np.full_like(pixels[..., 3:], MOST)], -1)


def magick_space(out: Out, picture: Tensor, before: str, after: str) -> None:
    """Converts a picture between color spaces, by way of RGB."""
    pixels = array_of(picture).copy()
    for name in (before, after):
        if name not in ("RGB", "sRGB", "Transparent", "CMYK", *_CHANGES, *_MATRICES):
            raise ValueError(
                f"graphicsmagick: no color space {name}; there are RGB, CMYK, "
                f"{', '.join([*_CHANGES, *_MATRICES])}"
            )
    if before == "CMYK":
        pixels = rounded(_from_cmyk(pixels))
    elif before in _CHANGES or before in _MATRICES:
        pixels[..., :3] = rounded(_to_rgb(pixels[..., :3], before))
    if after == "CMYK":
        pixels = rounded(_to_cmyk(pixels))
    elif after in _CHANGES or after in _MATRICES:
        pixels[..., :3] = rounded(_from_rgb(pixels[..., :3], after))
    give(out, pixels)

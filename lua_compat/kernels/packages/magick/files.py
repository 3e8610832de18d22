"""Picture files for the Lua package graphicsmagick, by Pillow except for 16-bit PNGs."""

import io
import struct
import zlib
from typing import Any

import numpy as np
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.image.pictures import Picture, pillow, png_16_bits, reading
from lua_compat.kernels.packages.extras import extra
from lua_compat.kernels.packages.magick.quanta import MOST, give
from lua_compat.kernels.results import Out
from lua_compat.kernels.strings import from_lua, to_lua

__all__ = ["magick_encode", "magick_exif", "magick_profile_change", "magick_read"]

_PNG = b"\x89PNG\r\n\x1a\n"
# Other names of Pillow's formats
_NAMES = {
    "JPG": "JPEG",
    "TIF": "TIFF",
    "PNM": "PPM",
    "PGM": "PPM",
    "PNG24": "PNG",
    "PNG32": "PNG",
    "PNG8": "PNG",
}
_SUBSAMPLING = {(1, 1): 0, (2, 1): 1, (2, 2): 2}


def _bytes_at(source: str, is_path: bool) -> bytes:
    if not is_path:
        return source.encode("latin-1")
    with open(from_lua(source), "rb") as file:
        return file.read()


def _pixels(picture: Any) -> np.ndarray:
    """Returns height x width x 4 from 0 to 65535 of a picture that Pillow has read."""
    if picture.mode.startswith("I") or picture.mode == "F":
        grey = np.clip(np.asarray(picture, np.float64), 0, MOST)
        return np.stack([grey] * 3 + [np.full_like(grey, MOST)], -1)
    if picture.mode == "CMYK":
        inks = np.asarray(picture, np.float64)
        return inks * 257
    return np.asarray(picture.convert("RGBA"), np.float64) * 257


def _wide(picture: Picture) -> np.ndarray:
    """Returns height x width x 4 from a picture of 16 bits: grey or three colors, with alpha or without."""
    values = np.frombuffer(picture.pixels, np.uint16).astype(np.float64)
    values = values.reshape(picture.height, picture.width, picture.channels)
    alpha = values[..., -1:] if values.shape[-1] in (2, 4) else np.full_like(values[..., :1], MOST)
    colors = values[..., :3] if values.shape[-1] > 2 else np.repeat(values[..., :1], 3, -1)
    return np.concatenate([colors, alpha], -1)


def magick_read(out: Out, source: str, is_path: bool, columns: float, rows: float) -> str:
    """Reads a picture from a file or its bytes. ``columns`` x ``rows``: a JPEG may be reduced to these (0:
    not).

    Returns a line of words: the format; whether it has alpha, a palette, CMYK planes (1 or 0); its bits; its
    gamma (0: not stated); the lengths of its color profile, EXIF and IPTC data, which follow.
    """
    data = _bytes_at(source, is_path)
    image = pillow()
    what = f"magick.Image: error loading image: {source if is_path else 'the bytes given'}"
    with reading(what), image.open(io.BytesIO(data)) as picture:
        if columns and picture.format == "JPEG":
            picture.draft(None, (int(columns), int(rows or columns)))
        wide = png_16_bits(data) if data.startswith(_PNG) else None
        pixels = _wide(wide) if wide else _pixels(picture)
        info, mode, kind = picture.info, picture.mode, picture.format
        photoshop = info.get("photoshop")
        iptc = photoshop.get(0x0404, b"") if isinstance(photoshop, dict) else b""
    give(out, pixels)
    alpha = bool(mode in ("RGBA", "LA", "PA") or "transparency" in info)
    bits = 16 if wide or mode.startswith("I") else 8
    profiles = [bytes(part) for part in (info.get("icc_profile") or b"", info.get("exif") or b"", iptc)]
    said = (
        kind or "XC",
        int(alpha),
        int(mode == "P"),
        int(mode == "CMYK"),
        bits,
        float(np.float32(info.get("gamma") or 0)),  # in single precision
    )
    words = " ".join(map(str, (*said, *map(len, profiles))))
    return f"{words}\n{b''.join(profiles).decode('latin-1')}"


def _chunk(name: bytes, data: bytes) -> bytes:
    body = name + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def _png(planes: np.ndarray, wide: bool, gamma: float, icc: bytes) -> bytes:
    """Returns a PNG (W3C's specification, sections 5 and 11) of 1 to 4 planes of values from 0 to 65535."""
    height, width, count = planes.shape
    color = {1: 0, 2: 4, 3: 2, 4: 6}[count]
    values = planes.astype(">u2") if wide else _eight(planes)
    rows = b"".join(b"\0" + row.tobytes() for row in values)
    chunks = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16 if wide else 8, color, 0, 0, 0))]
    if gamma:
        chunks.append(_chunk(b"gAMA", struct.pack(">I", round(gamma * 100000))))
    if icc:
        chunks.append(_chunk(b"iCCP", b"icm\0\0" + zlib.compress(icc)))
    return b"".join([_PNG, *chunks, _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b"")])


def _eight(planes: np.ndarray) -> np.ndarray:
    """Returns the high bytes. The library keeps alpha, the last of 2 or 4 planes, inverted."""
    bytes_of = (planes // 257).astype(np.uint8)
    if planes.shape[-1] in (2, 4):
        bytes_of[..., -1] = -(-planes[..., -1] // 257)
    return bytes_of


def magick_encode(
    picture: Tensor, kind: str, quality: float, bits: float, gray: bool, alpha: bool, cmyk: bool,
    gamma: float, across: float, down: float, progressive: bool, icc: str, exif: str,
) -> str:  # fmt: skip
    """Returns the bytes of a file. ``across``, ``down``: pixels for each of a JPEG's colors (0: 2)."""
    pixels = array_of(picture)
    kind = _NAMES.get(kind.upper(), kind.upper())
    planes = pixels[..., [0, 3] if gray and alpha else [0] if gray else [0, 1, 2, 3] if alpha else [0, 1, 2]]
    profile = icc.encode("latin-1")
    if kind == "PNG":
        return _png(planes, bits > 8, gamma, profile).decode("latin-1")
    image = pillow()
    image.init()
    if kind not in image.SAVE:
        raise ValueError(to_lua(f"graphicsmagick: pictures cannot be written as {kind}"))
    settings: dict[str, Any] = {}
    if profile:
        settings["icc_profile"] = profile
    if exif:
        settings["exif"] = exif.encode("latin-1")
    if kind == "JPEG":
        settings |= {"quality": int(quality), "optimize": True, "progressive": progressive}
        settings["subsampling"] = _SUBSAMPLING.get((int(across), int(down)), 2)
    elif kind == "WEBP":
        settings["quality"] = int(quality)
    if cmyk and kind in ("JPEG", "TIFF"):
        made = image.fromarray(_eight(pixels), "CMYK")
    else:
        values = _eight(planes if kind != "JPEG" else planes[..., :1] if gray else planes[..., :3])
        made = image.fromarray(np.ascontiguousarray(values[..., 0] if values.shape[-1] == 1 else values),
                               {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[values.shape[-1]])  # fmt: skip
    written = io.BytesIO()
    try:
        made.save(written, kind, **settings)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(to_lua(f"magick.Image: error saving image: {kind}: {error}")) from None
    return written.getvalue().decode("latin-1")


def magick_profile_change(out: Out, picture: Tensor, before: str, after: str) -> None:
    """Changes a picture's colors from one ICC profile to another, by LittleCMS."""
    cms = extra("PIL.ImageCms", "graphicsmagick", "pillow")
    pixels = array_of(picture)
    image = pillow()
    profiles = [cms.ImageCmsProfile(io.BytesIO(text.encode("latin-1"))) for text in (before, after)]
    colors = image.fromarray(_eight(pixels[..., :3]), "RGB")
    try:
        changed = cms.profileToProfile(colors, *profiles, outputMode="RGB")
    except cms.PyCMSError as error:
        raise ValueError(f"magick.Image: error profile image: {error}") from None
    result = np.concatenate([np.asarray(changed, np.float64) * 257, pixels[..., 3:]], -1)
    give(out, result)


def _said(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_said, value))
    if isinstance(value, bytes):
        return value.decode("latin-1").strip("\0")
    if hasattr(value, "numerator"):
        return str(value) if isinstance(value, int) else f"{value.numerator}/{value.denominator}"
    return str(value).strip("\0")


def magick_exif(path: str) -> str:
    """Returns the EXIF data of a file: names and values, each ended by a zero byte."""
    tags = extra("PIL.ExifTags", "graphicsmagick", "pillow")
    with pillow().open(from_lua(path)) as picture:
        exif = picture.getexif()
        found = {tags.TAGS.get(tag, hex(tag)): value for tag, value in exif.items()}
        found |= {tags.TAGS.get(tag, hex(tag)): value for tag, value in exif.get_ifd(0x8769).items()}
        found |= {tags.GPSTAGS.get(tag, hex(tag)): value for tag, value in exif.get_ifd(0x8825).items()}
    return "".join(to_lua(f"{name}\0{_said(value)}\0") for name, value in found.items())

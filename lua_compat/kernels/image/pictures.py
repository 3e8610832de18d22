"""Pictures from files, without PyTorch: PNG and JPEG with Pillow (the extra ``image``), PPM and PGM.

Pixels have values from 0 to a maximum, 255 or 65535.
"""

import io
import re
import types
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from lua_compat.kernels.strings import from_lua

__all__ = ["image_file_size", "image_pixels_of_file", "image_pixels_of_ppm"]  # all reach files

Picture = tuple[np.ndarray, int]  # height x width [x channels], largest value

_PNG = b"\x89PNG\r\n\x1a\n"
_LONGEST_WORD = 10  # digits of a number in a PPM
_LARGEST_COMPRESSION = 1100  # deflate shrinks at most about 1032 times


def pillow() -> types.ModuleType:
    """Returns PIL.Image. Raises ValueError, saying how to install it."""
    try:
        import PIL.Image
    except ImportError:
        from lua_compat.optional_packages import pip_install

        raise ValueError(
            f"image: PNG, JPEG and text need Pillow: {pip_install('image')} (or pillow)"
        ) from None
    return PIL.Image


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turns Pillow's errors for a damaged file, of a dozen classes, into ValueError, and suppresses its
    warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except pillow().UnidentifiedImageError:  # whose message names a Python object
            raise ValueError(f"{what}: it is another kind of file, or damaged") from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno:  # an error of the disk, not of the file's contents
                raise
            said = str(error).partition("\n")[0] or type(error).__name__
            raise ValueError(f"{what}: {said[:200]}") from None


def decoded(data: bytes) -> Picture:
    """Returns the picture in the bytes of a PNG or JPEG."""
    image = pillow()
    png = data.startswith(_PNG)
    if png and (wide := png_16_bits(data)) is not None:
        return wide, 65535
    what = "[read_png] Error during init_io" if png else "image: cannot be read as PNG or JPEG"
    with reading(what), image.open(io.BytesIO(data), formats=["PNG", "JPEG"]) as opened:
        kept = {"P": "RGB", "PA": "RGB", "1": "L", "LA": "LA", "I": "I", "I;16": "I;16"}
        mode = kept.get(opened.mode, opened.mode)
        largest = 65535 if mode.startswith("I") else 255
        pixels = np.array(opened.convert(mode) if mode != opened.mode else opened)
    return pixels.astype(np.uint16) if largest > 255 else pixels, largest


def png_16_bits(data: bytes) -> np.ndarray | None:
    """Returns a PNG of 16-bit colors, which Pillow would reduce to 8; None for any other file.

    The chunks and filters are those of the PNG specification (W3C), sections 5 and 9.
    """
    header = data[8:33]
    if len(header) < 25 or header[4:8] != b"IHDR":
        return None
    width, height = (int.from_bytes(header[at : at + 4], "big") for at in (8, 12))
    depth, color, interlaced = header[16], header[17], header[20]
    channels = {2: 3, 4: 2, 6: 4}.get(color)
    if depth != 16 or channels is None:
        return None
    if interlaced:
        raise ValueError("image: interlaced PNG with 16 bits per color cannot be read")
    packed, at = b"", 8
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    pixel = 2 * channels
    row_bytes = pixel * width
    count = (row_bytes + 1) * height
    if count > _LARGEST_COMPRESSION * len(packed):
        raise ValueError("[read_png_file] Error during read_image: not enough data")
    try:
        raw = zlib.decompressobj().decompress(packed, count)
    except zlib.error as error:
        raise ValueError(f"[read_png_file] Error during read_image: {error}") from None
    if len(raw) < count:
        raise ValueError("[read_png_file] Error during read_image: not enough data")
    rows, above = [], bytes(row_bytes)
    for y in range(height):
        start = y * (row_bytes + 1)
        above = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + row_bytes]), above, pixel)
        rows.append(above)
    return np.frombuffer(b"".join(rows), ">u2").astype(np.uint16).reshape(height, width, channels)


def _unfiltered(kind: int, line: bytearray, above: bytes, pixel: int) -> bytes:
    """Undoes the filter of a PNG's row: adds the prediction from the left (``pixel`` bytes before) and
    above."""
    for i in range(len(line)):
        left = line[i - pixel] if i >= pixel else 0
        corner = above[i - pixel] if i >= pixel else 0
        if kind == 0:
            break
        if kind == 1:
            predicted = left
        elif kind == 2:
            predicted = above[i]
        elif kind == 3:
            predicted = (left + above[i]) // 2
        else:
            estimate = left + above[i] - corner
            predicted = min((left, above[i], corner), key=lambda value: abs(estimate - value))
        line[i] = (line[i] + predicted) & 255
    return bytes(line)


def planes_of(picture: Picture, as_bytes: bool) -> np.ndarray:
    """Returns channels x height x width: bytes (the high ones of 16 bits) if ``as_bytes``, else int32."""
    pixels, largest = picture
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if largest > 255:
        pixels = (pixels >> 8).astype(np.uint8) if as_bytes else pixels.astype(np.int32)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _for_lua(picture: Picture, as_bytes: bool) -> tuple[int, int, int, int, bytes]:
    planes = planes_of(picture, as_bytes)
    channels, height, width = planes.shape
    return picture[1], channels, height, width, planes.tobytes()


def read_file(path: str) -> Picture:
    """Reads a PNG or JPEG."""
    with open(path, "rb") as file:
        return decoded(file.read())


def image_pixels_of_file(path: str, as_bytes: bool) -> tuple[int, int, int, int, bytes]:
    """Returns the largest value, channels, height, width and the elements of ``planes_of``."""
    return _for_lua(read_file(from_lua(path)), as_bytes)


def image_pixels_of_ppm(path: str, as_bytes: bool) -> tuple[int, int, int, int, bytes]:
    """Works like ``image_pixels_of_file``, for a PPM or PGM."""
    return _for_lua(read_ppm(from_lua(path)), as_bytes)


def image_file_size(path: str) -> tuple[int, int, int]:
    """Returns channels, height and width of a PNG, JPEG, PPM or PGM file, without reading its pixels."""
    with open(from_lua(path), "rb") as file:
        start = file.read(2)
        file.seek(0)
        if start[:1] == b"P":
            kind, width, height, _ = _ppm_header(file)
            return (3 if kind in b"36" else 1), height, width
        image = pillow()
        with (
            reading("image: cannot be read as PNG or JPEG"),
            image.open(file, formats=["PNG", "JPEG"]) as opened,
        ):
            return len(opened.getbands()), opened.height, opened.width


# PPM and PGM (netpbm.sourceforge.net/doc/ppm.html)


def _ppm_word(file: BinaryIO) -> bytes:
    """Returns the next word; skips comments, and consumes one white-space character after it."""
    word = b""
    while True:
        character = file.read(1)
        if character == b"#":
            while character not in (b"\n", b""):
                character = file.read(1)
        if character in b" \t\r\n":
            if word or not character:
                return word
        else:
            word += character


def _ppm_header(file: BinaryIO) -> tuple[bytes, int, int, int]:
    """Returns the digit of the magic number, width, height, largest value."""
    magic = _ppm_word(file)
    if not re.fullmatch(b"P[2356]", magic):
        raise ValueError(f"unsupported magic number: {magic.decode('latin-1')[:2]}")
    numbers = [_ppm_word(file) for _ in range(3)]
    if not all(re.fullmatch(rb"\d{1,9}", number) for number in numbers):
        raise ValueError("corrupted file or read error")
    width, height, largest = (int(number) for number in numbers)
    return magic[1:], width, height, largest


def read_ppm(path: str) -> Picture:
    """Reads a PPM or PGM; text is scaled to 255, as Torch7 does."""
    with open(path, "rb") as file:
        kind, width, height, largest = _ppm_header(file)
        channels = 3 if kind in b"36" else 1
        count = width * height * channels
        data = file.read()
    if not 0 < largest < 65536:
        raise ValueError(f"corrupted file: {largest} as the largest value")
    if kind in b"23":
        words = data.split(maxsplit=count)[:count]
        if len(words) < count or not all(word.isdigit() and len(word) < _LONGEST_WORD for word in words):
            raise ValueError("corrupted file or read error")
        pixels = (255 * np.array(words, np.int64) // largest).astype(np.uint8)
        largest = 255
    else:
        dtype = np.dtype(">u2" if largest > 255 else np.uint8)
        if len(data) < count * dtype.itemsize:
            raise ValueError("corrupted file or read error")
        pixels = np.frombuffer(data, dtype, count).astype(dtype.newbyteorder("="))
    return pixels.reshape(height, width, channels), 65535 if largest > 255 else 255

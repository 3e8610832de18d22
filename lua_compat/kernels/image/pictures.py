"""Reads pictures, without PyTorch and NumPy: PNG and JPEG by Pillow (the extra ``image``), PPM and PGM."""

import io
import re
import types
import warnings
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

from lua_compat.kernels.strings import from_lua

__all__ = ["image_decompress", "image_file_size", "image_read_file", "image_read_ppm"]
SANDBOXED = ["image_decompress"]  # the others reach files


class Picture(NamedTuple):
    """``pixels``: height x width x channels; one byte each if ``largest`` is 255, two if it is 65535."""

    channels: int
    height: int
    width: int
    pixels: bytes
    largest: int


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
    if png and (wide := png_16_bits(data)):
        return wide
    what = "[read_png] Error during init_io" if png else "image: cannot be read as PNG or JPEG"
    with reading(what), image.open(io.BytesIO(data), formats=["PNG", "JPEG"]) as opened:
        mode = {"P": "RGB", "PA": "RGB", "1": "L"}.get(opened.mode, opened.mode)
        pixels = (opened.convert(mode) if mode != opened.mode else opened).tobytes()
        channels, (width, height) = len(opened.getbands()) if mode == opened.mode else len(mode), opened.size
    if mode == "I":  # 32 bits, of which a PNG uses the low ones
        pixels = memoryview(pixels).cast("H")[::2].tobytes()
    return Picture(channels, height, width, pixels, 65535 if mode.startswith("I") else 255)


def png_16_bits(data: bytes) -> Picture | None:
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
    return Picture(channels, height, width, _swapped(b"".join(rows)), 65535)


def _swapped(pixels: bytes) -> bytes:
    """Returns big-endian values of 16 bits as little-endian ones."""
    values = array("H", pixels)
    values.byteswap()
    return values.tobytes()


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


def _for_lua(picture: Picture) -> tuple[int, int, int, str, int]:
    return *picture[:3], picture.pixels.decode("latin-1"), picture.largest


def image_read_file(path: str) -> tuple[int, int, int, str, int]:
    """Returns the fields of the ``Picture`` in a PNG or JPEG."""
    with open(from_lua(path), "rb") as file:
        return _for_lua(decoded(file.read()))


def image_decompress(data: str) -> tuple[int, int, int, str, int]:
    """Works like ``image_read_file``, from the bytes of a file."""
    return _for_lua(decoded(data.encode("latin-1")))


def image_read_ppm(path: str) -> tuple[int, int, int, str, int]:
    """Works like ``image_read_file``, for a PPM or PGM."""
    return _for_lua(_read_ppm(from_lua(path)))


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


def _read_ppm(path: str) -> Picture:
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
        pixels = bytes((255 * int(word) // largest) & 255 for word in words)
        return Picture(channels, height, width, pixels, 255)
    size = 2 if largest > 255 else 1
    if len(data) < count * size:
        raise ValueError("corrupted file or read error")
    pixels = data[: count * size]
    if size == 1:
        return Picture(channels, height, width, pixels, 255)
    return Picture(channels, height, width, _swapped(pixels), 65535)

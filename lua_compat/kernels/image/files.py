"""Writes pictures, without PyTorch and NumPy: PNG and JPEG by Pillow (the extra ``image``), PPM and PGM.

``pixels``: height x width x channels, one byte each.
"""

import io

from lua_compat.kernels.image.pictures import pillow
from lua_compat.kernels.strings import from_lua
from lua_compat.whole_file import replaced_when_whole

__all__ = ["image_compress", "image_write_file", "image_write_ppm"]
SANDBOXED = ["image_compress"]  # the others reach files


def _encode(pixels: str, channels: int, height: int, width: int, kind: str, quality: int) -> bytes:
    if not 0 <= quality <= 100:
        raise ValueError("quality should be between 0 and 100")
    mode = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
    written = io.BytesIO()
    settings = {"quality": int(quality)} if kind == "JPEG" else {}
    pillow().frombytes(mode, (width, height), pixels.encode("latin-1")).save(written, kind, **settings)
    return written.getvalue()


def image_write_file(
    path: str, pixels: str, channels: int, height: int, width: int, kind: str, quality: int
) -> None:
    """Writes an image of 1, 3 or (PNG) 4 channels. ``kind``: PNG or JPEG; ``quality`` of a JPEG: to 100."""
    data = _encode(pixels, channels, height, width, kind, quality)
    with replaced_when_whole(from_lua(path)) as whole:
        whole.write_bytes(data)


def image_compress(pixels: str, channels: int, height: int, width: int, kind: str, quality: int) -> str:
    """Returns the bytes of the file that ``image_write_file`` would write."""
    return _encode(pixels, channels, height, width, kind, quality).decode("latin-1")


def image_write_ppm(path: str, pixels: str, channels: int, height: int, width: int) -> None:
    """Writes a PPM for 3 channels, a PGM for one."""
    magic = "P6" if channels == 3 else "P5"
    with replaced_when_whole(from_lua(path)) as whole, open(whole, "wb") as file:
        file.write(f"{magic}\n{width} {height}\n255\n".encode())
        file.write(pixels.encode("latin-1"))

"""Image files and tensors: reading by pictures.py, and writing PNG, JPEG, PPM and PGM.

Images are channels x height x width. Values read are from 0 to the returned maximum, 255 or 65535; a uint8
``out`` gets the high byte of 16 bits. Images to be written are uint8.
"""

import io

import numpy as np
import torch
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.image.pictures import Picture, decoded, pillow, planes_of, read_file, read_ppm
from lua_compat.kernels.results import Out
from lua_compat.kernels.strings import from_lua
from lua_compat.whole_file import replaced_when_whole

__all__ = [
    "image_compress", "image_decompress", "image_read_file", "image_read_ppm", "image_write_file",
    "image_write_ppm",
]  # fmt: skip
# Those that read and write memory; the others reach files.
SANDBOXED = ["image_compress", "image_decompress"]


def _bytes_of(t: Tensor) -> bytes:
    return array_of(t.contiguous()).tobytes()


def _store(out: Tensor, picture: Picture) -> int:
    planes = planes_of(picture, out.dtype == torch.uint8)
    out.resize_(planes.shape)
    out.copy_(torch.from_numpy(planes))
    return picture[1]


def image_read_file(out: Out, path: str) -> int:
    return _store(out, read_file(from_lua(path)))


def image_read_ppm(out: Out, path: str) -> int:
    return _store(out, read_ppm(from_lua(path)))


def image_decompress(out: Out, data: Tensor) -> int:
    """Does as ``image_read_file``, from the bytes of a file."""
    return _store(out, decoded(_bytes_of(data)))


def _as_picture(t: Tensor) -> np.ndarray:
    """height x width [x channels] from a uint8 tensor."""
    planes = np.frombuffer(_bytes_of(t), np.uint8).reshape(t.shape)
    if planes.ndim == 3:
        return planes[0] if planes.shape[0] == 1 else np.ascontiguousarray(planes.transpose(1, 2, 0))
    return planes


def _encode(t: Tensor, kind: str, quality: int) -> bytes:
    channels = t.shape[0] if t.dim() == 3 else 1
    if t.dim() not in (2, 3) or channels not in ((1, 3, 4) if kind == "PNG" else (1, 3)):
        wanted = "1, 3 or 4" if kind == "PNG" else "1 or 3"
        raise ValueError(f"image: a {kind} has {wanted} channels, not a tensor of sizes {tuple(t.shape)}")
    if not 0 <= quality <= 100:
        raise ValueError("quality should be between 0 and 100")
    written = io.BytesIO()
    settings = {"quality": int(quality)} if kind == "JPEG" else {}
    pillow().fromarray(_as_picture(t)).save(written, kind, **settings)
    return written.getvalue()


def image_write_file(path: str, t: Tensor, kind: str, quality: int) -> None:
    """Writes an image. ``kind``: PNG or JPEG; ``quality``, of a JPEG: 0 to 100."""
    data = _encode(t, kind, quality)
    with replaced_when_whole(from_lua(path)) as whole:
        whole.write_bytes(data)


def image_compress(out: Out, t: Tensor, kind: str, quality: int) -> None:
    """Writes the bytes of an image file into ``out``."""
    data = np.frombuffer(_encode(t, kind, quality), np.uint8).copy()
    out.resize_(len(data))
    out.copy_(torch.from_numpy(data))


def image_write_ppm(path: str, t: Tensor) -> None:
    """Writes a PPM for 3 channels, a PGM for one."""
    picture = _as_picture(t)
    magic = "P6" if picture.ndim == 3 else "P5"
    with replaced_when_whole(from_lua(path)) as whole, open(whole, "wb") as file:
        file.write(f"{magic}\n{picture.shape[1]} {picture.shape[0]}\n255\n".encode())
        file.write(picture.tobytes())

"""Text in images, as Torch7's package image draws it, in the font that comes with Pillow."""

import numpy as np
import torch
from torch import Tensor

from lua_compat.kernels.image.pictures import pillow

__all__ = ["image_draw_text"]
SANDBOXED = __all__

_CELL = (6, 8)  # width and height of a character


def _glyphs() -> dict[int, np.ndarray]:
    """Returns the pixels that each printable character sets in its cell, in the font that comes with
    Pillow."""
    pillow()
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(_CELL[1])
    glyphs = {}
    for code in range(32, 127):
        cell = Image.new("L", _CELL)
        ImageDraw.Draw(cell).text((0, _CELL[1] - 1), chr(code), fill=255, font=font, anchor="ls")
        glyphs[code] = np.array(cell) > 96
    return glyphs


def image_draw_text(
    image: Tensor, text: str, x: int, y: int, size: int, wrap: bool, background: bool, *colors: float
) -> None:
    """Writes into an image of 3 channels, from (x, y), counted from 0: cells of 6 x 8 pixels times ``size``.

    ``colors``: red, green and blue of the text, then of the background, in the image's units.
    """
    glyphs = _glyphs()
    _, height, width = image.shape
    x, y, size = int(x), int(y), int(size)
    ink = torch.tensor(colors[:3], dtype=torch.float64).view(3, 1, 1).to(image.dtype)
    paper = (
        torch.tensor(colors[3:], dtype=torch.float64).view(3, 1, 1).to(image.dtype) if background else None
    )
    left, top = x, y
    for character in text:
        if character == "\n":
            left, top = x, top + size * _CELL[1]
            continue
        if character == "\r":
            continue
        if wrap and left + size * _CELL[0] >= width:
            left, top = 0, top + size * _CELL[1]
        glyph = torch.from_numpy(glyphs.get(ord(character), glyphs[ord("?")]))
        mask = glyph.repeat_interleave(size, 0).repeat_interleave(size, 1)
        rows = slice(max(0, -top), max(0, min(mask.shape[0], height - top)))
        columns = slice(max(0, -left), max(0, min(mask.shape[1], width - left)))
        mask = mask[rows, columns]
        if mask.numel():
            part = image[:, top + rows.start : top + rows.stop, left + columns.start : left + columns.stop]
            part.copy_(torch.where(mask, ink, part if paper is None else paper))
        left += size * _CELL[0]

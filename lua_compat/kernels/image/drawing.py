"""Characters for text in images, without PyTorch and NumPy: in the font that comes with Pillow."""

from lua_compat.kernels.image.pictures import pillow

__all__ = ["image_glyphs"]
SANDBOXED = __all__

_WIDTH, _HEIGHT = 6, 8  # of a character
_INK = 96  # of 255: what sets a pixel


def image_glyphs() -> str:
    """Returns the pixels, row by row, of the printable characters of ASCII: one byte each, 0 or 1."""
    pillow()
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(_HEIGHT)
    pixels = []
    for code in range(32, 127):
        cell = Image.new("L", (_WIDTH, _HEIGHT))
        ImageDraw.Draw(cell).text((0, _HEIGHT - 1), chr(code), fill=255, font=font, anchor="ls")
        pixels += [chr(value > _INK) for value in cell.tobytes()]
    return "".join(pixels)

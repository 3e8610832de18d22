"""Markdown as HTML and as text for a terminal."""

from lua_compat.kernels.packages.markdown.html import Html
from lua_compat.kernels.packages.markdown.reading import read
from lua_compat.kernels.packages.markdown.text import Text

__all__ = ["markdown_as_html", "markdown_as_text"]
SANDBOXED = __all__


def markdown_as_html(text: str) -> str:
    return Html().blocks(read(text))


def markdown_as_text(text: str, width: int, style: str) -> str:
    """Returns text ``width`` wide. ``style``: lines of a kind of text, a tab and its escape sequence."""
    codes = dict(line.split("\t", 1) for line in style.split("\n"))
    return "\n".join(Text(codes).blocks(read(text), 0, width))

"""Colours, shapes and dashes of series: the same in the page and in the pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

# Okabe and Ito, Color Universal Design (2008): distinct with any colour vision. Their yellow and black are
# omitted: one vanishes on white paper, the other on a dark screen.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C8C")
# Bokeh's name, Matplotlib's, and the character of the legend.
_SHAPES = (
    ("circle", "o", "●"),
    ("square", "s", "■"),
    ("triangle", "^", "▲"),
    ("diamond", "D", "◆"),
    ("inverted_triangle", "v", "▼"),
)
_DASHES = ("solid", "dashed", "dotted", "dashdot")
GUIDE_COLOUR = "#8C8C8C"


@dataclass(frozen=True)
class Style:
    colour: str
    bokeh_shape: str
    matplotlib_shape: str
    character: str
    dash: str


def styles(names: Sequence[str]) -> dict[str, Style]:
    """Returns a style for each name: colours first, then other shapes, then other dashes."""
    return {name: _style(place) for place, name in enumerate(names)}


def _style(place: int) -> Style:
    shape = _SHAPES[place % len(_SHAPES)]
    return Style(_COLOURS[place % len(_COLOURS)], *shape, _DASHES[place // len(_COLOURS) % len(_DASHES)])

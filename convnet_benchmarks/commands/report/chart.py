"""A chart as plain values: what a plot makes of measurements, and what the two renderers draw."""

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from convnet_benchmarks.tables import Table
from convnet_benchmarks.timing.statistics import STABLE
from convnet_benchmarks.timing.verdicts import FASTER, SAME, SLOWER

# Of a bar's or dot's name, in characters: what a telephone's width holds.
_NAME_WIDTH = 42
# Of an axis, in characters, on a telephone.
_AXIS_WIDTH = 45
# Digits that a logarithmic axis is numbered at: most for values within so many decades.
_DIGITS = ((0.3, (1, 1.5, 2, 3, 4, 5, 7)), (2.0, (1, 2, 5)))
# An interval that reaches further than this many times the highest value is cut at the chart's end.
_ROOM_FOR_INTERVALS = 2.0
_EXPECTED = ("", STABLE, "met")
_DECIDED = (FASTER, SLOWER, SAME)

Tips = Sequence[tuple[str, str]]  # a tooltip's lines: name and text

# How the marks of a panel are drawn. lines: points joined in order; points: points alone; bars: from zero,
# one under the other, each with its name above; dots: as bars, but points, for an axis without a zero.
Kind = Literal["lines", "points", "bars", "dots"]


@dataclass(frozen=True)
class Axis:
    """``label`` has the unit; ``ticks``: where the axis is numbered, empty for wherever it suits.

    ``tick_names`` stand for the numbers. ``from_zero``: whether a linear axis begins there.
    """

    label: str
    log: bool = False
    ticks: tuple[float, ...] = ()
    from_zero: bool = True
    tick_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """One point or bar, at ``y`` over ``x``; a bar's or dot's value is its ``x``, and it has no ``y``.

    ``name``: the bar's, or a text next to a point. ``low`` and ``high`` bound the value with 95 % confidence.
    ``verdict``: how far the value can be trusted, or a comparison's.
    """

    x: float
    y: float = 0.0
    name: str = ""
    tips: Tips = ()
    low: float | None = None
    high: float | None = None
    verdict: str = ""

    @property
    def doubtful(self) -> bool:
        """Returns whether the mark is drawn hollow: its value, or a comparison, is not certain."""
        return self.verdict not in _EXPECTED + _DECIDED

    @property
    def written_verdict(self) -> str:
        """Returns what stands next to a bar or dot: nothing of what is as it should be."""
        return "" if self.verdict in _EXPECTED else self.verdict


@dataclass(frozen=True)
class Series:
    """Marks of one colour, shape and name in the legend; the same name looks the same in every panel."""

    name: str
    marks: Sequence[Mark]


@dataclass(frozen=True)
class Guide:
    """A line that is no measurement, such as a machine's limit."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Where every bar has a name of its own, series do not stand side by side.

    ``line_at``: the value at which bars or dots have a dashed line, such as 1 for a ratio.
    """

    title: str
    kind: Kind
    x: Axis
    y: Axis
    series: Sequence[Series]
    guides: Sequence[Guide] = ()
    line_at: float | None = None


@dataclass(frozen=True)
class Chart:
    """``text``: one or two sentences on what is to be seen; ``table`` has every number that is drawn."""

    text: str
    panels: Sequence[Panel]
    table: Table
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def series_names(self) -> list[str]:
        """Returns every name that the legend needs, in order."""
        return list(dict.fromkeys(series.name for panel in self.panels for series in panel.series))

    @property
    def key(self) -> str:
        """Returns what hollow marks mean, '' without any."""
        marks = [mark for panel in self.panels for series in panel.series for mark in series.marks]
        found = dict.fromkeys(mark.verdict for mark in marks if mark.doubtful)
        return f"Hollow marks: {', '.join(found)}." if found else ""


def drawn_values(panel: Panel) -> tuple[list[float], list[float]]:
    """Returns the x and the y of everything drawn, guides included."""
    points = [(mark.x, mark.y) for series in panel.series for mark in series.marks]
    points += [point for guide in panel.guides for point in guide.points]
    return [x for x, _ in points], [y for _, y in points]


def axis_ticks(axis: Axis, values: Sequence[float]) -> tuple[float, ...]:
    """Returns where an axis that shows ``values`` is numbered; empty for a linear one that says nothing
    of it.

    A logarithmic one is numbered at 1, 2 and 5 times powers of ten, at more for values that are near each
    other; at the powers alone over two decades and more, or if the numbers are too long.
    """
    if axis.ticks or not axis.log or not values:
        return axis.ticks
    low, high = math.log10(min(values)), math.log10(max(values))
    digits = next((some for most, some in _DIGITS if high - low < most and _fits(some, low, high)), (1,))
    powers = range(math.floor(low) - 1, math.ceil(high) + 1)
    found = [digit * 10.0**power for power in powers for digit in digits]
    # Half a decade more on either side, as an axis reaches beyond its values.
    return tuple(tick for tick in found if low - 0.5 <= math.log10(tick) <= high + 0.5)


def _fits(digits: Sequence[float], low: float, high: float) -> bool:
    """Returns whether neighbours, such as 10,000 and 20,000, do not touch; the ends are logarithms."""
    nearest = min(math.log10(b / a) for a, b in itertools.pairwise([*digits, 10]))
    return _AXIS_WIDTH * nearest / (high - low + 0.5) > len(f"{10**high:,.0f}") + 1


def most_ticks(values: Sequence[float]) -> int:
    """Returns how many numbers a horizontal linear axis that shows ``values`` has room for."""
    return max(2, min(6, _AXIS_WIDTH // (len(f"{max(values, default=0):,.0f}") + 3)))


def highest_shown(values: Sequence[float], highs: Sequence[float | None]) -> float:
    """Returns what a value axis has to show: intervals are on it, unless they are far longer."""
    ends = [value if high is None else high for value, high in zip(values, highs, strict=True)]
    return min(max(ends), _ROOM_FOR_INTERVALS * max(values))


@dataclass(frozen=True)
class Name:
    """A name written next to a point, to its right or ``to_the_left``."""

    mark: Mark
    to_the_left: bool


def point_names(panel: Panel) -> list[Name]:
    """Returns the names of points that can be written without covering a point or a name; the tooltips
    have them all.

    Reckoned for a panel as narrow as on a telephone, a line of it being 45 characters wide.
    """
    marks = [mark for series in panel.series for mark in series.marks]
    if not any(mark.name for mark in marks):
        return []
    xs, ys = _shares([m.x for m in marks], panel.x.log), _shares([m.y for m in marks], panel.y.log)
    taken = [(x - 0.02, x + 0.02, y) for x, y in zip(xs, ys, strict=True)]
    written: list[Name] = []
    for mark, x, y in zip(marks, xs, ys, strict=True):
        width = len(mark.name) / 45
        sides = {True: (x - 0.03 - width, x - 0.03), False: (x + 0.03, x + 0.03 + width)}
        for to_the_left in (x > 0.55, x <= 0.55):
            left, right = sides[to_the_left]
            inside = left > -0.1 and right < 1.1
            free = all(abs(y - other) > 0.05 or left > end or start > right for start, end, other in taken)
            if mark.name and inside and free:
                taken.append((left, right, y))
                written.append(Name(mark, to_the_left))
                break
    return written


def _shares(values: Sequence[float], log: bool) -> list[float]:
    """Returns each value's place between the smallest (0) and the largest (1)."""
    numbers = [math.log(value) for value in values] if log else list(values)
    low, high = min(numbers), max(numbers)
    return [(number - low) / (high - low) if high > low else 0.0 for number in numbers]


@dataclass(frozen=True)
class Row:
    """Where a bar or dot is drawn: ``y`` in a panel whose rows are one high and counted from the top down.

    ``name_y``: the middle of its name, which ``name_lines`` are; None if the bar before it has written it.
    """

    mark: Mark
    series: str
    y: float
    height: float
    name_y: float | None
    name_lines: tuple[str, ...] = ()


def layout_rows(panel: Panel) -> tuple[list[Row], float]:
    """Returns the places of a panel's bars or dots, and the height of all of them.

    Marks of the same name are a group: the name once, then a row for each series that has it. Bars keep the
    order of the series, dots are ordered by value.
    """
    largest: dict[str, float] = {}
    for mark in (mark for series in panel.series for mark in series.marks):
        largest[mark.name] = max(mark.x, largest.get(mark.name, mark.x))
    names = list(largest) if panel.kind == "bars" else sorted(largest, key=lambda name: -largest[name])
    rows: list[Row] = []
    y = 0.0
    for name in names:
        group = [(mark, series.name) for series in panel.series for mark in series.marks if mark.name == name]
        lines = tuple(textwrap.wrap(name, _NAME_WIDTH)) or ("",)
        name_y: float | None = y + len(lines) / 2
        y += len(lines)
        for mark, series_name in group:
            rows.append(Row(mark, series_name, y + 0.3, 0.6, name_y, lines))
            name_y = None
            y += 0.7
        y += 0.3
    return rows, y

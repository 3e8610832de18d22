"""Charts drawn with matplotlib: one PNG file each."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.commands.report.chart import (
    Chart,
    Mark,
    Panel,
    axis_ticks,
    drawn_values,
    highest_shown,
    layout_rows,
    point_names,
)
from convnet_benchmarks.commands.report.style import GUIDE_COLOUR, Style, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as MatplotlibAxis
    from matplotlib.figure import Figure

_COLUMNS = 3
_WIDTH, _HEIGHT = 5.2, 3.6  # inches, of a panel of lines or points
_ROW_HEIGHT = 0.2  # inches
_TITLE_WIDTH = 60  # characters


def save_png(chart: Chart, title: str, path: str) -> None:
    """Writes the chart to ``path``. Raises OSError if that is not possible."""
    drawn(chart, title).savefig(path)


def drawn(chart: Chart, title: str) -> "Figure":
    """Draws the chart as a figure that no window shows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(chart.panels))
    rows = -(-len(chart.panels) // columns)
    heights = [
        max(_panel_height(panel) for panel in chart.panels[row * columns : (row + 1) * columns])
        for row in range(rows)
    ]
    figure = Figure(figsize=(columns * _WIDTH, sum(heights) + 1.0), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    looks = styles(chart.series_names)
    grid = figure.subplots(rows, columns, squeeze=False, gridspec_kw={"height_ratios": heights})
    for place, axes in enumerate(grid.flat):
        if place < len(chart.panels):
            _draw(axes, chart.panels[place], looks)
        else:
            axes.set_visible(False)
    if len(looks) > 1:
        handles = [
            figure.axes[0].plot(
                [], [], color=look.colour, marker=look.matplotlib_shape, linestyle=look.dash, label=name
            )[0]
            for name, look in looks.items()
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(3, columns), fontsize=8)
    return figure


def _panel_height(panel: Panel) -> float:
    if panel.kind in ("lines", "points"):
        return _HEIGHT
    return layout_rows(panel)[1] * _ROW_HEIGHT + 0.9


def _draw(axes: "Axes", panel: Panel, looks: Mapping[str, Style]) -> None:
    axes.set_title("\n".join(textwrap.wrap(panel.title, _TITLE_WIDTH)), fontsize=10)
    axes.set_xlabel(panel.x.label, fontsize=9)
    axes.set_ylabel(panel.y.label, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, alpha=0.3)
    axes.set_axisbelow(True)
    axes.set_xscale("log" if panel.x.log else "linear")
    axes.set_yscale("log" if panel.y.log else "linear")
    shown_xs, shown_ys = drawn_values(panel)
    _set_ticks(axes.xaxis, axis_ticks(panel.x, shown_xs), panel.x.tick_names)
    _set_ticks(axes.yaxis, axis_ticks(panel.y, shown_ys), panel.y.tick_names)
    if panel.kind in ("lines", "points"):
        _draw_points(axes, panel, looks)
    else:
        _draw_rows(axes, panel, looks)
    for guide in panel.guides:
        xs, ys = zip(*guide.points, strict=True)
        axes.plot(xs, ys, color=GUIDE_COLOUR, linestyle="dashed", linewidth=1.2)
        axes.annotate(
            guide.name, (xs[-1], ys[-1]), (0, 3), textcoords="offset points", fontsize=7, ha="right"
        )


def _set_ticks(axis: "MatplotlibAxis", ticks: Sequence[float], names: Sequence[str]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    if ticks:
        axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if names:
        axis.set_ticks(list(ticks), labels=list(names), rotation=30, ha="right")


def _draw_points(axes: "Axes", panel: Panel, looks: Mapping[str, Style]) -> None:
    for series in panel.series:
        look = looks[series.name]
        xs, ys = [mark.x for mark in series.marks], [mark.y for mark in series.marks]
        line = look.dash if panel.kind == "lines" else "none"
        axes.plot(xs, ys, color=look.colour, linestyle=line)
        for mark in series.marks:
            axes.plot(mark.x, mark.y, markersize=5, **_marker(mark, look))
            _bounds(axes, mark, look.colour)
    for name in point_names(panel):
        side, offset = ("right", -5) if name.to_the_left else ("left", 5)
        place = (name.mark.x, name.mark.y)
        axes.annotate(
            name.mark.name, place, (offset, 0), textcoords="offset points", fontsize=7, ha=side, va="center"
        )
    if panel.y.from_zero and not panel.y.log:
        axes.set_ylim(bottom=0)


def _marker(mark: Mark, look: Style) -> dict[str, Any]:
    inside = "none" if mark.doubtful else look.colour
    return {"color": look.colour, "marker": look.matplotlib_shape, "markerfacecolor": inside}


def _bounds(axes: "Axes", mark: Mark, colour: str) -> None:
    if mark.low is not None and mark.high is not None:
        axes.vlines(mark.x, mark.low, mark.high, color=colour, linewidth=1)


def _draw_rows(axes: "Axes", panel: Panel, looks: Mapping[str, Style]) -> None:
    rows, height = layout_rows(panel)
    values = [row.mark.x for row in rows]
    left = min(values) / 2 if panel.x.log else 0.0
    shown = highest_shown(values, [row.mark.high for row in rows])
    for row in rows:
        look = looks[row.series]
        if panel.kind == "bars":
            inside = "none" if row.mark.doubtful else look.colour
            axes.barh(row.y, row.mark.x - left, 0.6, left, color=inside, edgecolor=look.colour)
        else:
            axes.hlines(row.y, left, row.mark.x, color=look.colour, alpha=0.35)
            axes.plot(row.mark.x, row.y, **_marker(row.mark, look))
        if row.mark.written_verdict:
            end = (min(max(row.mark.x, row.mark.high or row.mark.x), shown), row.y)
            place: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7, "va": "center"}
            axes.annotate(row.mark.written_verdict, end, (6, 0), **place)
        if row.name_y is not None:
            axes.text(left, row.name_y, "\n".join(row.name_lines), fontsize=8, va="center")
        if row.mark.low is not None and row.mark.high is not None:
            axes.hlines(row.y, row.mark.low, min(row.mark.high, shown), color=look.colour, linewidth=2.5)
    if panel.line_at is not None:
        axes.axvline(panel.line_at, color=GUIDE_COLOUR, linestyle="dashed", linewidth=1.2)
    judged = any(row.mark.written_verdict for row in rows)
    axes.set_yticks([])
    axes.grid(False, axis="y")
    axes.set_ylim(height, 0)
    axes.set_xlim(
        left,
        max(shown, panel.line_at or 0.0) * (1.3 if panel.x.log else 1.05) * (1.25 if judged else 1.0) or 1,
    )

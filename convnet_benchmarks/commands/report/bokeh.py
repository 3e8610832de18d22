"""Panels drawn with bokeh, for the page: figures that follow the width they are given."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.commands.report.chart import (
    Mark,
    Panel,
    Series,
    axis_ticks,
    drawn_values,
    highest_shown,
    layout_rows,
    most_ticks,
    point_names,
)
from convnet_benchmarks.commands.report.style import GUIDE_COLOUR, Style

if TYPE_CHECKING:
    from bokeh.models import GlyphRenderer
    from bokeh.plotting import figure as Figure

_HEIGHT = 300  # pixels, of lines and points
_ROW_HEIGHT = 17  # pixels, of a bar's name, or of 1/0.7 bars
_AROUND_ROWS = 95  # pixels: the tools and the axis
_HOLLOW = 0.12  # how opaque the inside of a doubtful mark is
_FULL = 1.0
# How far the axis of bars or dots reaches beyond the largest value, in times of it: a logarithmic one, a
# linear one. Verdicts need more.
_BEYOND, _BEYOND_VERDICTS = (1.3, 1.05), (2.5, 1.3)


def draw(panel: Panel, styles: Mapping[str, Style]) -> "Figure":
    """Returns the panel's figure. Series can be found in it by their names, for the page's legend."""
    from bokeh.models import HoverTool

    rows, height = layout_rows(panel) if panel.kind in ("bars", "dots") else ([], 0.0)
    figure = _figure(panel, int(height * _ROW_HEIGHT) + _AROUND_ROWS if rows else _HEIGHT)
    hovered = _draw_rows(figure, panel, styles) if rows else _draw_points(figure, panel, styles)
    if panel.guides:
        figure.y_range.range_padding = 0.2  # of what is drawn: for the name of the highest
    for guide in panel.guides:
        xs, ys = zip(*guide.points, strict=True)
        figure.line(xs, ys, line_color=GUIDE_COLOUR, line_dash="dashed", line_width=1.5)
        place = {"text_align": "right", "text_baseline": "bottom", "y_offset": -4}  # away from a slope
        figure.text([xs[-1]], [ys[-1]], [guide.name], text_font_size="11px", **place)
    figure.add_tools(
        HoverTool(
            renderers=hovered, tooltips="<div class='tip'>@tip{safe}</div>", point_policy="snap_to_data"
        )
    )
    return figure


def _figure(panel: Panel, height: int) -> "Figure":
    from bokeh.plotting import figure as new_figure

    # No tool is active from the start: a finger or wheel on the chart scrolls the page.
    figure = new_figure(
        height=height,
        sizing_mode="stretch_width",
        min_width=120,
        x_axis_type="log" if panel.x.log else "linear",
        y_axis_type="log" if panel.y.log else "linear",
        x_axis_label=panel.x.label,
        y_axis_label=panel.y.label or None,
        tools="pan,box_zoom,wheel_zoom,reset,save",
        active_drag=None,
        active_scroll=None,
        toolbar_location="above",
        background_fill_alpha=0.0,
        border_fill_alpha=0.0,
        outline_line_color=None,
    )
    figure.toolbar.logo = None
    figure.toolbar.autohide = True
    xs, ys = drawn_values(panel)
    _set_axis(figure.xaxis[0], axis_ticks(panel.x, xs), panel.x.tick_names)
    if not panel.x.log and not panel.x.ticks:
        figure.xaxis[0].ticker.desired_num_ticks = most_ticks(xs)
    _set_axis(figure.yaxis[0], axis_ticks(panel.y, ys), panel.y.tick_names)
    for axis in (figure.xaxis[0], figure.yaxis[0]):
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
    return figure


def _set_axis(axis: Any, ticks: Sequence[float], names: Sequence[str]) -> None:
    from bokeh.models import FixedTicker, NumeralTickFormatter

    axis.formatter = NumeralTickFormatter(format="0,0.[0000]")
    if ticks:
        axis.ticker = FixedTicker(ticks=list(ticks))
    if names:
        axis.major_label_overrides = dict(zip(ticks, names, strict=True))
        axis.major_label_orientation = 0.6  # radians: long names next to each other


def _draw_points(figure: "Figure", panel: Panel, styles: Mapping[str, Style]) -> "list[GlyphRenderer]":
    from bokeh.models import ColumnDataSource

    hovered = []
    for series in panel.series:
        style = styles[series.name]
        colour = style.colour
        source = ColumnDataSource(_columns(series.marks))
        if panel.kind == "lines":
            figure.line(
                "x", "y", source=source, line_width=2, line_dash=style.dash, color=colour, name=series.name
            )
        look = {"color": colour, "fill_alpha": "inside", "name": series.name}
        marks = figure.scatter("x", "y", source=source, marker=style.bokeh_shape, size=8, **look)
        _draw_intervals(figure, series, colour)
        hovered.append(marks)
    for name in point_names(panel):
        side, offset = ("right", -7) if name.to_the_left else ("left", 7)
        figure.text(
            [name.mark.x],
            [name.mark.y],
            [name.mark.name],
            text_align=side,
            text_baseline="middle",
            x_offset=offset,
            text_font_size="11px",
        )
    if panel.y.from_zero and not panel.y.log:
        figure.y_range.start = 0
        figure.y_range.end = _upper_end(panel)
    return hovered


def _draw_intervals(figure: "Figure", series: Series, colour: str) -> None:
    from bokeh.models import ColumnDataSource, Whisker

    bounded = [mark for mark in series.marks if mark.low is not None and mark.high is not None]
    if not bounded:
        return
    source = ColumnDataSource(
        {
            "x": [mark.x for mark in bounded],
            "low": [mark.low for mark in bounded],
            "high": [mark.high for mark in bounded],
        }
    )
    whisker = Whisker(source=source, base="x", lower="low", upper="high", line_color=colour, name=series.name)
    for head in (whisker.upper_head, whisker.lower_head):
        head.size = 6
        head.line_color = colour
    figure.add_layout(whisker)


def _draw_rows(figure: "Figure", panel: Panel, styles: Mapping[str, Style]) -> "list[GlyphRenderer]":
    from bokeh.models import ColumnDataSource, Range1d, Span

    rows, height = layout_rows(panel)
    left = _left_end(panel)
    shown = highest_shown([row.mark.x for row in rows], [row.mark.high for row in rows])
    hovered = []
    for series in panel.series:
        own = [row for row in rows if row.series == series.name]
        style = styles[series.name]
        source = ColumnDataSource(
            {
                **_columns([row.mark for row in own]),
                "row": [row.y for row in own],
                "left": [left for _ in own],
            }
        )
        look = {"source": source, "color": style.colour, "name": series.name}
        if panel.kind == "bars":
            drawn = figure.hbar(y="row", left="left", right="x", height=0.6, fill_alpha="inside", **look)
        else:
            figure.segment("left", "row", "x", "row", alpha=0.35, **look)
            drawn = figure.scatter("x", "row", marker=style.bokeh_shape, size=9, fill_alpha="inside", **look)
        hovered.append(drawn)
        bounded = [row for row in own if row.mark.low is not None and row.mark.high is not None]
        figure.segment(
            [row.mark.low for row in bounded],
            [row.y for row in bounded],
            [min(row.mark.high or row.mark.x, shown) for row in bounded],
            [row.y for row in bounded],
            line_width=3,
            color=style.colour,
            name=series.name,
        )
    named = [row for row in rows if row.name_y is not None]
    figure.text(
        x=[left for _ in named],
        y=[row.name_y for row in named],
        text=["\n".join(row.name_lines) for row in named],
        text_baseline="middle",
        text_font_size="12px",
    )
    judged = [row for row in rows if row.mark.written_verdict]
    if judged:
        ends = [min(max(row.mark.x, row.mark.high or row.mark.x), shown) for row in judged]
        verdicts = [row.mark.written_verdict for row in judged]
        place = {"text_baseline": "middle", "x_offset": 9, "text_font_size": "11px"}
        figure.text(x=ends, y=[row.y for row in judged], text=verdicts, **place)
    if panel.line_at is not None:
        figure.add_layout(
            Span(location=panel.line_at, dimension="height", line_color=GUIDE_COLOUR, line_dash="dashed")
        )
    figure.yaxis.visible = False
    figure.ygrid.visible = False
    figure.y_range = Range1d(height, 0)
    largest = max(shown, panel.line_at or 0.0)
    log, linear = _BEYOND_VERDICTS if judged else _BEYOND
    figure.x_range = Range1d(left, largest * (log if panel.x.log else linear) or 1)
    return hovered


def _upper_end(panel: Panel) -> float:
    """Returns where a linear value axis ends."""
    marks = [mark for series in panel.series for mark in series.marks]
    return 1.05 * highest_shown([mark.y for mark in marks], [mark.high for mark in marks]) or 1.0


def _left_end(panel: Panel) -> float:
    """Returns where the value axis begins: zero, or below the smallest value where it is logarithmic."""
    if not panel.x.log:
        return 0.0
    return min(mark.x for series in panel.series for mark in series.marks) / 2


def _columns(marks: Sequence[Mark]) -> dict[str, list[Any]]:
    return {
        "x": [mark.x for mark in marks],
        "y": [mark.y for mark in marks],
        "tip": [_tip(mark) for mark in marks],
        "inside": [_HOLLOW if mark.doubtful else _FULL for mark in marks],
    }


def _tip(mark: Mark) -> str:
    lines = [f"<span>{escape(name)}</span> {escape(text)}" for name, text in mark.tips]
    return "<br>".join(lines)

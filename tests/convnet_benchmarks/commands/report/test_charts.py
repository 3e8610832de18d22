"""Charts: where things are placed, and what the renderers make of them."""

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convnet_benchmarks.commands.report.chart import (
    Axis,
    Chart,
    Guide,
    Mark,
    Panel,
    Series,
    axis_ticks,
    highest_shown,
    layout_rows,
    most_ticks,
    point_names,
)
from convnet_benchmarks.commands.report.style import styles
from convnet_benchmarks.tables import Column, Table


def panel(kind: Any, *series: Series, log: bool = False) -> Panel:
    return Panel("title", kind, Axis("x [images/s]", log=log), Axis("y [MiB]"), series)


def bars(kind: str = "bars") -> Panel:
    one = Series("one", [Mark(1.0, name="a"), Mark(5.0, name="b")])
    return panel(kind, one, Series("two", [Mark(3.0, name="a")]))


def test_bars_of_one_name_are_a_group_under_it() -> None:
    rows, height = layout_rows(bars())
    assert [(row.mark.name, row.series, row.name_y is None) for row in rows] == [
        ("a", "one", False),
        ("a", "two", True),
        ("b", "one", False),
    ]
    assert all(first.y + first.height / 2 <= second.y for first, second in itertools.pairwise(rows))
    assert rows[-1].y < height


def test_dots_are_ordered_by_value() -> None:
    rows, _ = layout_rows(bars("dots"))
    assert [row.mark.name for row in rows] == ["b", "a", "a"]


@given(st.lists(st.floats(1e-3, 1e6), min_size=1))
def test_ticks_of_a_logarithmic_axis_are_round_and_few(values: list[float]) -> None:
    ticks = axis_ticks(Axis("", log=True), values)
    assert 1 <= len(ticks) <= 12
    for tick in ticks:
        digit = round(tick / 10 ** math.floor(math.log10(tick) + 1e-9), 6)
        assert digit in (1, 2, 5) or max(values) < 2 * min(values)
        assert min(values) / 4 < tick < max(values) * 4


def test_long_numbers_of_a_logarithmic_axis_do_not_touch() -> None:
    assert axis_ticks(Axis("", log=True), [259.0, 25_000.0]) == (100.0, 1e3, 1e4)
    assert axis_ticks(Axis("", log=True), [3.0, 9.0]) == (1.0, 2.0, 5.0, 10.0, 20.0)
    assert [tick for tick in axis_ticks(Axis("", log=True), [367.0]) if 183 < tick < 478] == [200, 300, 400]
    assert axis_ticks(Axis("", log=True), [1_367_000.0]) == (5e5, 1e6, 2e6)


def test_a_long_number_leaves_room_for_fewer() -> None:
    assert most_ticks([80.0]) == 6 and most_ticks([8e7]) == 3 and most_ticks([]) == 6


def test_an_interval_far_longer_than_the_values_is_cut() -> None:
    assert highest_shown([1.0, 2.0], [1.5, None]) == 2.0
    assert highest_shown([1.0, 2.0], [1.5, 3.0]) == 3.0
    assert highest_shown([1.0, 2.0], [1e6, 3.0]) == 4.0


def test_given_ticks_are_kept_and_linear_axes_left_alone() -> None:
    assert axis_ticks(Axis("", log=True, ticks=(1.0, 3.0)), [1.0]) == (1.0, 3.0)
    assert axis_ticks(Axis(""), [1.0]) == ()


def test_names_of_points_do_not_cover_each_other() -> None:
    points = [Mark(1.0, 1.0, "one"), Mark(1.01, 1.0, "covered"), Mark(9.0, 9.0, "right"), Mark(1.0, 9.0)]
    names = point_names(panel("points", Series("s", points)))
    assert [(name.mark.name, name.to_the_left) for name in names] == [("one", False), ("right", True)]


def test_styles_differ_by_more_than_colour() -> None:
    looks = styles([str(number) for number in range(20)])
    assert len({(look.colour, look.bokeh_shape, look.dash) for look in looks.values()}) == 20
    neighbours = list(looks.values())[:5]
    assert len({look.bokeh_shape for look in neighbours}) == 5  # told apart without any colour


@pytest.mark.parametrize("kind", ["lines", "points", "bars", "dots"])
def test_bokeh_figures_follow_the_width_and_have_tooltips(kind: str) -> None:
    pytest.importorskip("bokeh")
    from bokeh.models import GlyphRenderer, HoverTool

    from convnet_benchmarks.commands.report.bokeh import draw

    tips = [("net", "<b>&"), ("time", "1.5 ms")]
    series = Series("s", [Mark(1.0, 2.0, "a", tips, 1.9, 2.1), Mark(10.0, 3.0, "b", tips, 2.9, 3.1)])
    figure = draw(panel(kind, series, log=kind == "dots"), styles(["s"]))
    assert figure.sizing_mode == "stretch_width"
    assert figure.xaxis[0].axis_label == "x [images/s]"
    hover = figure.select_one(HoverTool)
    shown = hover.renderers[0].data_source.data["tip"][0]
    assert "1.5 ms" in shown and "&lt;b&gt;&amp;" in shown  # names from files are no HTML
    named = [one for one in figure.select(GlyphRenderer) if one.name == "s"]
    assert named, "the legend finds its series by name"
    # A touch on the chart must scroll the page.
    assert figure.toolbar.active_drag is None and figure.toolbar.active_scroll is None


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from convnet_benchmarks.commands.report.matplotlib import save_png

    points = Panel(
        "points",
        "points",
        Axis("x", log=True),
        Axis("y", log=True),
        [Series("s", [Mark(1.0, 2.0, "name", low=1.5, high=2.5)])],
        [Guide("roof", [(1.0, 1.0), (2.0, 3.0)])],
    )
    chart = Chart("text", [points, bars(), bars("dots"), panel("lines")], Table("", [Column("x")]))
    path = tmp_path / "chart.png"
    save_png(chart, "Title", str(path))
    assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000

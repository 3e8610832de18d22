"""The package itorch outside of a notebook, and what it hands to bokeh."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import run_lua

CHANNEL = """
local cjson, channel, python = require 'cjson', require 'itorch.channel', require('th.python').functions
"""


def test_itorch_is_no_global_of_scripts(tmp_path: Path) -> None:
    run_lua(tmp_path, "assert(itorch == nil) local found = require 'itorch' assert(itorch == found)")


def test_scripts_are_told_where_pictures_are_shown(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'itorch'
        local ok, text = pcall(itorch.html, '<b>x</b>')
        assert(not ok and text:match('only a notebook can show this; th %-%-install%-kernel'), text)
        assert(torch.type(itorch.Plot():draw()) == 'table') -- as in iTorch, nothing is drawn
        """,
    )


def described(folder: Path, code: str) -> dict[str, Any]:
    """Returns what Lua tells bokeh of ``plot``."""
    run_lua(
        folder,
        f"""
        local Plot = require 'itorch.Plot'
        {code}
        local file = io.open({str(folder / "plot.json")!r}, 'w')
        file:write(plot:_description())
        file:close()
        """,
    )
    description: dict[str, Any] = json.loads((folder / "plot.json").read_text())
    return description


def numbers(column: dict[str, str]) -> list[float]:
    return [float(number) for number in column["numbers"].split()]


def test_glyphs_have_their_columns(tmp_path: Path) -> None:
    plot = described(
        tmp_path,
        """
        local x = torch.range(1, 3)
        local colors, texts = { 'red', 'blue', 'green' }, { 'a', 'b', 'c' }
        local plot = Plot():circle(x, { 4, 5, 0/0 }, colors, 'some', { foo = texts })
           :segment(x, x, x + 1, x + 1):text(x, x, { 1, 'b', 'c' }, 0.5, 'black')
           :hover_tool{ { 'xy', '@x @y' } }:title('T'):legend(true)
        """,
    )
    circle, segment, text = plot["glyphs"]
    assert numbers(circle["columns"]["x"]) == [1, 2, 3]
    assert numbers(circle["columns"]["y"])[:2] == [4, 5]
    assert circle["columns"]["y"]["numbers"].split()[2].endswith("nan")
    assert circle["columns"]["foo"] == ["a", "b", "c"]
    assert circle["settings"] == {"color": ["red", "blue", "green"], "legend": "some"}
    assert segment["kind"] == "segment" and numbers(segment["columns"]["x1"]) == [2, 3, 4]
    assert text["columns"]["text"] == ["1", "b", "c"]
    assert numbers(text["columns"]["angle"]) == [0.5] * 3
    assert (plot["title"], plot["legend"], plot["tooltips"]) == ("T", True, [[["xy", "@x @y"]]])


def test_groups_have_a_color_each(tmp_path: Path) -> None:
    plot = described(tmp_path, "local plot = Plot():gscatter({ 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 7 })")
    first, second = plot["glyphs"]
    assert numbers(first["columns"]["x"]) == [1, 3] and numbers(second["columns"]["y"]) == [5]
    assert first["settings"] == {"color": "red", "legend": "Class 7"}
    assert second["settings"] == {"color": "blue", "legend": "Class 8"}
    assert plot["legend"]


def test_a_quiver_begins_at_the_elements(tmp_path: Path) -> None:
    plot = described(
        tmp_path,
        "local plot = Plot():quiver(torch.Tensor{ { 1, 2, 3 } }, torch.Tensor{ { 4, 5, 6 } }, 'red', '', 1)",
    )
    shaft = plot["glyphs"][0]["columns"]
    assert numbers(shaft["x0"]) == [1, 1, 1] and numbers(shaft["y0"]) == [1, 2, 3]
    assert numbers(shaft["x1"]) == [2, 3, 4] and numbers(shaft["y1"]) == [5, 7, 9]
    assert len(plot["glyphs"]) == 3


def test_a_histogram_counts(tmp_path: Path) -> None:
    plot = described(tmp_path, "local plot = Plot():histogram(torch.Tensor{ 0, 1, 1, 4 }, 2)")
    bars = plot["glyphs"][0]["columns"]
    assert numbers(bars["x0"]) == [0, 2] and numbers(bars["x1"]) == [2, 4]
    assert numbers(bars["y0"]) == [0, 0] and numbers(bars["y1"]) == [3, 1]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("circle(torch.ones(2), torch.ones(3))", "same length"),
        ("circle(torch.ones(2, 2), torch.ones(2))", "x has to be a tensor of one dimension or a table"),
        ("histogram(torch.Tensor{ 0/0 })", "a histogram cannot hold NaN"),
        ("quiver(torch.ones(2, 2), torch.ones(3, 3))", "matrices of the same size"),
        ("save('/')", "the name of a file"),
    ],
)
def test_wrong_arguments(tmp_path: Path, call: str, problem: str) -> None:
    run_lua(
        tmp_path,
        f"""
        local Plot = require 'itorch.Plot'
        local ok, text = pcall(function() Plot():{call} end)
        assert(not ok and text:find({problem!r}, 1, true) and text:find('script.lua'), text)
        """,
    )


def test_a_page_has_all_kinds_of_glyphs(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    page = tmp_path / "page.html"
    run_lua(
        tmp_path,
        f"""
        local x = torch.range(1, 3)
        require 'itorch'
        itorch.Plot():circle(x, x):triangle(x, x, {{ 'red', 'blue', '#00ff00' }}):line(x, x, 'green')
           :segment(x, x, x + 1, x + 1):quad(x, x, x + 1, x + 1):text(x, x, 'one for all', 0, 'black', '9pt')
           :circle({{}}, {{}}):hover_tool{{ {{ 'x', '@x' }} }}:title('All of them'):legend(true)
           :save({str(page)!r})
        """,
    )
    text = page.read_text()
    assert "<title>All of them</title>" in text and not re.search(r"<script[^>]+src=", text)
    for name in ("Scatter", "Line", "Segment", "Quad", "Text", "HoverTool", "Legend"):
        assert f'"name":"{name}"' in text, name

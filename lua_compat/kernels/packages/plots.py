"""Plots of the Lua package itorch, drawn by bokeh: for a notebook, or as a page."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from lua_compat.kernels.packages.extras import extra
from lua_compat.kernels.strings import from_lua, to_lua

__all__ = ["plot_fragment", "plot_page"]
SANDBOXED: list[str] = []

_WIDTH, _HEIGHT = 600, 400
_POINT_SIZE, _SEGMENT_WIDTH = 10, 2

# The first plot of a kernel includes bokeh's library. After a page is reloaded, other plots may come first,
# or the first one may be missing: they wait for the library, and then load it from the network.
_FRAGMENT = """<div id="{place}"></div>
<script type="text/javascript">{library}</script>
<script type="text/javascript">
(function() {{
  const item = {item};
  const place = "{place}";
  function draw() {{ window.Bokeh.embed.embed_item(item, place); }}
  function load() {{
    const loader = document.createElement("script");
    loader.src = "{address}";
    loader.onload = draw;
    loader.onerror = function() {{
      document.getElementById(place).textContent =
        "Bokeh's library is missing: restart the kernel, whose first plot brings it along.";
    }};
    document.head.appendChild(loader);
  }}
  function wait(turns) {{
    if (window.Bokeh) draw();
    else if (turns === 0) load();
    else setTimeout(wait, 100, turns - 1);
  }}
  wait(30);
}})();
</script>"""


def plot_fragment(description: str, with_library: bool) -> str:
    """Returns HTML that draws a plot within a page; ``with_library``: bokeh's JavaScript is part of it."""
    extra("bokeh", "itorch.Plot", "bokeh", "jupyter")
    from bokeh.embed import json_item
    from bokeh.resources import Resources

    resources = Resources(mode="inline", components=["bokeh"])
    item = json.dumps(json_item(_figure(description))).replace("</", "<\\/")
    library = "\n".join(resources.js_raw) if with_library else ""
    address = Resources(mode="cdn", components=["bokeh"]).js_files[0]
    html = _FRAGMENT.format(place=uuid4(), library=library, item=item, address=address)
    return to_lua(html)


def plot_page(description: str) -> str:
    """Returns a page of HTML with a plot, which needs no network."""
    extra("bokeh", "itorch.Plot", "bokeh", "jupyter")
    from bokeh.embed import file_html
    from bokeh.resources import Resources

    figure = _figure(description)
    page = file_html(figure, Resources(mode="inline"), figure.title.text)
    return to_lua(page)


def _figure(description: str) -> Any:
    """Draws a plot described by Lua: title, xaxis, yaxis, legend, tooltips, and glyphs of kind, columns and
    settings."""
    from bokeh.models import HoverTool
    from bokeh.plotting import figure

    plot = json.loads(from_lua(description))
    drawn = figure(
        width=_WIDTH, height=_HEIGHT, title=plot["title"], x_axis_label=plot.get("xaxis"),
        y_axis_label=plot.get("yaxis"), tools="pan,wheel_zoom,box_zoom,save,reset",
    )  # fmt: skip
    for glyph in plot["glyphs"]:
        columns = {name: _column(values) for name, values in glyph["columns"].items()}
        _add(drawn, glyph["kind"], columns, dict(glyph["settings"]))
    for tooltips in plot["tooltips"]:
        drawn.add_tools(HoverTool(tooltips=[tuple(pair) for pair in tooltips]))
    for legend in drawn.legend:
        legend.visible = plot["legend"]
    return drawn


def _column(values: Any) -> Sequence[Any] | np.ndarray:
    """Returns a list of strings unchanged, and numbers, which are passed as one string, as an array."""
    if isinstance(values, dict):
        return np.array(values.get("numbers", "").split(), dtype=np.float64)
    return list(values)


def _add(drawn: Any, kind: str, columns: dict[str, Any], settings: dict[str, Any]) -> None:
    """Adds a glyph. A color for each point is one more column."""
    from bokeh.models import ColumnDataSource

    color, label = settings.pop("color", None), settings.pop("legend", None)
    if isinstance(color, list):
        columns["color"], color = color, "color"
    common: dict[str, Any] = {"source": ColumnDataSource(columns)}
    if label is not None:
        common |= {"legend_label": label}
    if kind in ("circle", "triangle"):
        drawn.scatter("x", "y", marker=kind, size=_POINT_SIZE, color=color, fill_alpha=0.2, **common)
    elif kind == "line":
        line_color = columns["color"][0] if color == "color" and columns["color"] else color
        drawn.line("x", "y", line_color=line_color, **common)
    elif kind == "segment":
        drawn.segment("x0", "y0", "x1", "y1", line_color=color, line_width=_SEGMENT_WIDTH, **common)
    elif kind == "quad":
        drawn.quad(left="x0", bottom="y0", right="x1", top="y1", color=color, fill_alpha=0.7, **common)
    elif kind == "text":
        angle = {"angle": "angle"} if "angle" in columns else {}
        drawn.text("x", "y", text="text", **angle, **settings, **common)

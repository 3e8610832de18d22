"""Figures of the Lua package gnuplot, drawn with matplotlib (the extra ``packages``)."""

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from lua_compat.kernels.packages.extras import extra

_POINTS_PER_INCH = 72
_COLORS = ("#1d4599", "#11ad34", "#e62b17", "#e69f17", "#7297e6", "#67eb84", "#f97a6d", "#f9c96d")

# gnuplot.torch's short names for gnuplot's styles
_STYLES = {"+": "points", ".": "dots", "-": "lines", "+-": "linespoints", "|": "boxes", "~": "csplines",
           "v": "vectors", "V": "vectors", "": "linespoints"}  # fmt: skip
_LINE_STYLES: dict[str, dict[str, Any]] = {
    "points": {"linestyle": "", "marker": "+"},
    "dots": {"linestyle": "", "marker": ",", "alpha": 0.8},
    "lines": {},
    "linespoints": {"marker": "o", "markersize": 3},
    "impulses": {"linestyle": "", "marker": "|"},
}
_SPLINE_POINTS = 300
# Files are reproducible, text stays text, and nothing is transparent (PostScript has no transparency).
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "gnuplot",
    "svg.fonttype": "none",
    "legend.framealpha": 1,
    **{f"axes3d.{axis}axis.panecolor": (0.95, 0.95, 0.95, 1) for axis in "xyz"},
}
_PALETTES = {"gray": "gray", "color": "gnuplot"}  # matplotlib's "gnuplot" is gnuplot's palette


def draw_figure(
    content: dict[str, Any], arrays: Sequence[np.ndarray], settings: dict[str, Any],
    kind: str, size: tuple[float, float],
) -> bytes:  # fmt: skip
    """Returns a figure, whose series point into ``arrays`` (float64), as the bytes of a png, pdf, svg or eps;
    ``size``: its width and height in points. Raises ValueError for styles or colors that do not exist."""
    matplotlib = extra("matplotlib", "gnuplot", "matplotlib")
    figures = extra("matplotlib.figure", "gnuplot", "matplotlib")
    inches = tuple(side / _POINTS_PER_INCH for side in size)
    written = io.BytesIO()
    with matplotlib.rc_context(_SETTINGS):
        drawing = figures.Figure(figsize=inches, dpi=_POINTS_PER_INCH, layout="tight")
        solid = content["kind"] in ("surfaces", "points")
        axes = drawing.add_subplot(projection="3d" if solid else None)
        _DRAW[content["kind"]](axes, content, [_arrays_of(one, arrays) for one in content["series"]])
        _set(axes, settings, solid)
        drawing.savefig(written, format=kind, dpi=_POINTS_PER_INCH)
    return written.getvalue()


def _arrays_of(series: dict[str, Any], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return list(arrays[series["first"] : series["first"] + series["count"]])


def _style(text: str) -> tuple[str, dict[str, Any]]:
    """Returns the style that a format names, and what else it says: the width and color of a line."""
    weight = re.fullmatch(r"(?:~|acsplines)\s*([\d.]+)", text.strip())
    if weight or text.strip() == "acsplines":
        return "acsplines", {"weight": float(weight[1]) if weight else 1.0}
    named = re.search(r"(?:with|w|smooth)\s+(\w+)", text)
    style = named[1] if named else _STYLES.get(text, text)
    options: dict[str, Any] = {}
    if width := re.search(r"\b(?:lw|linewidth)\s+([\d.]+)", text):
        options["linewidth"] = float(width[1])
    if color := re.search(r"\b(?:lc|linecolor)\s+(?:rgb|rgbcolor)\s+['\"]([#\w]+)['\"]", text):
        options["color"] = color[1]
    return style, options


def _smooth(x: np.ndarray, y: np.ndarray, weight: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns a cubic spline through points, or (``weight``) one that is the smoother the smaller that is."""
    interpolate = extra("scipy.interpolate", "gnuplot", "scipy")
    places, first = np.unique(x, return_index=True)
    if len(places) < 3 or (weight is not None and len(places) < 5):
        return x, y
    fine = np.linspace(places[0], places[-1], _SPLINE_POINTS)
    if weight is None:
        return fine, interpolate.CubicSpline(places, y[first], bc_type="natural")(fine)
    return fine, interpolate.make_smoothing_spline(places, y[first], lam=1 / max(weight, 1e-9))(fine)


def _lines(axes: Any, content: dict[str, Any], arrays: list[list[np.ndarray]]) -> None:
    for number, (series, (x, y)) in enumerate(zip(content["series"], arrays, strict=True)):
        style, options = _style(series["format"])
        weight = options.pop("weight", None)
        options = {"color": _COLORS[number % len(_COLORS)], "label": series["legend"] or None} | options
        if style == "vectors" and y.ndim == 2:
            starts, lengths = (x[:, 0], y[:, 0]), (x[:, 1], y[:, 1])
            axes.quiver(*starts, *lengths, angles="xy", scale_units="xy", scale=1, width=0.003, **options)
        elif y.ndim == 2 and y.shape[1] >= 2 and "filled" in style:
            axes.fill_between(x, y[:, 0], y[:, 1], alpha=0.4, linewidth=0, **options)
        elif y.ndim == 2 and "error" in style:
            axes.errorbar(x, y[:, 0], y[:, 1:3].T if y.shape[1] == 2 else None, capsize=2, **options)
        elif style in ("boxes", "histograms"):
            gaps = np.diff(np.unique(x))
            width = gaps.min() if len(gaps) else 1
            axes.bar(x, y, width=width, fill=False, edgecolor=options.pop("color"), **options)
        else:
            if style in ("csplines", "acsplines"):
                x, y = _smooth(x, y, weight)
            axes.plot(x, y, **(_LINE_STYLES.get(style, {}) | options))


def _surfaces(axes: Any, content: dict[str, Any], arrays: list[list[np.ndarray]]) -> None:
    for number, (series, (x, y, z)) in enumerate(zip(content["series"], arrays, strict=True)):
        color = _COLORS[number % len(_COLORS)]
        axes.plot_wireframe(x, y, z, color=color, linewidth=0.6, label=series["legend"] or None)
        if min(z.shape) > 1 and np.ptp(z) > 0:
            axes.contour(x, y, z, zdir="z", offset=z.min(), linewidths=0.8)


def _points(axes: Any, content: dict[str, Any], arrays: list[list[np.ndarray]]) -> None:
    for number, (series, (x, y, z)) in enumerate(zip(content["series"], arrays, strict=True)):
        axes.scatter(
            x, y, z, color=_COLORS[number % len(_COLORS)], marker="+", label=series["legend"] or None
        )


def _picture(axes: Any, content: dict[str, Any], arrays: list[list[np.ndarray]]) -> None:
    ((matrix,),) = arrays
    shown = axes.imshow(matrix, cmap=_PALETTES.get(content["palette"], "gnuplot"), aspect="auto")
    axes.figure.colorbar(shown)


_DRAW = {"lines": _lines, "surfaces": _surfaces, "points": _points, "picture": _picture}


def _legend_place(place: list[str]) -> str:
    horizontal, vertical = place
    if vertical == "middle":
        return "center" if horizontal == "center" else f"center {horizontal}"
    return f"{ {'top': 'upper', 'bottom': 'lower'}[vertical] } {horizontal}"


def _set(axes: Any, settings: dict[str, Any], solid: bool) -> None:
    if "title" in settings:
        axes.set_title(_plain(settings["title"]))
    for name in ("xlabel", "ylabel", *(["zlabel"] if solid else [])):
        if name in settings:
            getattr(axes, f"set_{name}")(_plain(settings[name]))
    if settings.get("grid") is not None:
        axes.grid(settings["grid"])
    for axis in "xy":
        if settings.get(f"log_{axis}"):
            getattr(axes, f"set_{axis}scale")("log")
        if settings.get(f"{axis}_range"):
            getattr(axes, f"set_{axis}lim")(*settings[f"{axis}_range"])
    if settings.get("aspect") == "equal":
        axes.set_aspect("equal")
    elif settings.get("aspect") == "square" and not solid:
        axes.set_box_aspect(1)
    if axes.get_legend_handles_labels()[1] and not settings.get("no_legend"):
        axes.legend(loc=_legend_place(settings["legend"]) if "legend" in settings else "upper right")


def _plain(text: str) -> str:
    """Escapes matplotlib's mathematical notation in a text."""
    return text.replace("$", r"\$")

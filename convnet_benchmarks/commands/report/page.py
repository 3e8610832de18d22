"""The report as one HTML page that loads nothing: charts, tables, scripts and styles are in it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.commands.report.bokeh import draw
from convnet_benchmarks.commands.report.chart import Chart
from convnet_benchmarks.commands.report.overview import Overview
from convnet_benchmarks.commands.report.style import Style, styles
from convnet_benchmarks.tables import Table

if TYPE_CHECKING:
    from convnet_benchmarks.history import Source

# The browser itself refuses what the page should not do: load anything.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
# A table of more rows is folded.
_LONG = 12
# A cell of more characters wraps; others keep to a line, so that rows are of one height.
_LONG_CELL = 48


@dataclass(frozen=True)
class Section:
    """One plot of the report; ``chart`` is None if its data is absent, and ``command`` makes that data."""

    name: str
    title: str
    command: str
    chart: Chart | None


def page_text(
    title: str,
    files: Sequence[str],
    sections: Sequence[Section],
    sources: "Sequence[Source]",
    machines: Sequence[str] = (),
    overview: Overview | None = None,
) -> str:
    """Returns the whole page.

    ``files``: what the results were read from, ``machines``: what they were measured on, as said on the page.
    """
    figures: dict[str, Any] = {}
    shown = [_section(section, section.chart, figures) for section in sections if section.chart]
    absent = [section for section in sections if not section.chart]
    body = [
        f"<header><h1>{escape(title)}</h1>",
        f'<p class="faint">convnet-benchmarks, {datetime.now().astimezone():%d %B %Y, %H:%M}; '
        f"from {escape(', '.join(files))}</p>",
        *(f'<p class="faint">{escape(machine)}</p>' for machine in machines),
        *([_overview(overview)] if overview else []),
        _navigation(sections),
        "</header><main>",
        *shown,
        *([_absent(absent)] if absent else []),
        *([_sources(sources)] if sources else []),
        "</main>",
    ]
    return _document(title, "\n".join(body), figures)


def _document(title: str, body: str, figures: dict[str, Any]) -> str:
    from bokeh.resources import Resources

    library = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    # '</script' would end the script element, and '<!--<script>' keep its end from being seen.
    data = json.dumps(figures, allow_nan=False).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{_own_file("style.css")}</style>
</head>
<body>
{body}
<script>{library}</script>
<script type="application/json" id="figures">{data}</script>
<script>
{_own_file("page.js")}</script>
</body>
</html>
"""


def _own_file(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _overview(overview: Overview) -> str:
    lines = "".join(f"<p>{escape(line)}</p>" for line in overview.lines)
    return f'<div id="overview">{lines}{table_html(overview.best) if overview.best else ""}</div>'


def _navigation(sections: Sequence[Section]) -> str:
    links = [
        f'<li><a href="#{section.name}">{escape(section.title)}</a></li>'
        for section in sections
        if section.chart
    ]
    if len(links) < len(sections):
        links.append('<li><a href="#absent">Absent</a></li>')
    return f'<nav aria-label="Plots"><ul>{"".join(links)}</ul></nav>'


def _section(section: Section, chart: Chart, figures: dict[str, Any]) -> str:
    from bokeh.embed import json_item

    looks = styles(chart.series_names)
    hosts = []
    for number, panel in enumerate(chart.panels):
        key = f"{section.name}-{number}"
        figure = draw(panel, looks)
        figures[key] = json_item(figure)
        # The place is kept before the chart is drawn: links land where they should.
        height = f"min-height: {figure.height}px"
        title = f"<figcaption>{escape(panel.title)}</figcaption>" if panel.title else ""
        host = f'<div id="figure-{key}" data-figure="{key}" style="{height}"></div>'
        hosts.append(f"<figure>{title}{host}</figure>")
    name = section.name
    said = [*([chart.key] if chart.key else []), *chart.notes]
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in said)
    return f"""<section id="{name}" aria-labelledby="{name}-title">
<h2 id="{name}-title">{escape(section.title)}</h2>
<p>{escape(chart.text)}</p>
{_legend(chart, looks)}
<div class="panels" role="group" aria-label="{escape(section.title)}: charts; their numbers are below">
{"".join(hosts)}
</div>
{notes}
{_folded(chart.table)}
</section>"""


def _legend(chart: Chart, looks: dict[str, Style]) -> str:
    if len(chart.series_names) < 2:
        return ""
    items = "".join(
        f'<li><button type="button" aria-pressed="true" data-series="{escape(name)}">'
        f'<span aria-hidden="true" style="color:{looks[name].colour}">{looks[name].character}</span> '
        f"{escape(name)}</button></li>"
        for name in chart.series_names
    )
    return f'<ul class="legend" aria-label="Series; press to hide or show">{items}</ul>'


def _folded(table: Table) -> str:
    if len(table.rows) <= _LONG:
        return table_html(table)
    return f"<details><summary>The numbers ({len(table.rows)} rows)</summary>{table_html(table)}</details>"


def table_html(table: Table) -> str:
    """Returns the table as HTML in a box that scrolls sideways by itself."""
    numeric = table.numeric()
    heads = "".join(
        f'<th scope="col"{_number(right)}>{escape(column.title)}</th>'
        for column, right in zip(table.columns, numeric, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_look(cell, right)}>{escape(cell)}</td>" for cell, right in zip(row, numeric, strict=True)
        )
        + "</tr>"
        for row in table.texts()
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    # A box that scrolls must be reachable with the keyboard.
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>{caption}'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{notes}"
    )


def _number(right: bool) -> str:
    return ' class="number"' if right else ""


def _look(cell: str, right: bool) -> str:
    return ' class="long"' if len(cell) > _LONG_CELL else _number(right)


def _absent(sections: Sequence[Section]) -> str:
    items = "".join(
        f"<p><strong>{escape(section.title)}</strong>: no data in the files given. To make it:</p>"
        f"<pre><code>{escape(section.command)}</code></pre>"
        for section in sections
    )
    heading = '<h2 id="absent-title">Absent</h2>'
    return f'<section id="absent" aria-labelledby="absent-title">{heading}{items}</section>'


def _sources(sources: "Sequence[Source]") -> str:
    items = []
    for source in sources:
        said = ", ".join(filter(None, (source.author, source.date)))
        link = (
            f' <a href="{escape(source.url)}" rel="noreferrer">{escape(source.url)}</a>' if source.url else ""
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in source.notes)
        items.append(
            f"<details><summary>{escape(source.title)}</summary><p>{escape(said)}.{link}</p>"
            f"<p>{escape(source.machine)}</p><ul>{notes}</ul></details>"
        )
    return (
        '<section id="sources" aria-labelledby="sources-title"><h2 id="sources-title">Published results</h2>'
        f"<p>The sources of the published numbers on this page.</p>{''.join(items)}</section>"
    )

"""``convnet-benchmarks report``: results as one HTML page of charts, and as pictures."""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from convnet_benchmarks.commands.report import over_time
from convnet_benchmarks.commands.report.data import ReportData
from convnet_benchmarks.commands.report.machines import machines
from convnet_benchmarks.commands.report.matplotlib import save_png
from convnet_benchmarks.commands.report.overview import overview
from convnet_benchmarks.commands.report.page import Section, page_text
from convnet_benchmarks.commands.report.plots import all_plots
from convnet_benchmarks.errors import UserError, unknown
from convnet_benchmarks.history import read_sources
from convnet_benchmarks.options.study import open_output, study_parser
from convnet_benchmarks.options.types import names
from convnet_benchmarks.output import OutputFile
from convnet_benchmarks.results.load import load_all
from convnet_benchmarks.tables import Column, Table
from lua_compat.optional_packages import pip_install

if TYPE_CHECKING:
    from convnet_benchmarks.commands.report.page import Section
    from convnet_benchmarks.history import Source
    from convnet_benchmarks.tables import Table

SUMMARY = "results as one HTML page of charts (and PNG), with the published numbers"

_DESCRIPTION = """\
Draws every chart that the files have data for: throughput and memory against batch size, the largest batch,
throughput across hardware, accuracy against throughput, time by layer, roofline, and published numbers of
2015 to 2018 next to new ones. The page loads nothing from anywhere. Missing charts are named, with the
command that makes their data. Needs bokeh, and --png matplotlib: the packages of the extra [report]."""
_EXAMPLES = (
    "sweep.jsonl --out report.html",
    "sweep.jsonl ops.json roofline.json alexnet.json titanx_2015.log --out report.html --png pictures",
    "--over-time 2026-10-01.jsonl 2026-11-01.jsonl --out trend.html",
    "cpu.jsonl h200.jsonl --title 'Two machines' --plots throughput_batch,throughput_hardware",
)


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns 0; raises UserError for bad input."""
    options = _parser(program).parse_args(arguments)
    require_package("bokeh", "the page")
    if options.png is not None:
        require_package("matplotlib", "option --png")
    with (
        open_output("report", options, others=["out"], inputs=options.files) as output,
        OutputFile("--out", options.out) as page_file,
    ):
        sources = [] if options.over_time else read_sources()
        data = ReportData(load_all(options.files), sources)
        sections, sources = _sections(options, data)
        pictures = _write_pictures(options, sections)
        given = [Path(path).name for path in options.files]
        head = (machines(data.files), overview(data))
        page_file.write(page_text(options.title, given, sections, sources, *head))
        written = [options.out, *pictures]
        output.write([_table(sections)], {"files": options.files, "written": written})
    print(f"written: {', '.join(written)}", file=sys.stderr)
    return 0


def _parser(program: str) -> argparse.ArgumentParser:
    parser = study_parser(program, _DESCRIPTION, _EXAMPLES)
    parser.usage = f"{program} FILE [FILE ...] [options]"
    parser.add_argument("files", nargs="+", metavar="FILE", help="results: --json, a sweep's points, logs")
    parser.add_argument("--out", default="report.html", metavar="FILE", help="the page [report.html]")
    parser.add_argument("--png", metavar="FOLDER", help="also write each plot as a PNG file in FOLDER")
    parser.add_argument("--title", default="Convnet benchmarks", help="of the page")
    parser.add_argument(
        "--over-time",
        action="store_true",
        help="another page: the same measurements of several dates or commits, a file each",
    )
    parser.add_argument(
        "--plots", type=names, metavar="NAMES", help="only these, separated by commas (default: all)"
    )
    return parser


def require_package(package: str, what: str) -> None:
    """Raises UserError with what to install, unless the package is there that ``what`` needs."""
    if importlib.util.find_spec(package) is None:
        raise UserError(f"{what} needs {package}: {pip_install('report')}")


def _sections(options: argparse.Namespace, data: ReportData) -> "tuple[list[Section], list[Source]]":

    if options.over_time:
        if options.plots is not None:
            raise UserError("option --plots: --over-time has one plot")
        return [Section("over_time", over_time.TITLE, over_time.COMMAND, over_time.chart(data.files))], []
    plots = all_plots()
    wanted = list(plots) if options.plots is None else options.plots
    wrong = [name for name in wanted if name not in plots]
    if wrong:
        raise UserError(f"option --plots: {unknown('plot', wrong[0], plots)}")
    sections = [
        Section(name, plot.TITLE, plot.COMMAND, plot.chart(data))
        for name, plot in plots.items()
        if name in wanted
    ]
    return sections, list(data.sources)


def _write_pictures(options: argparse.Namespace, sections: "Sequence[Section]") -> list[str]:
    """Returns the paths of the PNG files."""
    if options.png is None:
        return []

    written = []
    try:
        folder = Path(options.png)
        if folder.exists() and not folder.is_dir():
            raise UserError(f"option --png: '{options.png}' is a file; accepted: a folder, which may be new")
        folder.mkdir(parents=True, exist_ok=True)
        for section in sections:
            if section.chart:
                path = str(Path(options.png, f"{section.name}.png"))
                save_png(section.chart, section.title, path)
                written.append(path)
    except OSError as error:
        raise UserError(f"option --png: cannot write '{error.filename}': {error.strerror}") from None
    return written


def _table(sections: "Sequence[Section]") -> "Table":

    table = Table(
        "Plots", [Column("plot"), Column("panels"), Column("numbers"), Column("absent; to make its data")]
    )
    for section in sections:
        chart = section.chart
        panels, numbers = (len(chart.panels), len(chart.table.rows)) if chart else (None, None)
        table.rows.append((section.name, panels, numbers, None if chart else section.command))
    return table

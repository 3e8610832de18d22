"""Draws the plots of the report from results in Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.api.results import ResultsOrPath, results_of
from convnet_benchmarks.commands.report import require_package
from convnet_benchmarks.commands.report.data import ReportData
from convnet_benchmarks.commands.report.matplotlib import drawn
from convnet_benchmarks.commands.report.plots import all_plots
from convnet_benchmarks.errors import UserError, unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def chart(results: ResultsOrPath | Sequence[ResultsOrPath], plot: str = "throughput_batch") -> "Figure":
    """Draws a plot of ``convnet-benchmarks report`` as a matplotlib figure, which a notebook shows.

    ``results``: a result or the path of a file, or several of them. Raises UserError for a plot that is
    unknown, or that needs other data, and if matplotlib is not installed.
    """
    plots = all_plots()
    if not isinstance(plot, str) or plot not in plots:
        raise UserError(f"chart: {unknown('plot', str(plot), plots)}")
    given: Sequence[Any] = results if isinstance(results, (list, tuple)) else [results]
    files = [results_of(one, "chart").file for one in given]
    if not files:
        raise UserError("chart: no result is given; accepted: one or more")
    found = plots[plot].chart(ReportData(files, []))
    if found is None:
        raise UserError(
            f"chart: nothing in these results for '{plot}'; to make its data: {plots[plot].COMMAND}"
        )
    require_package("matplotlib", "chart:")
    return drawn(found, plots[plot].TITLE)

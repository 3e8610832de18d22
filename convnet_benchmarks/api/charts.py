"""Draws the plots of the report from results in Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from convnet_benchmarks.api.results import Results
from convnet_benchmarks.commands.report.data import ReportData
from convnet_benchmarks.commands.report.matplotlib import drawn
from convnet_benchmarks.commands.report.plots import all_plots
from convnet_benchmarks.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def chart(results: Results | Sequence[Results], plot: str = "throughput_batch") -> "Figure":
    """Draws a plot of ``convnet-benchmarks report`` as a matplotlib figure, which a notebook shows.

    Raises UserError for a plot that is unknown, or that needs other data.
    """
    plots = all_plots()
    if plot not in plots:
        raise UserError(f"chart: unknown plot '{plot}'; accepted: {', '.join(plots)}")
    given = [results] if isinstance(results, Results) else list(results)
    found = plots[plot].chart(ReportData([one.file for one in given], []))
    if found is None:
        raise UserError(
            f"chart: nothing in these results for '{plot}'; to make its data: {plots[plot].COMMAND}"
        )
    return drawn(found, plots[plot].TITLE)

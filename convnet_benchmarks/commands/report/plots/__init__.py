"""The plots of the report: each module of this package is one, found by being here.

A plot has ``TITLE``; ``ORDER``, its place on the page; ``COMMAND``, the command line that makes its data;
and ``chart(data: ReportData) -> Chart | None``, None if its data is absent. It draws nothing itself: it
says in the words of ``chart.py`` what there is to see.
"""

import importlib
import pkgutil
from typing import Protocol, cast

from convnet_benchmarks.commands.report.chart import Chart
from convnet_benchmarks.commands.report.data import ReportData


class Plot(Protocol):
    """The contents of each module of this package."""

    TITLE: str
    ORDER: int
    COMMAND: str

    def chart(self, data: ReportData) -> Chart | None: ...


def all_plots() -> dict[str, Plot]:
    """Returns every plot by its module's name, in the order of the page."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = {name: cast(Plot, importlib.import_module(f"{__name__}.{name}")) for name in names}
    return dict(sorted(found.items(), key=lambda item: item[1].ORDER))

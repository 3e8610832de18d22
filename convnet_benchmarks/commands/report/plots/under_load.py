"""The loads of ``sweep --scenario``: a server's highest rate, and the latency of one query at a time."""

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import (
    ReportData,
    by_net,
    measurement_table,
    naming,
    of_quantity,
    tips,
    trust,
)
from convnet_benchmarks.points.scenario import SERVER, SINGLE_STREAM
from convnet_benchmarks.results.measurement import LATENCY, Measurement

TITLE = "Under load"
ORDER = 25
COMMAND = (
    "convnet-benchmarks sweep --nets alexnet --scenario server,single-stream --latency-target 100 "
    "--points load.jsonl"
)


def chart(data: ReportData) -> Chart | None:
    drawn = [one for one in data.measured if _is_drawn(one)]
    quantities = dict.fromkeys(one.quantity for one in drawn)
    groups = [
        [one for ones in by_net(of_quantity(drawn, quantity)).values() for one in ones]
        for quantity in quantities
    ]
    found = [one for group in groups for one in group]
    if not found:
        return None
    fields = ("net", "batch", "phase", "quantity", "value", "low", "high", "device", "software")
    return Chart(
        "The highest rate of random arrivals at which a server answers 99 of 100 queries in time, and the "
        "90th percentile of the latency when the next query is asked after each answer. The line of a rate "
        "ends at the lowest one that is too high.",
        [_panel(group) for group in groups],
        measurement_table(TITLE, found, fields),
    )


def _is_drawn(one: Measurement) -> bool:
    return one.phase == SERVER or (one.phase == SINGLE_STREAM and one.quantity == f"{LATENCY} p90")


def _panel(ones: list[Measurement]) -> Panel:
    name, first = naming(ones), ones[0]
    series = [
        Series(group, [_mark(one) for one in ones if name(one) == group])
        for group in dict.fromkeys(map(name, ones))
    ]
    axis = Axis(f"{first.quantity} [{first.unit}]")
    return Panel(first.phase.replace("-", " "), "dots", axis, Axis(""), series)


def _mark(one: Measurement) -> Mark:
    name = f"{one.net}, batch {one.batch}"
    return Mark(one.value, 0.0, name, tips(one), one.low, one.high, trust(one))

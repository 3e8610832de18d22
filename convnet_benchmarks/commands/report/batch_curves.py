"""A quantity against batch size, a panel for each net: what two plots have in common."""

from collections.abc import Callable

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import (
    FAR_APART,
    ReportData,
    by_net,
    measurement_table,
    naming,
    of_quantity,
    tips,
    trust,
)
from convnet_benchmarks.results.measurement import Measurement

# More batch sizes than this are too many to number each on the axis.
_MOST_TICKS = 9


def batch_curves(data: ReportData, quantity: str, text: str) -> Chart | None:
    """Returns the chart of ``quantity`` over the batch sizes measured; None if there is none."""
    found = [one for one in of_quantity(data.measured, quantity) if one.batch and one.value > 0]
    if not found:
        return None
    name = naming(found)
    places = {label: place for place, label in enumerate(dict.fromkeys(map(name, found)))}
    nets = by_net(sorted(found, key=lambda one: (places[name(one)], one.batch or 0)))
    panels = [_panel(net, ones, name) for net, ones in nets.items()]
    title = f"{quantity[:1].upper()}{quantity[1:]} against batch size"
    in_order = [one for ones in nets.values() for one in ones]
    fields = ("net", "batch", "value", "low", "high", "phase", "device", "software")
    return Chart(text, panels, measurement_table(title, in_order, fields))


def _panel(net: str, ones: list[Measurement], name: Callable[[Measurement], str]) -> Panel:
    groups: dict[str, list[Measurement]] = {}
    for one in ones:
        groups.setdefault(name(one), []).append(one)
    series = [
        Series(
            group,
            [
                Mark(float(one.batch or 0), one.value, "", tips(one), one.low, one.high, trust(one))
                for one in members
            ],
        )
        for group, members in groups.items()
    ]
    batches = sorted({float(one.batch or 0) for one in ones})
    values = [one.value for one in ones]
    return Panel(
        title=net,
        kind="lines",
        x=Axis("batch size", log=True, ticks=tuple(batches) if len(batches) <= _MOST_TICKS else ()),
        y=Axis(f"{ones[0].quantity} [{ones[0].unit}]", log=max(values) > FAR_APART * min(values)),
        series=series,
    )

"""The time of each layer of a net, a panel for each batch size."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import ReportData, measurement_table, naming, tips, trust
from convnet_benchmarks.results.measurement import TIME, Measurement

TITLE = "Time by layer"
ORDER = 60
COMMAND = "convnet-benchmarks ops --batch-sizes 1,32,256 --json ops.json"

# A net of more layers is shown by kind of layer.
_MOST_LAYERS = 24


def chart(data: ReportData) -> Chart | None:
    timed = [one for one in data.measured if one.quantity == TIME and one.op and "+" not in one.phase]
    if not timed:
        return None
    found: list[Measurement] = []
    notes = []
    for net in dict.fromkeys(one.net for one in timed):
        ones = [one for one in timed if one.net == net]
        if len({one.op for one in ones}) > _MOST_LAYERS:
            ones = _by_kind(ones)
            notes.append(f"{net}: layers of one kind are added up.")
        found += ones
    name = naming(found)
    keys = dict.fromkeys((one.net, one.batch, one.unit) for one in found)
    panels = [_panel([one for one in found if (one.net, one.batch, one.unit) == key], name) for key in keys]
    fields = ("net", "batch", "op", "phase", "device", "software", "value", "low", "high")
    return Chart(
        "Where the time of a pass goes, layer by layer in the order of the net; shorter is better.",
        panels,
        measurement_table(TITLE, found, fields),
        notes,
    )


def _panel(ones: Sequence[Measurement], name: Callable[[Measurement], str]) -> Panel:
    first = ones[0]
    series = [
        Series(group, [_mark(one) for one in ones if name(one) == group])
        for group in dict.fromkeys(map(name, ones))
    ]
    title = first.net + ("" if first.batch is None else f", batch {first.batch}")
    return Panel(title, "bars", Axis(f"{first.quantity} [{first.unit}]"), Axis(""), series)


def _mark(one: Measurement) -> Mark:
    return Mark(one.value, name=one.op, tips=tips(one), verdict=trust(one))


def _by_kind(ones: Sequence[Measurement]) -> list[Measurement]:
    """Returns layers added up by the last word of their name, their class; most time first."""
    sums: dict[tuple[object, ...], Measurement] = {}
    for one in ones:
        kind = one.op.split()[-1]
        key = kind, one.batch, one.phase, one.device, one.software, one.unit
        before = sums[key].value if key in sums else 0.0
        sums[key] = replace(one, op=kind, value=before + one.value, low=None, high=None, samples=0)
    return sorted(sums.values(), key=lambda one: -one.value)

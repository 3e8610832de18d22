"""The largest batch that each net runs with."""

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import ReportData, measurement_table, naming, of_quantity, tips
from convnet_benchmarks.results.measurement import LARGEST_BATCH

TITLE = "Largest batch size"
ORDER = 30
COMMAND = "convnet-benchmarks sweep --nets alexnet --batch-sizes none --largest-batch --points largest.jsonl"


def chart(data: ReportData) -> Chart | None:
    found = of_quantity(data.measured, LARGEST_BATCH)
    if not found:
        return None
    name = naming(found)
    found.sort(key=lambda one: -one.value)
    names = dict.fromkeys(name(one) for one in found)
    series = [
        Series(group, [Mark(one.value, name=one.net, tips=tips(one)) for one in found if name(one) == group])
        for group in names
    ]
    return Chart(
        "The largest batch that ran; one image more was out of memory, or over the budget of memory.",
        [Panel("", "bars", Axis("largest batch [images]"), Axis(""), series)],
        measurement_table(TITLE, found, ("net", "value", "phase", "device", "software")),
    )

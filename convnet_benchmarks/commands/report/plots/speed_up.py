"""The speed-up of each variant that ``backends`` compared, with its interval and verdict."""

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import (
    ReportData,
    by_net,
    measurement_table,
    of_quantity,
    tips,
    trust,
)
from convnet_benchmarks.results.measurement import SPEED_UP, Measurement

TITLE = "Speed-ups of backends"
ORDER = 35
COMMAND = "convnet-benchmarks backends --nets alexnet,resnet50_v1 --with stock,auto --points backends.jsonl"


def chart(data: ReportData) -> Chart | None:
    found = of_quantity(data.measured, SPEED_UP)
    if not found:
        return None
    found = [one for ones in by_net(found).values() for one in ones]
    fields = ("net", "batch", "device", "software", "value", "low", "high", "samples")
    references = dict.fromkeys(one.unit for one in found)
    return Chart(
        "How many times as fast as the reference each variant is, from times taken in turns; the thick line "
        "is the 95 % interval. To the right of the dashed line, at 1, it is faster.",
        [_panel(unit, [one for one in found if one.unit == unit]) for unit in references],
        measurement_table(TITLE, found, fields),
    )


def _panel(unit: str, ones: list[Measurement]) -> Panel:
    series = [
        Series(name, [_mark(one) for one in ones if one.software == name])
        for name in dict.fromkeys(one.software for one in ones)
    ]
    title = f"against {unit.removeprefix('times ')}"
    return Panel(title, "dots", Axis("times as fast"), Axis(""), series, line_at=1.0)


def _mark(one: Measurement) -> Mark:
    name = ", ".join(filter(None, (one.net, f"batch {one.batch}" if one.batch else "")))
    lines = tips(one, ("pairs", str(one.samples)))
    return Mark(one.value, 0.0, name, lines, one.low, one.high, trust(one))

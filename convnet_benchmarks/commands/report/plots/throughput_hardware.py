"""The highest throughput of each net on each device."""

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import (
    FAR_APART,
    ReportData,
    by_net,
    measurement_table,
    of_quantity,
    tips,
    trust,
)
from convnet_benchmarks.results.measurement import THROUGHPUT, Measurement

TITLE = "Throughput across hardware"
ORDER = 40
COMMAND = "convnet-benchmarks sweep --nets alexnet,resnet50_v2 --devices cpu,cuda --points sweep.jsonl"


def chart(data: ReportData) -> Chart | None:
    found = of_quantity(data.measured, THROUGHPUT)
    if not found:
        return None
    devices = list(dict.fromkeys(one.device for one in found))
    nets = {net: _best(ones) for net, ones in by_net(found).items()}
    best = [one for ones in nets.values() for one in ones]
    # A processor's bar beside a GPU's would be too short to see.
    far_apart = any(ones[0].value > FAR_APART * ones[-1].value for ones in nets.values())
    panels = [
        Panel(
            title=net,
            kind="dots" if far_apart else "bars",
            x=Axis(f"{THROUGHPUT} [{ones[0].unit}]", log=far_apart),
            y=Axis(""),
            series=[
                Series(device, [_mark(one) for one in ones if one.device == device]) for device in devices
            ],
        )
        for net, ones in nets.items()
    ]
    return Chart(
        "The best of all batch sizes that were measured, for each device and its software; higher is better. "
        "Give the files of several machines to see them side by side.",
        panels,
        measurement_table(TITLE, best, ("net", "device", "software", "phase", "batch", "value")),
    )


def _best(ones: list[Measurement]) -> list[Measurement]:
    """Returns the fastest batch size for each device, software and phase, fastest first."""
    best: dict[tuple[str, ...], Measurement] = {}
    for one in ones:
        key = one.device, one.software, one.phase
        if key not in best or one.value > best[key].value:
            best[key] = one
    return sorted(best.values(), key=lambda one: -one.value)


def _mark(one: Measurement) -> Mark:
    conditions = ", ".join(filter(None, (one.software, one.phase, f"batch {one.batch}")))
    return Mark(one.value, name=f"{one.device}: {conditions}", tips=tips(one), verdict=trust(one))

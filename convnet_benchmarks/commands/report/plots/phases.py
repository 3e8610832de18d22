"""The phases of a pass in the Torch7 scripts: updateOutput, updateGradInput, accGradParameters."""

from collections.abc import Sequence
from pathlib import Path

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import (
    FAR_APART,
    ReportData,
    by_net,
    measurement_table,
    tips,
    trust,
)
from convnet_benchmarks.results.load import ResultFile
from convnet_benchmarks.results.measurement import TIME, Measurement

TITLE = "Phases"
ORDER = 5
COMMAND = "convnet-benchmarks benchmark --net alexnet_owt --batch-size 128 --json alexnet.json"

PHASES = ("updateOutput", "updateGradInput", "accGradParameters")


def chart(data: ReportData) -> Chart | None:
    names = {id(one): _name(one, file, data.files) for file in data.files for one in file.measurements}
    timed = [
        one
        for one in data.measured
        if one.quantity == TIME and one.phase in PHASES and not one.op and one.value > 0
    ]
    nets = by_net(timed)
    if not nets:
        return None
    fields = ("net", "batch", "phase", "value", "low", "high", "device", "software")
    return Chart(
        "Where the time of a pass goes: the output, the gradient of the input, the gradient of the "
        "parameters; shorter is better. A log of Torch7 stands beside the runs of the same net.",
        [_panel(net, ones, names) for net, ones in nets.items()],
        measurement_table(TITLE, [one for ones in nets.values() for one in ones], fields),
    )


def _name(one: Measurement, file: ResultFile, files: Sequence[ResultFile]) -> str:
    """Returns the conditions of a run, with the name of its file where there are several files."""
    batch = f"batch {one.batch}" if one.batch else ""
    path = Path(file.path).name if len(files) > 1 else ""
    return ", ".join(filter(None, (one.device, one.software, batch, path)))


def _panel(net: str, ones: Sequence[Measurement], names: dict[int, str]) -> Panel:
    values = [one.value for one in ones]
    # A processor's bars make a GPU's too short to see.
    far_apart = max(values) > FAR_APART * min(values)
    units = dict.fromkeys(one.unit for one in ones)
    return Panel(
        net,
        "dots" if far_apart else "bars",
        Axis(f"{TIME} [{', '.join(units)}]", log=far_apart),
        Axis(""),
        [
            Series(phase, [_mark(one, names[id(one)]) for one in ones if one.phase == phase])
            for phase in PHASES
        ],
    )


def _mark(one: Measurement, name: str) -> Mark:
    return Mark(one.value, 0.0, name, tips(one), one.low, one.high, trust(one))

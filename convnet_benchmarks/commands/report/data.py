"""The data that a report's plots are made from, and the selections that several of them need."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from convnet_benchmarks import history
from convnet_benchmarks.commands.report.chart import Tips
from convnet_benchmarks.nets import registry
from convnet_benchmarks.results.load import ResultFile
from convnet_benchmarks.results.measurement import Measurement, net_key
from convnet_benchmarks.tables import Cell, Column, Table
from convnet_benchmarks.timing.several_processes import TOO_FEW_PROCESSES
from convnet_benchmarks.timing.statistics import verdict_of

# Values whose quotient is larger than this need a logarithmic axis.
FAR_APART = 30.0


@dataclass(frozen=True)
class ReportData:
    """``files``: the results given; ``sources``: the published ones."""

    files: Sequence[ResultFile]
    sources: Sequence[history.Source]

    @property
    def measured(self) -> list[Measurement]:
        return [measurement for file in self.files for measurement in file.measurements]

    @property
    def published(self) -> list[Measurement]:
        return [measurement for source in self.sources for measurement in source.measurements]

    def of_study(self, kind: str) -> list[ResultFile]:
        """Returns the files of the study ``kind``, each with its JSON document."""
        return [file for file in self.files if file.kind == kind and file.document is not None]


def of_quantity(found: Iterable[Measurement], quantity: str) -> list[Measurement]:
    """Returns those of whole nets, without repeats of the same point: the last one counts."""
    latest: dict[tuple[object, ...], Measurement] = {}
    for one in found:
        if one.quantity == quantity and not one.op:
            latest[net_key(one.net), one.batch, one.phase, one.device, one.software] = one
    return list(latest.values())


def by_net(found: Iterable[Measurement]) -> dict[str, list[Measurement]]:
    """Groups by net, however its name is spelt; the first spelling is the group's.

    Nets of the registry come first, from the smallest number of parameters to the largest.
    """
    groups: dict[str, list[Measurement]] = {}
    spelling: dict[str, str] = {}
    for one in found:
        groups.setdefault(spelling.setdefault(net_key(one.net), one.net), []).append(one)
    sizes = {net_key(name): net.parameters or math.inf for name, net in registry.NETS.items()}
    return dict(sorted(groups.items(), key=lambda group: sizes.get(net_key(group[0]), math.inf)))


def naming(found: Sequence[Measurement]) -> Callable[[Measurement], str]:
    """Returns a short name for each measurement's conditions: of device, software and phase what differs
    at all.
    """
    conditions = [
        name for name in ("device", "software", "phase") if len({getattr(m, name) for m in found}) > 1
    ]
    shown = conditions or ["device"]
    return lambda one: ", ".join(filter(None, (getattr(one, name) for name in shown))) or "measured"


def tips(one: Measurement, *more: tuple[str, str]) -> Tips:
    """Returns a tooltip's lines: what was measured, exactly."""
    interval = ""
    if one.low is not None and one.high is not None:
        interval = f"{number(one.low)} to {number(one.high)}"
    lines = [
        ("net", one.net),
        ("batch", "" if one.batch is None else f"{one.batch:,}"),
        (one.quantity, f"{number(one.value)} {one.unit}".strip()),
        ("range" if one.noise == TOO_FEW_PROCESSES else "95 % interval", interval),
        ("verdict", trust(one)),
        *more,
        ("phase", one.phase),
        ("layer", one.op),
        ("device", one.device),
        ("software", one.software),
        ("published", one.source),
    ]
    return [(name, text) for name, text in lines if text]


def number(value: float) -> str:
    """Returns a value in full as far as it means anything: 6 significant digits."""
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,.6g}"


def measurement_table(title: str, found: Sequence[Measurement], names: Sequence[str]) -> Table:
    """Returns a row for each measurement with the fields ``names``; ``value`` is headed by its quantity
    and unit, unless the rows say them. A field that none of them has is left out.
    """
    first = found[0]
    heading = "value" if "quantity" in names else first.quantity
    one_unit = all(one.unit == first.unit for one in found)
    headings = {"op": "layer", "low": "95 % from", "high": "to"}
    fields = [name for name in names if any(getattr(one, name) not in (None, "") for one in found)]
    fields += [] if one_unit else ["unit"]
    value = Column(heading, first.unit if one_unit else "", digits=5)
    columns = [value if name == "value" else Column(headings.get(name, name)) for name in fields]
    rows: list[Sequence[Cell]] = [[getattr(one, name) for name in fields] for one in found]
    if any(one.samples for one in found):
        columns.append(Column("verdict"))
        rows = [[*row, trust(one)] for row, one in zip(rows, found, strict=True)]
    return Table(title, columns, rows)


def trust(one: Measurement) -> str:
    """Returns a comparison's verdict, or how far the value can be trusted, from its interval; '' for a number
    without statistics.
    """
    if one.verdict or one.noise:
        return one.verdict or one.noise
    if not one.samples or one.low is None or one.high is None:
        return ""
    return verdict_of(one.samples, (one.high - one.low) / 2 / one.value if one.value else math.inf)[0]

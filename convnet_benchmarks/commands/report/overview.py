"""The head of the page: what was measured, the best figure of each net, and what is not certain."""

from collections.abc import Sequence
from dataclasses import dataclass

from convnet_benchmarks.commands.report.data import ReportData, by_net, trust
from convnet_benchmarks.commands.report.speeds import fastest, speeds
from convnet_benchmarks.results.measurement import Measurement, net_key
from convnet_benchmarks.tables import Cell, Column, Table, counted
from convnet_benchmarks.timing.statistics import STABLE
from convnet_benchmarks.workload.ran import unit_of_all

_MOST_NAMED = 5
_FIRST_PASS = "dry-run"  # timed once, before the others


@dataclass(frozen=True)
class Overview:
    """``best`` is None where no whole net was timed."""

    lines: Sequence[str]
    best: Table | None


def overview(data: ReportData) -> Overview:
    measured = [one for one in data.measured if one.phase != _FIRST_PASS]
    lines = [_what(measured), _certainty(measured)]
    return Overview([line for line in lines if line], _best(measured))


def _what(measured: Sequence[Measurement]) -> str:
    """Returns a sentence: which nets, devices, batch sizes and quantities."""
    nets = list(by_net(one for one in measured if one.net))
    devices = list(dict.fromkeys(one.device for one in measured if one.device))
    batches = sorted({one.batch for one in measured if one.batch})
    sizes = f"batch {batches[0]}" + (f" to {batches[-1]}" if len(batches) > 1 else "") if batches else ""
    quantities = list(dict.fromkeys(one.quantity for one in measured))
    parts = [_named("net", nets), _named("device", devices), sizes, ", ".join(quantities)]
    return f"Measured: {'; '.join(filter(None, parts))}."


def _named(noun: str, names: Sequence[str]) -> str:
    """Returns the number of things and the first of their names; '' for none."""
    if not names:
        return ""
    more = ", ..." if len(names) > _MOST_NAMED else ""
    return f"{counted(len(names), noun)} ({', '.join(names[:_MOST_NAMED])}{more})"


def _certainty(measured: Sequence[Measurement]) -> str:
    """Returns a sentence: how many of the figures that have statistics are not stable; '' if none
    needs to be said."""
    verdicts = [trust(one) for one in measured if one.samples and not one.verdict]
    doubtful = [verdict for verdict in dict.fromkeys(verdicts) if verdict not in ("", STABLE)]
    of_all = f"of {counted(len(verdicts), 'figure')}"
    said = [f"{verdicts.count(verdict)} {of_all} {verdict}" for verdict in doubtful]
    if verdicts and not doubtful:
        said.append("Nothing is noisy")
    without = sum(not one.samples for one in measured)
    if without:
        said.append(f"{counted(without, 'figure')} without statistics")
    return f"{'; '.join(said)}." if said else ""


def _best(measured: Sequence[Measurement]) -> Table | None:
    """Returns a row for each net and pass: the fastest of its figures."""
    found = fastest(speeds(measured))
    if not found:
        return None
    nets = list(map(net_key, by_net(speed.measurement for speed in found)))
    found.sort(key=lambda speed: nets.index(speed.what[0]))
    unit = unit_of_all(speed.measurement.counts for speed in found)
    columns = [Column("net"), Column("pass"), Column("best", f"{unit}/s", digits=4)]
    columns += map(Column, ("batch", "device", "software", "verdict"))
    rows: list[Sequence[Cell]] = [
        (
            speed.measurement.net,
            speed.what[1],
            speed.images_per_second,
            speed.measurement.batch,
            speed.measurement.device,
            speed.measurement.software,
            trust(speed.measurement) or "no statistics",
        )
        for speed in found
    ]
    return Table("The best figure of each net", columns, rows)

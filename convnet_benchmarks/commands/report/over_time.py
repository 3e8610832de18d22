"""The same measurements of several dates or commits: one file of results for each, regressions marked."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import FAR_APART, by_net, naming, number, tips, trust
from convnet_benchmarks.commands.report.machines import label, recorded
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.results.load import ResultFile
from convnet_benchmarks.results.measurement import THROUGHPUT, TIME, Measurement, net_key
from convnet_benchmarks.results.ratio import ratio
from convnet_benchmarks.results.steps import steps as detected
from convnet_benchmarks.tables import Cell, Column, Table, counted
from convnet_benchmarks.timing.verdicts import SLOWER, UNSURE

TITLE = "Over time"
COMMAND = "convnet-benchmarks sweep --nets alexnet --points DATE.jsonl, again for each date or commit"
_SAME = ("net", "quantity", "unit", "batch", "phase", "device", "software")
_SHORT_REVISION = 7
_LEFT_OUT = ("free ", "dry-run")  # phases: timed elsewhere, too, or but once
_MOST_TICKS = 8  # that a telephone has room for
_LONGEST_NAME = 14  # of a tick, in characters


@dataclass(frozen=True)
class _Step:
    """A measurement of moment number ``place``, and how many times as fast it is as the one before it."""

    measurement: Measurement
    place: int
    ratio: float | None = None
    verdict: str = ""


def chart(files: Sequence[ResultFile]) -> Chart | None:
    """Returns a panel for each net; None if no measurement is in two files or more.

    Raises UserError for fewer than two files.
    """
    if len(files) < 2:
        raise UserError("option --over-time: needs two files or more, one for each date or commit")
    files = _in_order(files)
    series = [steps for steps in _series(files) if len(steps) > 1]
    if not series:
        return None
    firsts = {id(steps): replace(steps[0].measurement, phase=_what(steps[0].measurement)) for steps in series}
    name = naming(list(firsts.values()))
    panels: dict[tuple[str, str], list[list[_Step]]] = {}
    for net in by_net(steps[0].measurement for steps in series):
        for steps in series:
            if net_key(steps[0].measurement.net) == net_key(net):
                panels.setdefault((net, steps[0].measurement.unit), []).append(steps)
    levels = [line for steps in series for line in _levels(name(firsts[id(steps)]), steps, files)]
    slower = sum(step.verdict == SLOWER for steps in series for step in steps)
    found = "No step is SLOWER" if not slower else f"{counted(slower, 'step')} SLOWER"
    moments = [_moment(file) for file in files]
    return Chart(
        "The same measurement of each date or commit. A point is named where it is slower than the one "
        "before, by the 95 % intervals of both.",
        [
            _panel(net, [(name(firsts[id(steps)]), steps) for steps in own], moments)
            for (net, _), own in panels.items()
        ],
        _table(series, moments),
        [f"{found}. {'; '.join(f'{place}: {moment}' for place, moment in enumerate(moments, 1))}", *levels],
    )


def _panel(net: str, lines: Sequence[tuple[str, Sequence[_Step]]], moments: Sequence[str]) -> Panel:
    values = [step.measurement.value for _, steps in lines for step in steps]
    first = lines[0][1][0].measurement
    ticks = range(0, len(moments), -(-len(moments) // _MOST_TICKS))
    short = _short(moments)
    return Panel(
        net,
        "lines",
        Axis(
            "date or commit",
            ticks=tuple(float(place + 1) for place in ticks),
            from_zero=False,
            tick_names=tuple(short[place] for place in ticks),
        ),
        Axis(f"{first.quantity} [{first.unit}]", log=max(values) > FAR_APART * min(values) > 0),
        [Series(name, _marks(steps, moments)) for name, steps in lines],
    )


def _short(moments: Sequence[str]) -> list[str]:
    """Returns a short name for each moment: its date, or where dates are the same what comes last."""
    parts = [moment.split(", ") for moment in moments]
    names = [words[0] for words in parts]
    if len(set(names)) < len(names):
        names = [words[-1] for words in parts]
    return [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names]


def _in_order(files: Sequence[ResultFile]) -> list[ResultFile]:
    """Returns the files by their times, if all have one; else as they were given."""
    times = [min((time for _, time in recorded(file) if time), default="") for file in files]
    if not all(times):
        return list(files)
    return [file for _, file in sorted(zip(times, files, strict=True), key=lambda pair: pair[0])]


def _moment(file: ResultFile) -> str:
    """Returns the file's date, its label and the commit; its name where it has none of them.

    The commit is that of the folder in which it was measured, or else this program's.
    """
    named = label(file)
    for environment, time in recorded(file):
        commit = environment.get("commit") or environment.get("revision")
        short = "" if not isinstance(commit, str) else commit[:_SHORT_REVISION] + "+" * commit.endswith("+")
        found = [time[:10], named, short]
        if any(found):
            return ", ".join(filter(None, found))
    return named or file.path


def _levels(name: str, series: Sequence[_Step], files: Sequence[ResultFile]) -> list[str]:
    """Returns a line for each place where the medians of a series go to another level and stay there."""
    values = [step.measurement.value for step in series]
    places = detected(values)
    lines = []
    for before, place, after in zip([0, *places], places, [*places[1:], len(values)], strict=False):
        old, new = statistics.median(values[before:place]), statistics.median(values[place:after])
        one = series[place].measurement
        lines.append(
            f"a step: {one.net} {name}: from {number(old)} to {number(new)} {one.unit} "
            f"at {_moment(files[series[place].place - 1])} (Pettitt's test by ranks, 1 %)"
        )
    return lines


def _what(one: Measurement) -> str:
    return ", ".join(filter(None, (one.phase, f"batch {one.batch}" if one.batch else "")))


def _series(files: Sequence[ResultFile]) -> list[list[_Step]]:
    found: dict[tuple[object, ...], list[_Step]] = {}
    for place, file in enumerate(files, 1):
        latest = {}
        for one in file.measurements:
            if one.quantity in (THROUGHPUT, TIME) and not one.op and not one.phase.startswith(_LEFT_OUT):
                latest[tuple(getattr(one, name) for name in _SAME)] = one
        for key, one in latest.items():
            steps = found.setdefault(key, [])
            steps.append(_after(steps[-1], one, place) if steps else _Step(one, place))
    return list(found.values())


def _after(before: _Step, one: Measurement, place: int) -> _Step:
    found = ratio(before.measurement, one)
    assert found is not None, "both are there"
    if found.value is None:
        return _Step(one, place)
    both = before.measurement.interval and one.interval
    return _Step(one, place, found.value, found.verdict if both else UNSURE)


def _marks(steps: Sequence[_Step], moments: Sequence[str]) -> list[Mark]:
    marks = []
    for step in steps:
        one = step.measurement
        more = [("date or commit", moments[step.place - 1])]
        if step.ratio is not None:
            more.append(("against the one before", f"{number(step.ratio)} times as fast: {step.verdict}"))
        name = f"{SLOWER} {step.ratio:.3g}x" if step.verdict == SLOWER else ""
        lines = tips(one, *more)
        marks.append(Mark(float(step.place), one.value, name, lines, one.low, one.high, trust(one)))
    return marks


def _table(series: Sequence[Sequence[_Step]], moments: Sequence[str]) -> Table:
    headings = (
        "net",
        "phase",
        "batch",
        "device",
        "software",
        "date or commit",
        "value",
        "unit",
        "95 % from",
        "to",
    )
    columns = [*map(Column, headings), Column("times as fast", digits=3), Column("verdict")]
    rows: list[Sequence[Cell]] = []
    for steps in series:
        for step in steps:
            one = step.measurement
            about = (one.net, one.phase, one.batch, one.device, one.software)
            value = (moments[step.place - 1], one.value, one.unit, one.low, one.high)
            rows.append((*about, *value, step.ratio, step.verdict))
    return Table(TITLE, columns, rows)

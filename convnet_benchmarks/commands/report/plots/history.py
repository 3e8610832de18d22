"""Published numbers of 2015 to 2018 and the new ones, as images per second."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import ReportData, number, tips
from convnet_benchmarks.results.measurement import Measurement, images_per_second, net_key
from convnet_benchmarks.tables import Cell, Column, Table

TITLE = "History: published and new numbers"
ORDER = 80
COMMAND = "convnet-benchmarks benchmark --net alexnet_owt --batch-size 128 --json alexnet.json"

GIVEN, PUBLISHED = "in the files given", "published"
# What a pass did, by the names that the sources and this program give it.
_PASSES = {
    "forward+backward": "training",
    "training": "training",
    "inference": "inference",
    "forward": "inference",
}


@dataclass(frozen=True)
class _Entry:
    """A measurement as a speed. ``what``: the net and the kind of pass, which make the panel."""

    measurement: Measurement
    what: tuple[str, str]
    images_per_second: float

    @property
    def origin(self) -> str:
        return PUBLISHED if self.measurement.source else GIVEN


def chart(data: ReportData) -> Chart | None:
    old, new = _entries(data.published), _best(_entries(data.measured))
    if not old:
        return None
    shared = {entry.what for entry in old} & {entry.what for entry in new}
    # Without a net in common there is still what was published, of training.
    wanted = shared or {entry.what for entry in old if entry.what[1] == "training"}
    shown = sorted(
        (entry for entry in [*new, *old] if entry.what in wanted), key=lambda entry: -entry.images_per_second
    )
    panels = [
        _panel([entry for entry in shown if entry.what == what]) for what in _ordered(wanted, [*new, *old])
    ]
    headings = ("net", "pass", "images/s", "batch", "device", "software", "source")
    rows: list[Sequence[Cell]] = [
        (
            entry.measurement.net,
            entry.what[1],
            entry.images_per_second,
            entry.measurement.batch,
            entry.measurement.device,
            entry.measurement.software,
            entry.measurement.source or GIVEN,
        )
        for entry in shown
    ]
    return Chart(
        "The same nets then and now, fastest first, on a logarithmic axis. Training is forward and backward, "
        "inference forward alone. Of the numbers in the files the fastest batch size is shown.",
        panels,
        Table(TITLE, [Column(heading) for heading in headings], rows),
        ()
        if shared
        else ["No net of the files given has published numbers: these are the published ones alone."],
    )


def _entries(found: Iterable[Measurement]) -> list[_Entry]:
    entries = []
    for one in found:
        speed = images_per_second(one)
        if speed and one.phase in _PASSES:
            entries.append(_Entry(one, (net_key(one.net), _PASSES[one.phase]), speed))
    return entries


def _best(entries: Iterable[_Entry]) -> list[_Entry]:
    """Returns the fastest of the batch sizes measured, for each net, pass, device and software."""
    best: dict[tuple[object, ...], _Entry] = {}
    for entry in entries:
        key = entry.what, entry.measurement.device, entry.measurement.software
        if key not in best or entry.images_per_second > best[key].images_per_second:
            best[key] = entry
    return list(best.values())


def _ordered(wanted: Iterable[tuple[str, str]], entries: Iterable[_Entry]) -> list[tuple[str, str]]:
    """Returns the panels in the order of the files."""
    places = dict.fromkeys(entry.what for entry in entries)
    return [what for what in places if what in set(wanted)]


def _panel(entries: list[_Entry]) -> Panel:
    first = entries[0]
    return Panel(
        title=f"{first.measurement.net}, {first.what[1]}",
        kind="dots",
        x=Axis("throughput [images/s]", log=True),
        y=Axis(""),
        series=[
            Series(origin, [_mark(entry) for entry in entries if entry.origin == origin])
            for origin in (GIVEN, PUBLISHED)
        ],
    )


def _mark(entry: _Entry) -> Mark:
    one = entry.measurement
    name = ", ".join(filter(None, (one.device, one.software, f"batch {one.batch}" if one.batch else "")))
    speed = ("throughput", f"{number(entry.images_per_second)} images/s")
    return Mark(entry.images_per_second, name=name, tips=tips(one, speed))

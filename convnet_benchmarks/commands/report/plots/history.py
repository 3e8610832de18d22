"""Published numbers of 2015 to 2018 and the new ones, as images per second."""

import math
from collections.abc import Iterable, Sequence

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import ReportData, number, tips, trust
from convnet_benchmarks.commands.report.speeds import Speed, fastest, speeds
from convnet_benchmarks.tables import Cell, Column, Table

TITLE = "History: published and new numbers"
ORDER = 80
COMMAND = "convnet-benchmarks benchmark --net alexnet_owt --batch-size 128 --json alexnet.json"

GIVEN, PUBLISHED = "in the files given", "published"
# Two figures that differ by less are the same one, written with another number of digits.
_DIGITS = 1e-4


def chart(data: ReportData) -> Chart | None:
    old, new = speeds(data.published), fastest(speeds(data.measured), "device", "software")
    if not old:
        return None
    shared = {entry.what for entry in old} & {entry.what for entry in new}
    # Without a net in common there is still what was published, of training.
    wanted = shared or {entry.what for entry in old if entry.what[1] == "training"}
    # A log given that is also among the published ones is shown once.
    once = [*new, *(entry for entry in old if not any(_same(one, entry) for one in new))]
    shown = sorted(
        (entry for entry in once if entry.what in wanted), key=lambda entry: -entry.images_per_second
    )
    panels = [
        _panel([entry for entry in shown if entry.what == what], old)
        for what in _ordered(wanted, [*new, *old])
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
            _where(entry, old),
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


def _where(speed: Speed, published: Sequence[Speed]) -> str:
    """Returns where a figure stands: in the files, in publications, or in both."""
    if speed.measurement.source:
        return speed.measurement.source
    return "; ".join([GIVEN, *(other.measurement.source for other in published if _same(speed, other))])


def _same(one: Speed, other: Speed) -> bool:
    """Returns whether a figure given is a published one: that of a log which was published."""
    alike = (one.what, one.measurement.batch) == (other.what, other.measurement.batch)
    return alike and math.isclose(one.images_per_second, other.images_per_second, rel_tol=_DIGITS)


def _ordered(wanted: Iterable[tuple[str, str]], entries: Iterable[Speed]) -> list[tuple[str, str]]:
    """Returns the panels in the order of the files."""
    places = dict.fromkeys(entry.what for entry in entries)
    return [what for what in places if what in set(wanted)]


def _panel(entries: list[Speed], published: Sequence[Speed]) -> Panel:
    first = entries[0]
    return Panel(
        title=f"{first.measurement.net}, {first.what[1]}",
        kind="dots",
        x=Axis("throughput [images/s]", log=True),
        y=Axis(""),
        series=[
            Series(
                origin,
                [
                    _mark(entry, published)
                    for entry in entries
                    if bool(entry.measurement.source) == (origin == PUBLISHED)
                ],
            )
            for origin in (GIVEN, PUBLISHED)
        ],
    )


def _mark(entry: Speed, published: Sequence[Speed]) -> Mark:
    one = entry.measurement
    name = ", ".join(filter(None, (one.device, one.software, f"batch {one.batch}" if one.batch else "")))
    more = [("throughput", f"{number(entry.images_per_second)} images/s")]
    if not one.source:
        more.append(("from", _where(entry, published)))
    return Mark(entry.images_per_second, name=name, tips=tips(one, *more), verdict=trust(one))

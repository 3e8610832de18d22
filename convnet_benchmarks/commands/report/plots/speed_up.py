"""The speed-up of each variant that ``backends`` compared, with its interval and verdict."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import ReportData, number
from convnet_benchmarks.points.file import is_point_file, latest, read_points
from convnet_benchmarks.tables import Cell, Column, Table

TITLE = "Speed-ups of backends"
ORDER = 35
COMMAND = "convnet-benchmarks backends --nets alexnet,resnet50_v1 --with stock,auto --points backends.jsonl"


def chart(data: ReportData) -> Chart | None:
    records = [record for record in _comparisons(data) if any(_speed_ups(record))]
    if not records:
        return None
    references = list(dict.fromkeys(record["variants"][0] for record in records))
    columns = [Column(name) for name in ("net", "batch", "variant", "against")]
    columns += [Column(name, digits=3) for name in ("speed-up", "from", "to")]
    columns += [Column("pairs"), Column("verdict")]
    rows: list[Sequence[Cell]] = []
    for record in records:
        for variant, found in _speed_ups(record):
            about = (record["point"]["net"], record["point"]["batch_size"], variant, record["variants"][0])
            figures = (found["value"], found["low"], found["high"], found["pairs"], found["verdict"])
            rows.append((*about, *figures))
    return Chart(
        "How many times as fast as the reference each variant is, from times taken in turns; the thick line "
        "is the 95 % interval. Beyond 1 it is faster.",
        [_panel(name, [each for each in records if each["variants"][0] == name]) for name in references],
        Table(TITLE, columns, rows),
    )


def _comparisons(data: ReportData) -> list[Mapping[str, Any]]:
    """Returns the records of the study ``backends``, from its file of points or its JSON."""
    found: list[Mapping[str, Any]] = []
    for file in data.files:
        if is_point_file(file.path):
            found += latest(read_points(file.path)).values()
        elif file.kind == "backends" and file.document is not None:
            found += file.document["comparisons"]
    return [record for record in found if record.get("variants") and record.get("results")]


def _speed_ups(record: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the variants that were compared with the first one, each with its speed-up."""
    for variant in record["variants"][1:]:
        found = record["results"].get(variant, {}).get("speed_up")
        if found:
            yield variant, found


def _panel(reference: str, records: Sequence[Mapping[str, Any]]) -> Panel:
    marks: dict[str, list[Mark]] = {}
    for record in records:
        point = record["point"]
        name = f"{point['net']}, batch {point['batch_size']}"
        for variant, found in _speed_ups(record):
            bounds = f"{number(found['low'])} to {number(found['high'])}"
            tips = [
                ("net", point["net"]),
                ("batch", f"{point['batch_size']:,}"),
                ("speed-up", f"{number(found['value'])} times"),
                ("95 % interval", bounds),
                ("pairs", str(found["pairs"])),
                ("verdict", found["verdict"]),
            ]
            mark = Mark(found["value"], name=name, tips=tips, low=found["low"], high=found["high"])
            marks.setdefault(variant, []).append(mark)
    series = [Series(variant, found) for variant, found in marks.items()]
    return Panel(f"against {reference}", "dots", Axis("times as fast"), Axis(""), series)

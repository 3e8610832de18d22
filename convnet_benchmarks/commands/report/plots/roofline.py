"""The layers of nets under the measured roofs of the machine (Williams, Waterman, Patterson 2009)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from convnet_benchmarks.commands.report.chart import Axis, Chart, Guide, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import ReportData, number
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points.fields import FieldError, Fields
from convnet_benchmarks.results.from_studies import environment_device
from convnet_benchmarks.results.load import ResultFile
from convnet_benchmarks.results.ran import read_ran
from convnet_benchmarks.tables import Cell, Column, Table

TITLE = "Roofline"
ORDER = 70
COMMAND = "convnet-benchmarks flops --net alexnet_owt --parts roofline --batch-size 8 --json roofline.json"

_COLUMNS = (
    Column("net"),
    Column("layer"),
    Column("kind"),
    Column("intensity", "FLOP/byte"),
    Column("attained", "GFLOP/s"),
    Column("of the roof", "%", digits=3),
    Column("bound"),
    Column("time", "ms"),
)


@dataclass(frozen=True)
class _Layer:
    """``share``: of the roof, None for a layer without arithmetic."""

    path: str
    kind: str
    operations: float
    intensity: float
    gflops: float
    share: float | None
    bound: str
    ms: float


@dataclass(frozen=True)
class _Roofline:
    """The roofline in one file."""

    net: str
    batch: int
    device: str
    gflops: float
    gbytes: float
    layers: Sequence[_Layer]


def chart(data: ReportData) -> Chart | None:
    found = [one for file in data.of_study("flops") for one in _read(file)]
    if not found:
        return None
    rows: list[Sequence[Cell]] = [
        (
            one.net,
            layer.path,
            layer.kind,
            layer.intensity,
            layer.gflops,
            None if layer.share is None else 100 * layer.share,
            layer.bound,
            layer.ms,
        )
        for one in found
        for layer in one.layers
    ]
    return Chart(
        "What each layer attains against its arithmetic per byte moved. The dashed roof is what the machine "
        "was measured to do: memory bandwidth where it slopes, matrix products where it is flat. Layers "
        "without arithmetic are only in the table.",
        [_panel(one) for one in found],
        Table(TITLE, _COLUMNS, rows),
    )


def _read(file: ResultFile) -> Iterator[_Roofline]:
    """Yields the file's roofline, if it has one. Raises UserError that names the file and the field at
    fault.
    """
    try:
        content = file.document or {}
        if "roofline" not in content:
            return
        document = Fields(content)
        roofline = document.inner("roofline")
        ran = read_ran(document)
        yield _Roofline(
            ran.net if ran else document.text("net"),
            ran.batch_size if ran else document.inner("options").whole("batch_size"),
            ran.device_name if ran else environment_device(content["environment"]),
            roofline.inner("roofs").positive("gflops"),
            roofline.inner("roofs").positive("gbytes"),
            [_layer(layer) for layer in roofline.each("layers")],
        )
    except FieldError as error:
        raise UserError(f"{file.path}: {error}") from None


def _layer(fields: Fields) -> _Layer:
    moves_data = fields.is_null("share_of_roof", "a number")
    return _Layer(
        path=fields.text("path"),
        kind=fields.text("kind"),
        operations=fields.number("operations"),
        intensity=fields.number("intensity"),
        gflops=fields.number("gflops"),
        share=None if moves_data else fields.number("share_of_roof"),
        bound=fields.text("bound"),
        ms=fields.number("ms"),
    )


def _panel(one: _Roofline) -> Panel:
    # What is 0 has no place on a logarithmic axis.
    layers = [layer for layer in one.layers if layer.operations and layer.intensity and layer.gflops]
    kinds = dict.fromkeys(layer.kind for layer in layers)
    ridge = one.gflops / one.gbytes
    ends = [ridge, *(layer.intensity for layer in layers)]
    left, right = min(ends) / 2, max(ends) * 2
    roof = [(left, left * one.gbytes), (ridge, one.gflops), (right, one.gflops)]
    return Panel(
        title=f"{one.net}, batch {one.batch}, {one.device}",
        kind="points",
        x=Axis("arithmetic intensity [FLOP/byte]", log=True),
        y=Axis("attained [GFLOP/s]", log=True),
        series=[Series(kind, [_mark(layer) for layer in layers if layer.kind == kind]) for kind in kinds],
        guides=[Guide(f"{one.gflops:.4g} GFLOP/s, {one.gbytes:.4g} GB/s", roof)],
    )


def _mark(layer: _Layer) -> Mark:
    tips = [
        ("layer", f"{layer.path} {layer.kind}"),
        ("attained", f"{number(layer.gflops)} GFLOP/s"),
        ("intensity", f"{number(layer.intensity)} FLOP/byte"),
        ("of the roof", "" if layer.share is None else f"{number(100 * layer.share)} %"),
        ("bound", layer.bound),
        ("time", f"{number(layer.ms)} ms"),
    ]
    return Mark(layer.intensity, layer.gflops, tips=tips)

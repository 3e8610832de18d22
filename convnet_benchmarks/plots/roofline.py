"""The layers of nets under the measured roofs of the machine (Williams, Waterman, Patterson 2009)."""

from collections.abc import Mapping, Sequence
from typing import Any

from convnet_benchmarks.charts import Axis, Chart, Guide, Mark, Panel, Series
from convnet_benchmarks.report_data import ReportData, number
from convnet_benchmarks.study_measurements import environment_device
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


def chart(data: ReportData) -> Chart | None:
    documents = [document for document in data.documents("flops") if "roofline" in document]
    if not documents:
        return None
    rows: list[Sequence[Cell]] = [
        (
            document["net"],
            layer["path"],
            layer["kind"],
            layer["intensity"],
            layer["gflops"],
            None if layer["share_of_roof"] is None else 100 * layer["share_of_roof"],
            layer["bound"],
            layer["ms"],
        )
        for document in documents
        for layer in document["roofline"]["layers"]
    ]
    return Chart(
        "What each layer attains against its arithmetic per byte moved. The dashed roof is what the machine "
        "was measured to do: memory bandwidth where it slopes, matrix products where it is flat. Layers "
        "without arithmetic are only in the table.",
        [_panel(document) for document in documents],
        Table(TITLE, _COLUMNS, rows),
    )


def _panel(document: Mapping[str, Any]) -> Panel:
    roofs, options = document["roofline"]["roofs"], document["options"]
    layers = [layer for layer in document["roofline"]["layers"] if layer["operations"]]
    kinds = dict.fromkeys(layer["kind"] for layer in layers)
    ridge = roofs["gflops"] / roofs["gbytes"]
    ends = [ridge, *(layer["intensity"] for layer in layers)]
    left, right = min(ends) / 2, max(ends) * 2
    roof = [(left, left * roofs["gbytes"]), (ridge, roofs["gflops"]), (right, roofs["gflops"])]
    device = environment_device(document["environment"])
    return Panel(
        title=f"{document['net']}, batch {options['batch_size']}, {device}",
        kind="points",
        x=Axis("arithmetic intensity [FLOP/byte]", log=True),
        y=Axis("attained [GFLOP/s]", log=True),
        series=[Series(kind, [_mark(layer) for layer in layers if layer["kind"] == kind]) for kind in kinds],
        guides=[Guide(f"{roofs['gflops']:.4g} GFLOP/s, {roofs['gbytes']:.4g} GB/s", roof)],
    )


def _mark(layer: Mapping[str, Any]) -> Mark:
    tips = [
        ("layer", f"{layer['path']} {layer['kind']}"),
        ("attained", f"{number(layer['gflops'])} GFLOP/s"),
        ("intensity", f"{number(layer['intensity'])} FLOP/byte"),
        ("of the roof", f"{number(100 * layer['share_of_roof'])} %"),
        ("bound", layer["bound"]),
        ("time", f"{number(layer['ms'])} ms"),
    ]
    return Mark(layer["intensity"], layer["gflops"], tips=tips)

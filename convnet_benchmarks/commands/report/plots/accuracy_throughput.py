"""The accuracy of nets against their throughput, coloured by family."""

from collections.abc import Iterable, Sequence

from convnet_benchmarks.commands.report.chart import Axis, Chart, Mark, Panel, Series
from convnet_benchmarks.commands.report.data import ReportData, number, of_quantity, tips
from convnet_benchmarks.commands.report.net_families import net_family
from convnet_benchmarks.results.measurement import THROUGHPUT, TOP1, Measurement, net_key
from convnet_benchmarks.tables import Cell, Column, Table

TITLE = "Accuracy against throughput"
ORDER = 50
COMMAND = (
    "convnet-benchmarks sweep --nets resnet18_v1,mobilenet1.0,vgg16 --batch-sizes 64 --points sweep.jsonl"
)

# The batch size of dlmark's plot, where it was measured; else the largest that all nets were measured with.
_BATCH = 64


def chart(data: ReportData) -> Chart | None:
    throughputs = [one for one in of_quantity(data.measured, THROUGHPUT) if one.phase == "inference"]
    # Of a net that several give, what is measured here counts, then the source that has the most nets:
    # accuracies of one source were measured alike.
    published = sorted((_top1(source.measurements) for source in data.sources), key=len)
    accuracies = {net_key(one.net): one for found in [*published, _top1(data.measured)] for one in found}
    found = [(one, accuracies[net_key(one.net)]) for one in throughputs if net_key(one.net) in accuracies]
    batch = _common_batch([one for one, _ in found])
    found = [(one, accuracy) for one, accuracy in found if one.batch == batch]
    if not found:
        return None
    conditions = dict.fromkeys((one.device, one.software) for one, _ in found)
    panels = []
    for device, software in conditions:
        pairs = [(one, top1) for one, top1 in found if (one.device, one.software) == (device, software)]
        families: dict[str, list[Mark]] = {}
        for one, top1 in pairs:
            families.setdefault(net_family(one.net), []).append(_mark(one, top1))
        panels.append(
            Panel(
                title=", ".join(filter(None, (device, software, f"batch {batch}"))),
                kind="points",
                x=Axis(f"{THROUGHPUT} [{pairs[0][0].unit}]", log=True),
                y=Axis("top-1 accuracy [%]", from_zero=False),
                series=[Series(family, marks) for family, marks in families.items()],
            )
        )
    columns = [Column("net"), Column("family"), Column("batch"), Column(THROUGHPUT, found[0][0].unit)]
    columns += [Column(TOP1, "%"), Column("accuracy from"), Column("device"), Column("software")]
    rows: list[Sequence[Cell]] = [
        (
            one.net,
            net_family(one.net),
            one.batch,
            one.value,
            100 * top1.value,
            top1.source or "measured",
            one.device,
            one.software,
        )
        for one, top1 in found
    ]
    return Chart(
        "Accurate and fast nets are at the top right. Throughput is measured here; an accuracy that was not "
        "measured here is the published one (ImageNet validation), as the table says.",
        panels,
        Table(TITLE, columns, rows),
    )


def _top1(found: Iterable[Measurement]) -> list[Measurement]:
    return [one for one in found if one.quantity == TOP1]


def _common_batch(found: list[Measurement]) -> int | None:
    """Returns _BATCH if it was measured, else the largest of the batch sizes that most nets have."""
    nets: dict[int, set[str]] = {}
    for one in found:
        if one.batch is not None:
            nets.setdefault(one.batch, set()).add(one.net)
    if not nets or _BATCH in nets:
        return _BATCH if nets else None
    return max(nets, key=lambda batch: (len(nets[batch]), batch))


def _mark(one: Measurement, accuracy: Measurement) -> Mark:
    top1 = (TOP1, f"{number(100 * accuracy.value)} %")
    origin = ("accuracy from", accuracy.source or "measured")
    return Mark(one.value, 100 * accuracy.value, one.net, tips(one, top1, origin))

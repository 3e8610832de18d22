"""Throughput against batch size, a panel for each net."""

from convnet_benchmarks.commands.report.batch_curves import batch_curves
from convnet_benchmarks.commands.report.chart import Chart
from convnet_benchmarks.commands.report.data import ReportData
from convnet_benchmarks.results.measurement import THROUGHPUT

TITLE = "Throughput against batch size"
ORDER = 10
COMMAND = "convnet-benchmarks sweep --nets alexnet,vgg16 --batch-sizes 1,2,4,8,16 --points sweep.jsonl"


def chart(data: ReportData) -> Chart | None:
    return batch_curves(
        data,
        THROUGHPUT,
        "How many images a second each net takes as the batch grows; higher is better. Where a curve is "
        "flat, larger batches gain nothing.",
    )

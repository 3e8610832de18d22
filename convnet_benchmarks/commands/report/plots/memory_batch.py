"""Peak memory against batch size, a panel for each net."""

from convnet_benchmarks.commands.report.batch_curves import batch_curves
from convnet_benchmarks.commands.report.chart import Chart
from convnet_benchmarks.commands.report.data import ReportData
from convnet_benchmarks.results.measurement import MEMORY

TITLE = "Memory against batch size"
ORDER = 20
COMMAND = "convnet-benchmarks sweep --nets alexnet,vgg16 --batch-sizes 1,2,4,8,16 --points sweep.jsonl"


def chart(data: ReportData) -> Chart | None:
    return batch_curves(
        data,
        MEMORY,
        "The peak of memory while each net ran; lower is better. On a GPU what was allocated of its memory, "
        "on a CPU the whole process, Python and PyTorch included.",
    )

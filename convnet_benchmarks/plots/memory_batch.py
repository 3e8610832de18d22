"""Peak memory against batch size, a panel for each net."""

from convnet_benchmarks.batch_curves import batch_curves
from convnet_benchmarks.charts import Chart
from convnet_benchmarks.measurements import MEMORY
from convnet_benchmarks.report_data import ReportData

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

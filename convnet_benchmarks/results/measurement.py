"""One measured quantity of one thing: what every result file and every published table comes down to."""

import re
from dataclasses import dataclass, field

from convnet_benchmarks.timing.statistics import FEWEST_FOR_A_VERDICT

# Quantities that more than one module speaks of; others are named by whoever measured them.
TIME, THROUGHPUT, LATENCY, MEMORY = "time", "throughput", "latency", "memory"
LARGEST_BATCH = "largest batch"
SPEED_UP = "speed-up"
SERVER_RATE = "highest rate"  # followed by the latency it keeps
TOP1, TOP5 = "top-1 accuracy", "top-5 accuracy"

MS_PER_SAMPLE, MS_PER_BATCH = "ms per sample", "ms per batch"
MIB = "MiB"
FRACTION = "fraction"


@dataclass(frozen=True)
class Measurement:
    """``value`` of ``quantity`` in ``unit``; what is not known is '' or None.

    ``phase``: inference, updateOutput, ... ``op``: one layer or operator of the net. ``software``: framework,
    kernels and number format. ``samples``: how many ``value`` is the median of, whose 95 % interval is
    ``low`` to ``high``; 0 for a number without statistics. ``verdict``: of a comparison (FASTER, ...).
    ``noise``: how the samples of one process are marked, unless as stable.
    ``source``: the title of the publication. The rest says more of where and when: ``shape`` is of the
    whole input, ``commit`` the working folder's, ``time`` when it was measured (UTC), ``counts`` what
    a batch has.
    """

    quantity: str
    unit: str
    value: float
    net: str = ""
    batch: int | None = None
    phase: str = ""
    op: str = ""
    device: str = ""
    software: str = ""
    samples: int = 0
    low: float | None = None
    high: float | None = None
    verdict: str = ""
    noise: str = ""
    source: str = ""
    backend: str = field(default="", compare=False)
    dtype: str = field(default="", compare=False)
    threads: int | None = field(default=None, compare=False)
    shape: str = field(default="", compare=False)
    commit: str = field(default="", compare=False)
    label: str = field(default="", compare=False)
    time: str = field(default="", compare=False)
    counts: str = field(default="images", compare=False)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Returns the 95 % interval, None if too few samples were taken to decide by it."""
        if self.low is None or self.high is None or self.samples < FEWEST_FOR_A_VERDICT:
            return None
        return self.low, self.high


def net_key(name: str) -> str:
    """Returns the same text for the spellings of a net's name: 'ResNet-50 V1' and 'resnet50_v1'."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def images_per_second(measurement: Measurement) -> float | None:
    """Returns the throughput that a time or a throughput means; None if it says neither."""
    if measurement.quantity == THROUGHPUT:
        return measurement.value
    if measurement.quantity != TIME or measurement.op or measurement.value <= 0:
        return None
    if measurement.unit == MS_PER_SAMPLE:
        return 1e3 / measurement.value
    if measurement.unit == MS_PER_BATCH and measurement.batch:
        return 1e3 * measurement.batch / measurement.value
    return None

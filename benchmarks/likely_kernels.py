"""Measures how near the kernels are that are chosen without timing to the fastest: over the layers of nets.

    python -m benchmarks.likely_kernels [--nets vgg_a resnet50_v1] [--batch 1 16]

Every candidate of every layer and phase is timed (thorough), on one thread, whose CPU time other programs
hardly change. A ratio is the time of the kernels that are likely the fastest over that of the fastest.
"""

import math
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import performance
from convnet_benchmarks.nets import registry
from convnet_benchmarks.tables import Column, Table

NETS = ("alexnet_owt", "googlenet", "mobilenet1.0", "overfeat_accurate", "resnet50_v1", "squeezenet1.1")


def main() -> None:
    from convnet_benchmarks.nets.phases import PHASES

    parser = performance.parser("likely_kernels", __doc__)
    parser.add_argument("--nets", nargs="+", choices=registry.NETS, default=NETS, metavar="NET")
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    table = Table(
        "", [Column("net"), Column("batch"), *(Column(name, digits=3) for name in (*PHASES, "all"))]
    )
    for net in options.nets:
        for batch in options.batch:
            likely, fastest = sums(net, batch)
            ratios = [likely[phase] / fastest[phase] if fastest[phase] else math.nan for phase in PHASES]
            table.rows.append([net, batch, *ratios, sum(likely.values()) / sum(fastest.values())])
            print(*table.texts()[-1], sep="\t", flush=True)
    performance.report("likely_kernels", table, options)


def sums(net: str, batch: int) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the ms of all layers by phase: of the likely kernels, and of the fastest."""
    import torch

    from convnet_benchmarks.nets.engine import Tuner, compile
    from convnet_benchmarks.nets.phases import PHASES

    torch.set_num_threads(1)
    likely: dict[str, float] = defaultdict(float)
    fastest: dict[str, float] = defaultdict(float)

    class Told(Tuner):
        def choose(self, key: str, candidates: Any, *more: Any, **named: Any) -> Any:
            choice = super().choose(key, candidates, *more, **named)
            times = self._remembered(key, candidates)
            if times:
                phase = next(phase for phase in PHASES if phase in key)
                likely[phase] += times[more[-1]]
                fastest[phase] += min(times.values())
            return choice

    found = registry.find(net)
    module = registry.build(found, seed=1)
    told = mock.patch("convnet_benchmarks.nets.engine.compilation.Tuner", Told)
    with tempfile.TemporaryDirectory() as folder, told:
        compile(module, (batch, *found.input_size), tuning_file=Path(folder) / "tuning.json").close()
    return likely, fastest


if __name__ == "__main__":
    main()

"""Measures how far each phase of OverFeat is from the bandwidth of memory: its last three layers use each of
their weights, 126 million, once per image.

    python -m benchmarks.memory_bandwidth [--batch 1] [--backend auto] [--threads 1]

The net is measured whole, its convolutions alone, and the layers after them. ``parameters moved``: bytes of
parameters that a phase reads; accGradParameters reads and writes their gradients. ``bound``: how long memory
takes to move as many bytes, in a sum of a large tensor, or an addition to one in place. Phases and memory
take turns. Times are the least ones: on one thread of CPU time, otherwise of wall time.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from benchmarks import performance
from convnet_benchmarks.nets import registry
from convnet_benchmarks.tables import Cell, Column, Table

if TYPE_CHECKING:
    from torch import nn

BYTES = 512 << 20  # of the tensor that measures the memory
COLUMNS = (
    *(Column(name) for name in ("batch", "layers", "phase")),
    Column("parameters moved", "MB", digits=3),
    *(Column(name, "ms", digits=3) for name in ("time", "bound")),
    *(Column(name, "GB/s", digits=3) for name in ("reached", "memory")),
    Column("bound / time", digits=2),
)


def main() -> None:
    import torch

    parser = performance.parser("memory_bandwidth", __doc__)
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--tuning", default="thorough")
    parser.add_argument("--threads", type=int, help="[as many as PyTorch uses]")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    table = Table("", list(COLUMNS))
    for batch in options.batch:
        for name, part, shape in parts(batch):
            table.rows += [[batch, name, *row] for row in measured(part, shape, options)]
    performance.report("memory_bandwidth", table, options)


def parts(batch: int) -> "Iterator[tuple[str, nn.Module, tuple[int, ...]]]":
    """Yields OverFeat and its two parts: their names, modules and the shapes of their inputs."""
    import torch
    from torch import nn

    net = registry.find("overfeat_accurate")
    module = registry.build(net, seed=1)
    assert isinstance(module, nn.Sequential)
    shape: tuple[int, ...] = (batch, *net.input_size)
    yield "all", module, shape
    x = torch.zeros(shape)
    for place, layer in enumerate(module):
        if isinstance(layer, nn.Conv2d) and layer.kernel_size == x.shape[2:]:  # as Linear
            yield "convolutions", module[:place], shape
            yield "after them", module[place:], tuple(x.shape)
            return
        with torch.no_grad():
            x = layer(x)


def measured(
    module: "nn.Module", shape: tuple[int, ...], options: argparse.Namespace
) -> Iterator[list[Cell]]:
    """Yields the rows of the phases, without batch and layers."""
    import torch

    from convnet_benchmarks.nets.engine import Memory, compile
    from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT

    x, large = torch.randn(shape), Memory().lasting((BYTES // 4,), torch.float32)
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    with compile(module, shape, options.backend, tuning=options.tuning) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(x)
        runs: dict[str, Callable[[], object]] = {
            FORWARD: lambda: phases.updateOutput(x),
            INPUT_GRADIENT: lambda: phases.updateGradInput(x, output),
            WEIGHT_GRADIENT: lambda: phases.accGradParameters(x, output),
            "read": large.sum,
            "change": lambda: large.add_(1),
        }
        least = dict.fromkeys(runs, float("inf"))
        for _ in range(options.rounds):
            for name, run in runs.items():
                started = clock()
                run()
                least[name] = min(least[name], clock() - started)
    read, changed = BYTES / least["read"], 2 * BYTES / least["change"]
    count = sum(parameter.nbytes for parameter in module.parameters())
    for phase, moved, memory in (
        (FORWARD, count, read),
        (INPUT_GRADIENT, count, read),
        (WEIGHT_GRADIENT, 2 * count, changed),
    ):
        taken, bound = least[phase], moved / memory
        yield [phase, moved / 1e6, taken * 1e3, bound * 1e3, moved / taken / 1e9, memory / 1e9, bound / taken]


if __name__ == "__main__":
    main()

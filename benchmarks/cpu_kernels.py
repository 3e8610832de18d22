"""Times every kernel of the CPU engine on one convolution, with and without a C compiler.

    python -m benchmarks.cpu_kernels --channels 64 64 --size 56 --kernel 3 --padding 1 --batch 16

For each phase it prints the median time of interleaved runs, and the GFLOP/s a direct convolution would need
to be as fast (above the machine's peak for algorithms that save multiplications). Winograd and FFT marked *
run as they do without a compiler, on PyTorch's operators alone.
"""

import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from unittest import mock

from benchmarks.helpers import command_line

if TYPE_CHECKING:
    from convnet_benchmarks.nets.engine.shapes import ConvolutionShape


def main() -> int:
    parser = command_line.parser("cpu_kernels", __doc__)
    parser.add_argument("--channels", type=int, nargs=2, default=(64, 64), metavar=("IN", "OUT"))
    parser.add_argument("--size", type=int, default=56, help="height and width of the input")
    parser.add_argument("--kernel", type=int, default=3)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--padding", type=int, default=1)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    options = parser.parse_args()

    import torch

    from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
    from convnet_benchmarks.nets.phases import PHASES

    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    ins, outs = options.channels
    pair = {name: (getattr(options, name),) * 2 for name in ("size", "kernel", "stride", "padding")}
    shape = ConvolutionShape(
        options.batch, ins, outs, pair["size"], pair["kernel"], pair["stride"], pair["padding"], torch.float32
    )
    print(f"{shape.describe()}, batch {options.batch}, {options.threads} threads, float32")
    for phase in PHASES:
        print(phase)
        times = medians(runs_of(shape, phase, options.only), options.rounds)
        for name, taken in sorted(times.items(), key=lambda item: item[1]):
            print(f"  {name:28} {taken * 1e3:9.2f} ms {2 * shape.multiply_adds / taken / 1e9:6.0f} GFLOP/s")
    return 0


def runs_of(shape: "ConvolutionShape", phase: str, only: str) -> dict[str, Callable[[], None]]:
    """Returns, by name, functions that each run a kernel; every kernel has already run once."""
    from convnet_benchmarks.nets.engine.choice.algorithms import candidates
    from convnet_benchmarks.nets.engine.choice.selection import Trial

    trial = Trial((shape.input_shape, shape.output_shape, shape.weight_shape), shape.dtype)
    found = {}
    without_compiler = mock.patch.dict(os.environ, CC="no-such-compiler")
    for mark, compiler in (("", contextlib.nullcontext()), (" *", without_compiler)):
        with compiler:
            for name, make in candidates(shape, phase).items():
                made_of_operators = mark and name.startswith(("winograd", "fft"))
                if only in name and (not mark or made_of_operators):
                    found[name + mark] = trial.prepare(phase, make)
                    found[name + mark]()
    return found


def medians(runs: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Returns the seconds of each run by name: the median of ``rounds`` interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(taken) for name, taken in times.items()}


if __name__ == "__main__":
    sys.exit(main())

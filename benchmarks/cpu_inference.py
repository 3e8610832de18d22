"""Compares inference on a CPU, in one process: the engine, PyTorch, ONNX Runtime and OpenVINO.

    python -m benchmarks.cpu_inference [--nets resnet50_v1 ...] [--batch 1 16] [--threads 2] [--rounds 15]

Every peer runs the same net (its running statistics set) on the same input. The peers take turns, each for a
tenth of a second or one pass; the figures are medians over all rounds in ms per image, the error is the
largest difference from PyTorch's output over its largest value. The last two need the extra "runtimes". On a
machine that is never quiet, ``--threads 1 --clock cpu`` shows the CPU time of one thread, which others
hardly change.
"""

import contextlib
import copy
import statistics
import sys
import time
from collections.abc import Callable
from itertools import product
from typing import Any

from benchmarks import performance
from convnet_benchmarks.nets import registry
from convnet_benchmarks.tables import Column, Table
from convnet_benchmarks.workload.backends import BACKENDS

NETS = ["resnet50_v1", "mobilenet1.0", "googlenet", "vgg16"]
PEERS = ["auto", "channels-last", "onnxruntime", "openvino"]
TURN = 0.1  # seconds


def main() -> None:
    parser = performance.parser("cpu_inference", __doc__)
    parser.add_argument("--nets", nargs="+", choices=registry.NETS, default=NETS, metavar="NET")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16])
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=BACKENDS,
        default=PEERS,
        metavar="PEER",
        help="backends of the studies; the first is ours",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    options = parser.parse_args()
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    columns = [
        Column("net"),
        Column("batch"),
        *(Column(peer, "ms per image", digits=3) for peer in options.peers),
    ]
    columns += [
        Column(f"best of the others / {options.peers[0]}", digits=3),
        Column("largest error", digits=1),
    ]
    table = Table("", columns)
    speed_ups = []
    for net, batch in product(options.nets, options.batch):
        found = compare(net, batch, options.peers, options.threads, options.rounds, clock)
        ours, *others = (ms for ms, _ in found.values())
        speed_up = min(others) / ours if others else None
        speed_ups += [speed_up] if speed_up else []
        worst = max(error for _, error in found.values())
        table.rows.append([net, batch, *(ms for ms, _ in found.values()), speed_up, worst])
        print(*table.texts()[-1], sep="\t", file=sys.stderr, flush=True)
    if speed_ups:
        table.notes.append(f"Geometric mean: {statistics.geometric_mean(speed_ups):.2f}.")
    performance.report("cpu_inference", table, options)


def compare(
    net: str, batch: int, peers: list[str], threads: int, rounds: int, clock: Callable[[], float]
) -> dict[str, tuple[float, float]]:
    """Returns each peer's median ms per image and the error of its output."""
    import torch

    from convnet_benchmarks.workload.inputs import build_for_inference, sample_batch
    from convnet_benchmarks.workload.kernels import open_inference

    torch.set_num_threads(threads)
    found = registry.find(net)
    module = build_for_inference(found, 1).eval()
    input = sample_batch(found, batch, 1)
    with torch.inference_mode():
        exact = module(input)

    def error(output: Any) -> float:
        first = output if isinstance(output, torch.Tensor) else output[0]
        return float((first - exact).abs().max() / exact.abs().max())

    with contextlib.ExitStack() as stack:
        runs: dict[str, Any] = {}
        samples: dict[str, list[float]] = {}
        for peer in peers:
            own, given = copy.deepcopy(module), input.clone()
            opened = stack.enter_context(open_inference(BACKENDS[peer], own, given, given.device))
            runs[peer], samples[peer] = opened.infer, []
        errors = {peer: error(run()) for peer, run in runs.items()}
        for _ in range(rounds):
            for peer, run in runs.items():
                run()  # what it keeps in caches is its own
                passes, begun, started = 0, time.perf_counter(), clock()
                while passes == 0 or time.perf_counter() - begun < TURN:
                    run()
                    passes += 1
                samples[peer].append((clock() - started) * 1e3 / passes / batch)
    return {peer: (statistics.median(taken), errors[peer]) for peer, taken in samples.items()}


if __name__ == "__main__":
    main()

"""The machine: the GPU, PyTorch, drivers, and what issuing work to the GPU costs."""

import statistics
import time
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.gpu.checks.command import run
from convnet_benchmarks import environment

_TRIALS = 200


def measure(small: bool) -> Iterator[dict[str, Any]]:
    """Yields the environment, and microseconds to issue an operation, to wait for it, and between events."""
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    x = torch.ones(16, device=device)
    issued, waited, between = [], [], []
    for _ in range(_TRIALS):
        torch.cuda.synchronize()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        marks[0].record()
        marks[1].record()
        start = time.perf_counter()
        x.add_(1)
        issued.append((time.perf_counter() - start) * 1e6)
        marks[2].record()
        torch.cuda.synchronize()
        waited.append((time.perf_counter() - start) * 1e6)
        between.append(marks[0].elapsed_time(marks[1]) * 1e3)
    yield {
        "device": torch.cuda.get_device_name(device),
        "environment": environment.collect(device),
        "microseconds": {
            "to issue one operation": statistics.median(issued),
            "to issue it and wait for it": statistics.median(waited),
            "between two events with nothing between them": statistics.median(between),
        },
    }


if __name__ == "__main__":
    run(measure)

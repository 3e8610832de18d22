"""nccl with one process: the gradients of a net are averaged over a group of one, and stay what they are."""

import os
import time
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as distributed

from benchmarks.gpu.checks.command import run
from convnet_benchmarks.nets import registry


def measure(small: bool) -> Iterator[dict[str, Any]]:
    """Yields milliseconds for the exchange of a net's gradients."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517", "RANK": "0", "WORLD_SIZE": "1"}
    torch.cuda.set_device(0)
    distributed.init_process_group("nccl")
    name = "recognize_digits" if small else "alexnet_owt"
    module = registry.build(registry.NETS[name], 1).to("cuda")
    gradients = [torch.ones_like(parameter) for parameter in module.parameters()]
    missed = []
    seconds = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for gradient in gradients:
            distributed.all_reduce(gradient)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    if any(float(gradient.sum()) != gradient.numel() for gradient in gradients):
        missed.append("the sum over one process is not its own value")
    distributed.barrier()
    distributed.destroy_process_group()
    yield {"nccl": {"net": name, "ms": min(seconds) * 1e3}, "missed": missed}


if __name__ == "__main__":
    run(measure)

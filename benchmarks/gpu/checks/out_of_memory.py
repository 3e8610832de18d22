"""Running out of the GPU's memory: benchmark.py names a batch, and that batch runs.

All but a little of the memory is taken first, so that the named batch is one whose input is drawn in seconds.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.gpu.checks.command import run

_LEFT = 3 * 2**30
_NETS = ("alexnet_owt", "vgg_a", "googlenet")
_SMALL = ("squeezenet1.1",)


def measure(small: bool) -> Iterator[dict[str, Any]]:
    """Yields for each net the batch named, and the memory in bytes that was left to it."""
    free, _ = torch.cuda.mem_get_info()
    taken = None if small else torch.empty(max(0, free - _LEFT), dtype=torch.uint8, device="cuda")
    found: dict[str, Any] = {}
    missed = []
    for net in _SMALL if small else _NETS:
        command = [sys.executable, "benchmark.py", "--cuda", "--cudnn", "-iter", "2", "--net", net]
        command += ["-x", "64", "-y", "64"] if small else []
        refused = subprocess.run([*command, "--batch-size", "100000"], capture_output=True, text=True)
        named = re.search(r"the largest batch to try is (\d+)", refused.stderr)
        if refused.returncode != 3 or named is None:
            missed.append(f"{net}: exit code {refused.returncode}: {refused.stderr[-200:]}")
            yield {"out_of_memory": found, "missed": missed}
            continue
        ran = subprocess.run([*command, "--batch-size", named[1]], capture_output=True, text=True)
        found[net] = {"batch": int(named[1]), "memory": _LEFT, "ran": ran.returncode == 0}
        if ran.returncode != 0:
            missed.append(f"{net}: batch {named[1]} was named and did not run: {ran.stderr[-200:]}")
        told = [f"{name}: batch {one['batch']}" for name, one in found.items()]
        yield {"out_of_memory": found, "told": told, "missed": missed}
    del taken


if __name__ == "__main__":
    run(measure)

"""Times what a person meets first: benchmark.py -iter 1 with an empty cache, from its start.

    python -m benchmarks.first_figure [--backends mm auto] [--batch 1 8] [--busy 0 1 2] [--runs 3]

The first figure is the line of :dry-run():. Every run is a new process with a cache folder of its own: the
C code is compiled, and nothing is known of any kernel. ``import torch`` takes turns with them. ``--busy``: so
many processes that compute without end run beside them. Ratios are those of the medians.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from benchmarks import performance
from benchmarks.helpers.beside import others
from convnet_benchmarks.tables import Column, Table

LABEL = ":dry-run():"
COLUMNS = (
    *(Column(name) for name in ("busy processes", "backend", "batch")),
    *(Column(name, "s", digits=3) for name in ("import torch", "first figure", "whole command")),
    *(Column(f"{name} / import torch", digits=3) for name in ("first figure", "whole command")),
)


def main() -> None:
    parser = performance.parser("first_figure", __doc__)
    parser.add_argument("--backends", nargs="+", default=["mm", "auto"])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--script", type=Path, default=performance.ROOT / "benchmark.py", help="another one")
    options = parser.parse_args()
    table = Table("", list(COLUMNS))
    for busy, backend, batch in product(options.busy, options.backends, options.batch):
        with others(busy):
            runs = [measured(options.script, backend, batch) for _ in range(options.runs)]
        torch, first, whole = map(statistics.median, zip(*runs, strict=True))
        table.rows.append([busy, backend, batch, torch, first, whole, first / torch, whole / torch])
        print(*table.texts()[-1], sep="\t", file=sys.stderr, flush=True)
    performance.report("first_figure", table, options)


def measured(script: Path, backend: str, batch: int) -> tuple[float, float, float]:
    """Returns the seconds of ``import torch``, and until the first figure and the end of the command."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    torch = time.perf_counter() - started
    # -convMM true is the default: the lines of the original, whose report does not time the layers.
    chosen = [] if backend == "mm" else ["--backend", backend]
    command = [sys.executable, str(script), "-iter", "1", "-batch_size", str(batch), *chosen]
    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        with subprocess.Popen(
            command,
            env={**os.environ, "XDG_CACHE_HOME": cache},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as running:
            assert running.stdout is not None
            first = next(time.perf_counter() - started for line in running.stdout if line.startswith(LABEL))
            running.stdout.read()
        whole = time.perf_counter() - started
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return torch, first, whole


if __name__ == "__main__":
    main()

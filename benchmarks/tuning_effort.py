"""Measures what a quick choice of kernels saves, and what it costs: --tuning quick against thorough.

    python -m benchmarks.tuning_effort [--nets overfeat_accurate] [--backends mm auto] [--batch 1 8]

Each effort chooses in a process of its own, with an empty file of timings, and the table says how many
seconds that takes. Then both plans run their phases in turns, in one process; the ratios are those of the
medians, quick over thorough. Run it on a quiet machine.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from benchmarks import performance
from convnet_benchmarks.nets import registry
from convnet_benchmarks.tables import Column, Table

EFFORTS = ("quick", "thorough")


def main() -> None:
    from convnet_benchmarks.nets.engine import BACKENDS
    from convnet_benchmarks.nets.phases import PHASES

    parser = performance.parser("tuning_effort", __doc__)
    parser.add_argument(
        "--nets", nargs="+", choices=registry.NETS, default=["overfeat_accurate"], metavar="NET"
    )
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=["mm", "auto"])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, help="how long a quick choice may time [0]")
    parser.add_argument("--choose", nargs=6, help=argparse.SUPPRESS)  # what the processes run
    options = parser.parse_args()
    if options.choose:
        choose(*options.choose)
        return
    columns = [Column("net"), Column("backend"), Column("batch")]
    columns += [Column(f"choosing, {effort}", "s", digits=3) for effort in EFFORTS]
    columns += [Column(f"{phase}, quick / thorough", digits=3) for phase in (*PHASES, "all")]
    table = Table("", columns)
    for net, backend, batch in product(options.nets, options.backends, options.batch):
        with tempfile.TemporaryDirectory() as folder:
            files = {effort: str(Path(folder) / f"{effort}.json") for effort in EFFORTS}
            taken = {}
            for effort, file in files.items():
                seconds = str(options.seconds) if options.seconds and effort == "quick" else ""
                command = [sys.executable, "-m", "benchmarks.tuning_effort", "--choose"]
                command += [net, backend, str(batch), effort, file, seconds]
                taken[effort] = float(
                    subprocess.run(command, check=True, capture_output=True, text=True).stdout
                )
            ratios = compare(net, backend, batch, files, options.rounds)
        table.rows.append([net, backend, batch, *(taken[effort] for effort in EFFORTS), *ratios])
        print(*table.texts()[-1], sep="\t", file=sys.stderr, flush=True)
    performance.report("tuning_effort", table, options)


def prepare(net: str, batch: int):  # type: ignore[no-untyped-def]
    """Returns the net and its input."""
    import torch

    found = registry.find(net)
    module = registry.build(found, seed=1)
    return module, found.sample((batch, *found.input_size), torch.Generator().manual_seed(0))


def choose(net: str, backend: str, batch: str, effort: str, file: str, seconds: str) -> None:
    """Chooses the kernels, keeps the timings in ``file`` and prints the seconds it took."""
    from convnet_benchmarks.nets.engine import compile

    module, x = prepare(net, int(batch))
    started = time.perf_counter()
    compile(
        module,
        tuple(x.shape),
        backend,
        tuning_file=Path(file),
        tuning=effort,
        tuning_seconds=float(seconds) if seconds else None,
    )
    print(time.perf_counter() - started)


def compare(net: str, backend: str, batch: int, files: dict[str, str], rounds: int) -> list[float]:
    """Returns the ratios of the median times, quick over thorough: of each phase, and of their sum."""
    from convnet_benchmarks.nets.engine import compile

    module, x = prepare(net, batch)
    plans = {}
    for effort, file in files.items():
        # Nothing is timed any longer: what the file lacks is decided as it was when it was written.
        plans[effort] = compile(
            module,
            tuple(x.shape),
            backend,
            tuning_file=Path(file),
            tuning=effort,
            tuning_seconds=1e-9,
        )
    samples: dict[str, list[list[float]]] = {effort: [] for effort in EFFORTS}
    for turn in range(rounds + 2):
        for effort, phases in plans.items():
            times = []
            begun = time.perf_counter()
            out = phases.updateOutput(x)
            times.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            phases.updateGradInput(x, out)
            times.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            phases.accGradParameters(x, out)
            times.append(time.perf_counter() - begun)
            if turn > 1:  # the first ones warm up
                samples[effort].append([*times, sum(times)])
    medians = {
        effort: [statistics.median(column) for column in zip(*taken, strict=True)]
        for effort, taken in samples.items()
    }
    pairs = zip(*(medians[effort] for effort in EFFORTS), strict=True)
    return [quick / thorough for quick, thorough in pairs]


if __name__ == "__main__":
    main()

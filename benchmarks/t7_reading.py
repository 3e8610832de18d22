"""Measures how fast .t7 files are read: a large model, and tables of a million entries against torchfile.

    python -m benchmarks.t7_reading [--megabytes 578] [--rounds 9] [--directory DIR]

Prints, as medians of interleaved rounds:
- the time to open a file of weights (mapped), and to read all of it with a cold cache, next to a plain read;
- the peak memory of loading it and touching every element, divided by the size of the file;
- the time to load tables of a million entries, and to load and use all of them (scalars are decoded when
  a table is first used), ours and torchfile's (pip install torchfile), with the ratios.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.helpers import command_line
from benchmarks.performance import ROOT
from lua_compat import t7

LAYERS = 8
ENTRIES = 1_000_000

PEAK_OF_LOADING = """
import sys
import numpy as np
from lua_compat import t7
from lua_compat.t7.inspection import places

def memory(name):
    with open('/proc/self/status') as status:
        fields = dict(line.split(':', 1) for line in status)
    return int(fields[name].split()[0]) * 1024

before = memory('VmRSS')
value = t7.load(sys.argv[1], mmap=sys.argv[2] == 'mapped')
total = sum(float(place.part.numpy().sum()) for place in places(value) if isinstance(place.part, t7.Tensor))
print(memory('VmHWM') - before)
"""


def main() -> None:
    parser = command_line.parser("t7_reading", __doc__)
    parser.add_argument("--megabytes", type=int, default=578)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--directory", help="where the files are written (default: a temporary directory)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        large_file(Path(directory) / "weights.t7", options.megabytes, options.rounds)
        million_entries(Path(directory) / "table.t7", options.rounds)


def large_file(path: Path, megabytes: int, rounds: int) -> None:
    count = megabytes * 1_000_000 // 4 // LAYERS
    modules = []
    for i in range(LAYERS):
        weight = np.random.default_rng(i).random(count, np.float32)
        modules.append(t7.TorchObject("nn.Linear", 1, t7.LuaTable({"weight": t7.Tensor.from_numpy(weight)})))
    net = t7.TorchObject("nn.Sequential", 1, t7.LuaTable({"modules": t7.LuaTable.from_list(modules)}))
    start = time.perf_counter()
    t7.save(path, net)
    os.sync()
    size = path.stat().st_size
    print(f"weights: {size / 1e6:.0f} MB; written in {time.perf_counter() - start:.2f} s, with the disk")
    del net, modules

    opened = [timed(lambda: t7.load(path))[0] for _ in range(rounds)]
    print(f"  opened (mapped)        {median(opened) * 1e3:8.2f} ms")

    ways: dict[str, Callable[[], Any]] = {
        "plain read of the file": lambda: plain_read(path),
        "mapped, every byte used": lambda: [part.view(np.uint8).max() for part in weights(t7.load(path))],
        "copied (mmap=False)": lambda: t7.load(path, mmap=False),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(max(3, rounds // 2)):
        for name, way in ways.items():
            forget(path)
            times[name].append(timed(way)[0])
    for name, seconds in times.items():
        print(f"  {name:22} {median(seconds):8.3f} s   {size / median(seconds) / 1e6:7.0f} MB/s, cold cache")

    for kind in ("mapped", "copied"):
        done = subprocess.run(
            [sys.executable, "-c", PEAK_OF_LOADING, str(path), kind],
            capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        print(f"  peak memory, {kind:9} {int(done.stdout) / size:8.3f} of the file")


def weights(net: t7.TorchObject) -> list[np.ndarray]:
    return [module["weight"].numpy() for module in net["modules"].array()]


def plain_read(path: Path) -> np.ndarray:
    array = np.empty(path.stat().st_size, np.uint8)
    with path.open("rb", buffering=0) as file:
        done = 0
        while done < len(array):
            done += file.readinto(array[done:].data)
    return array


def forget(path: Path) -> None:
    """Drops the file from the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def tables() -> dict[str, Callable[[], t7.LuaTable]]:
    numbers = np.random.default_rng(0).standard_normal(ENTRIES).tolist()
    return {
        "1..n -> whole numbers": lambda: t7.LuaTable.from_list(range(ENTRIES)),
        "1..n -> numbers": lambda: t7.LuaTable.from_list(numbers),
        "1..n -> booleans": lambda: t7.LuaTable.from_list([i % 3 == 0 for i in range(ENTRIES)]),
        "numbers -> numbers": lambda: t7.LuaTable(zip(range(7, 7 * ENTRIES, 7), numbers, strict=False)),
        "1..n -> strings": lambda: t7.LuaTable.from_list(
            [f"image_{i * 7919 % ENTRIES}.jpg" for i in range(ENTRIES)]
        ),
        "strings -> numbers": lambda: t7.LuaTable((f"word{i}", i) for i in range(ENTRIES)),
        "strings -> strings": lambda: t7.LuaTable((f"word{i}", f"label{i}") for i in range(ENTRIES)),
        "1..n -> {number, string}": lambda: t7.LuaTable.from_list(
            [t7.LuaTable.from_list([i, "a"]) for i in range(ENTRIES // 10)]
        ),
    }


def million_entries(path: Path, rounds: int) -> None:
    import torchfile

    torchfile.xrange = range  # torchfile 0.1.0 still calls Python 2's name

    def ours() -> Any:
        return t7.load(path)

    def theirs() -> Any:
        return torchfile.load(str(path))

    print("tables, ms                 load: ours torchfile ratio   load and use: ours ratio   write: ours")
    for name, make in tables().items():
        table = make()
        entries = len(table)
        start = time.perf_counter()
        t7.save(path, table)
        written = time.perf_counter() - start
        del table
        times: dict[str, list[float]] = {"ours": [], "theirs": [], "ours used": [], "theirs used": []}
        for _ in range(rounds):
            for who, load in (("ours", ours), ("theirs", theirs)):
                seconds, value = timed(load)
                times[who].append(seconds)
                start = time.perf_counter()
                used = list(value if isinstance(value, list) else value.items())
                times[f"{who} used"].append(seconds + time.perf_counter() - start)
                assert len(used) == entries
                del value, used
        ms = {who: median(seconds) * 1e3 for who, seconds in times.items()}
        print(
            f"  {name:24} {ms['ours']:10.1f} {ms['theirs']:9.1f} {ms['theirs'] / ms['ours']:5.1f}"
            f"   {ms['ours used']:18.1f} {ms['theirs used'] / ms['ours used']:5.1f}   {written * 1e3:11.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

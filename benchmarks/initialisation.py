"""Times the initialisation of a net: Torch7's generator on OverFeat accurate, 144.7 million numbers.

    python -m benchmarks.initialisation [--runs 9] [--torch7 "COMMAND"]

COMMAND runs a Lua file under real Torch7 (``th``). If given, it draws as many numbers, and the two take
turns, each in the conditions of a new process: memory fresh from the system, touched for the first time.
"""

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks import performance
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.torch7.initialisation import initialise
from convnet_benchmarks.nets.torch7.random import Generator
from convnet_benchmarks.tables import Column, Table

NET = "overfeat_accurate"
LUA = """
require 'torch'
torch.setdefaulttensortype('torch.FloatTensor')
local timer = torch.Timer()
torch.manualSeed(1)
torch.FloatTensor(%d):uniform(-0.1, 0.1)
print(timer:time().real)
"""


def ours() -> float:
    """Returns the seconds it takes to fill the net's parameters."""
    module = registry.with_memory(registry.on_meta(registry.find(NET)))
    start = time.perf_counter()
    initialise(module, Generator(1))
    return time.perf_counter() - start


def theirs(command: str, numbers: int) -> float:
    """Returns the seconds real Torch7 takes for as many numbers."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "draw.lua"
        script.write_text(LUA % numbers)
        done = subprocess.run([*command.split(), str(script)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = performance.parser("initialisation", __doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--torch7", metavar="COMMAND")
    options = parser.parse_args()
    numbers = registry.parameter_count(registry.on_meta(registry.find(NET)))
    mine, others = [], []
    for _ in range(options.runs):
        mine.append(ours())
        if options.torch7:
            others.append(theirs(options.torch7, numbers))
    columns = [Column("program"), Column("median", "s", digits=3), Column("fastest", "s", digits=3)]
    taken = {"convnet-benchmarks": mine, **({"Torch7": others} if others else {})}
    table = Table("", columns, [[name, statistics.median(each), min(each)] for name, each in taken.items()])
    table.notes.append(f"{numbers:,} parameters.")
    performance.report("initialisation", table, options)


if __name__ == "__main__":
    main()

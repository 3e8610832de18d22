"""What the package threads costs in Lua: jobs of no work, threads, handing a batch of images over.

    python benchmarks/lua_threads.py [--torch7 COMMAND] [--rounds 5]

COMMAND runs a Lua script under real Torch7 with its package threads. The two run in turns; printed are the
medians over the rounds, in microseconds.
"""

import argparse
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
require 'torch'
local threads = require 'threads'
threads.Threads.serialization('threads.sharedserialize')
local timer = torch.Timer()
local function measure(name, n, f)
    f(math.ceil(n / 10)) -- warm-up
    timer:reset()
    f(n)
    print(('%s\\t%.1f'):format(name, timer:time().real / n * 1e6))
end
local pool = threads.Threads(2)
local sum = 0
local function job(x) return x end
local function add(x) sum = sum + x end
measure('a job, many at a time', 2000, function(n)
    for i = 1, n do pool:addjob(job, add, i) end
    pool:synchronize()
end)
measure('a job, one at a time', 1000, function(n)
    for i = 1, n do
        pool:addjob(job, add, i)
        pool:synchronize()
    end
end)
local batch = torch.FloatTensor(32, 3, 224, 224):fill(1)
measure('a job with a shared batch', 1000, function(n)
    for i = 1, n do pool:addjob(function(x) return x end, function(x) assert(x:dim() == 4) end, batch) end
    pool:synchronize()
end)
pool:terminate()
measure('a thread made and ended', 40, function(n)
    for i = 1, n / 2 do threads.Threads(2):terminate() end
end)
"""


def run(command: list[str], script: Path) -> dict[str, float]:
    output = subprocess.run([*command, str(script)], capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in output.splitlines() if "\t" in line)
    return {name: float(cost) for name, cost in rows}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch7", help="a command that runs Lua scripts under real Torch7")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    commands = {"th": [sys.executable, "-m", "lua_compat"]}
    if options.torch7:
        commands["Torch7"] = shlex.split(options.torch7)
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "lua_threads.lua"
        script.write_text(SCRIPT)
        for _ in range(options.rounds):
            for name, command in commands.items():
                samples[name].append(run(command, script))
    print(f"{'':28}" + "".join(f"{name + ', us':>14}" for name in commands))
    for what in samples["th"][0]:
        medians = [statistics.median(sample[what] for sample in rounds) for rounds in samples.values()]
        print(f"{what:28}" + "".join(f"{cost:14.1f}" for cost in medians))


if __name__ == "__main__":
    main()

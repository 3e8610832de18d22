"""What tensors cost in Lua: element access, apply, small operations; real Torch7's beside it if given.

    python benchmarks/lua_tensor.py [--torch7 COMMAND] [--rounds 9]

COMMAND runs a Lua script under real Torch7 ('th', or 'luajit' with its paths set). The two run in
turns; printed are the medians over the rounds, in nanoseconds, and the ratio of the medians.
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
local timer = torch.Timer()
local function measure(name, n, f)
    f(math.ceil(n / 10)) -- warm-up
    timer:reset()
    f(n)
    print(('%s\\t%.2f'):format(name, timer:time().real / n * 1e9))
end
local v, m = torch.DoubleTensor(1000):fill(1), torch.DoubleTensor(30, 30):fill(1)
local small, other = torch.DoubleTensor(3, 4):fill(1), torch.DoubleTensor(3, 4):fill(1)
local large = torch.FloatTensor(1000000):fill(1)
measure('v:size(1)', 1e6, function(n) local s = 0 for i = 1, n do s = s + v:size(1) end return s end)
measure('v[i]', 1e6, function(n) local s = 0 for i = 1, n do s = s + v[i % 1000 + 1] end return s end)
measure('v[i] = x', 1e6, function(n) for i = 1, n do v[i % 1000 + 1] = i end end)
measure('m[{i, j}]', 1e6, function(n) local s = 0 for i = 1, n do s = s + m[{i % 30 + 1, 3}] end return s end)
measure('m[i][j]', 1e6, function(n) local s = 0 for i = 1, n do s = s + m[i % 30 + 1][3] end return s end)
measure('apply, per element', 1e6, function(n)
    for i = 1, n / 1000 do v:apply(function(x) return x + 1 end) end
end)
measure('torch.data, per element', 1e6, function(n)
    local p = torch.data(v)
    for i = 1, n / 1000 do for j = 0, 999 do p[j] = p[j] + 1 end end
end)
measure('small:add(1)', 2e5, function(n) for i = 1, n do small:add(1) end end)
measure('small:add(other)', 2e5, function(n) for i = 1, n do small:add(other) end end)
measure('small + other', 1e5, function(n) for i = 1, n do local t = small + other end end)
measure('small:narrow(1, 1, 2)', 2e5, function(n) for i = 1, n do local t = small:narrow(1, 1, 2) end end)
measure('small:sum()', 1e5, function(n) for i = 1, n do local s = small:sum() end end)
measure('small * small:t()', 5e4, function(n) for i = 1, n do local t = small * other:t() end end)
measure('large:add(1), per 1000 elements', 1e5, function(n) for i = 1, n / 1000 do large:add(1) end end)
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
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    commands = {"th": [sys.executable, "-m", "lua_compat"]}
    if options.torch7:
        commands["Torch7"] = shlex.split(options.torch7)
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "lua_tensor.lua"
        script.write_text(SCRIPT)
        for _ in range(options.rounds):
            for name, command in commands.items():
                samples[name].append(run(command, script))
    print(
        f"{'':34}"
        + "".join(f"{name + ', ns':>14}" for name in commands)
        + ("  ratio" if options.torch7 else "")
    )
    for what in samples["th"][0]:
        medians = [statistics.median(sample[what] for sample in rounds) for rounds in samples.values()]
        ratio = f"{medians[0] / medians[1]:7.2f}" if len(medians) == 2 else ""
        print(f"{what:34}" + "".join(f"{cost:14.1f}" for cost in medians) + ratio)


if __name__ == "__main__":
    main()

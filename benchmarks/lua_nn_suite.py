"""Times the tests of nn.test() under our th and, if given, under real Torch7.

    python -m benchmarks.lua_nn_suite --nn FOLDER [--torch7 COMMAND] [--seed 3] [--slowest 15]

FOLDER is a checkout of torch/nn, whose test.lua is run. COMMAND runs a Lua script under real Torch7 ('th', or
'luajit' with its paths set). Both need the package moses in LUA_PATH. The sizes in the tests are random, so
every test starts from the seed, and both do the same work. The output is in seconds of processor
time.
"""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import performance
from convnet_benchmarks.tables import Column, Table

SCRIPT = """
require 'nn'
dofile(arg[1])
local names = {}
for name in pairs(nn.test({}).tests) do names[#names + 1] = name end
table.sort(names)
local seed, timer = tonumber(arg[2]), torch.Timer()
for _, name in ipairs(names) do
    timer:reset()
    nn.test({ '^' .. name .. '$' }, seed)
    local spent = timer:time()
    print(('\\nseconds\\t%s\\t%.4f'):format(name, spent.user + spent.sys))
end
"""


def run(command: list[str], script: Path, suite: Path, seed: int) -> dict[str, float]:
    output = subprocess.run([*command, str(script), str(suite), str(seed)], stdout=subprocess.PIPE, text=True)
    rows = (line.split("\t") for line in output.stdout.splitlines() if line.startswith("seconds\t"))
    times = {row[1]: float(row[2]) for row in rows}  # trepl ends printed lines with a tab
    if output.returncode != 0 or not times:
        sys.exit(f"the tests did not run: {shlex.join(command)}\n{output.stdout[-2000:]}")
    return times


def main() -> None:
    parser = performance.parser("lua_nn_suite", __doc__)
    parser.add_argument("--nn", type=Path, required=True, metavar="FOLDER", help="a checkout of torch/nn")
    parser.add_argument("--torch7", help="a command that runs Lua scripts under real Torch7")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--slowest", type=int, default=15, help="tests to print")
    options = parser.parse_args()
    suite = options.nn.resolve() / "test.lua"
    if not suite.exists():
        parser.error(f"no {suite}: the folder of a checkout is needed")
    commands = {"th": [sys.executable, "-m", "lua_compat"]}
    if options.torch7:
        commands["Torch7"] = shlex.split(options.torch7)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "suite.lua"
        script.write_text(SCRIPT)
        times = [run(command, script, suite, options.seed) for command in commands.values()]
    ours = times[0]
    table = Table("", [Column("test"), *(Column(name, "s", digits=3) for name in commands)])
    table.rows.append([f"all {len(ours)}", *(sum(each.values()) for each in times)])
    for name in sorted(ours, key=lambda name: -ours[name])[: options.slowest]:
        table.rows.append([name, *(each[name] for each in times)])
    performance.report("lua_nn_suite", table, options)


if __name__ == "__main__":
    main()

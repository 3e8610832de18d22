"""Compares benchmark.lua under our th with benchmark.py: the same net and kernels, interleaved.

    python -m benchmarks.lua_benchmark --script benchmark.lua [--torch7 COMMAND] [--batch 1] [--rounds 9]

``--script`` names the original benchmark.lua (Cadene/DeepRecipes), unmodified; COMMAND runs a Lua script
under real Torch7. The first round, which may time kernels for the tuning file, is not counted. The output
shows the median of each line over the rounds, in milliseconds per sample, and th's time divided by each
other's.
"""

import shlex
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks import performance
from benchmarks.performance import ROOT
from convnet_benchmarks.tables import Column, Table

LINES = (":updateOutput():", ":updateGradInput():", ":accGradParameters():", ":TOTAL:")


def run(command: list[str]) -> dict[str, float]:
    """Runs the script; returns what it printed on the lines of interest, in ms per sample."""
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if result.returncode:
        sys.exit(f"{shlex.join(command)} failed:\n{result.stderr}")
    rows = (line.split("\t") for line in result.stdout.splitlines() if "\t" in line)
    return {row[0]: float(row[1]) for row in rows if row[0] in LINES}


def main() -> None:
    parser = performance.parser("lua_benchmark", __doc__)
    parser.add_argument("--script", type=Path, required=True, help="the original benchmark.lua")
    parser.add_argument("--torch7", help="a command that runs Lua scripts under real Torch7")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--iter", type=int, default=5, help="passes per loop of the scripts")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    if not options.script.is_file():
        parser.error(f"--script {options.script}: no such file")
    script = str(options.script.resolve())
    arguments = ["-iter", str(options.iter), "-batch_size", str(options.batch)]
    arguments += ["-4d_tensor", "true" if options.batch > 1 else "false", "-sync", "false"]
    commands = {
        "th": [sys.executable, "-m", "lua_compat", script, *arguments],
        "benchmark.py": [sys.executable, "benchmark.py", *arguments],
    }
    if options.torch7:
        commands["Torch7"] = [*shlex.split(options.torch7), script, *arguments]
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for counted in range(-1, options.rounds):
        for name, command in commands.items():
            figures = run(command)
            if counted >= 0:
                samples[name].append(figures)
    others = [name for name in commands if name != "th"]
    columns = [Column("line"), *(Column(name, "ms per sample") for name in commands)]
    table = Table("", [*columns, *(Column(f"th / {name}", digits=3) for name in others)])
    for line in LINES:
        medians = {name: statistics.median(sample[line] for sample in samples[name]) for name in commands}
        ratios = [medians["th"] / medians[name] for name in others]
        table.rows.append([line, *medians.values(), *ratios])
    performance.report("lua_benchmark", table, options)


if __name__ == "__main__":
    main()

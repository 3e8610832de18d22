"""The examples of the tutorial do what it says."""

import re
import subprocess
import sys
from pathlib import Path

from convnet_benchmarks.results.load import load
from lua_compat import t7
from tests.helpers.places import GOLDEN, ROOT

EXAMPLES = ROOT / "examples"


def test_the_script_learns_to_read_and_saves_its_net(tmp_path: Path) -> None:
    path = tmp_path / "digits.t7"
    command = [sys.executable, "-m", "lua_compat", str(EXAMPLES / "digits.lua"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    # Real Torch7 prints the same digits.
    assert "step 200: loss 0.0731" in done.stdout
    read = re.search(r"([\d.]+) % of 500 noisy digits", done.stdout)
    assert read is not None and float(read[1]) == 99.2
    assert t7.load(path).typename == "nn.Sequential"


def test_the_old_log_is_one_of_torch7s_and_can_be_compared() -> None:
    log = EXAMPLES / "torch7_cpu.log"
    assert log.read_bytes() == (GOLDEN / "logs" / "benchmark_cpu_4d_b4.log").read_bytes()
    assert load(str(log))

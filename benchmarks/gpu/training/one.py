"""python -m benchmarks.gpu.training.one WAY PROGRAM SIZE CHECKOUTS RESULT: trains one program's net.

WAY is th, cpu (th with the CPU in the GPU's place) or plain (PyTorch). All is loaded first; then a line of
stdin is waited for, so that starting the next one need not wait for the end of this one. What the program
prints goes to stderr.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.training import plain
from benchmarks.gpu.training.meter import Meter
from benchmarks.gpu.training.programs import COMPARED, SMALL, Program, Size, program
from lua_compat.cli.th import main as th
from lua_compat.runtime.cuda import Cuda

_MADE_DATA = Path(__file__).with_name("made_data.lua")


def main() -> int:
    way, name, size_name, checkouts, result = sys.argv[1:]
    chosen = program(name)
    size = chosen.sizes[size_name]
    compared = size_name == COMPARED or way == "cpu"
    meter = Meter(Path(result), 0 if compared else size.warm, size.steps, profiled=not compared)
    if way != "cpu":
        torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")
    sys.stdin.readline()
    if way == "plain":
        plain.train(name, meter, size, size_name == SMALL)
        return 0
    return _run_th(chosen, size, meter, Path(checkouts).resolve(), cpu=way == "cpu")


def _run_th(chosen: Program, size: Size, meter: Meter, checkouts: Path, cpu: bool) -> int:
    own = Cuda.functions

    def with_meter(self: Cuda) -> dict[str, Any]:
        return {**own(self), "evaluation_begins": meter.begins, "evaluation_gave": meter.gave}

    Cuda.functions = with_meter  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        chosen.copy_to(checkouts, Path(folder, "program"))
        os.chdir(Path(folder, "program"))
        os.environ.update(size.variables)
        os.environ["LUA_PATH"] = f"{checkouts}/Penlight/lua/?.lua;{checkouts}/Penlight/lua/?/init.lua;;"
        words = [*(["--cpu-as-cuda"] if cpu else []), str(_MADE_DATA), chosen.script, *size.words.split()]
        code = th(words)
        os.chdir("/")
    return code


if __name__ == "__main__":
    os.dup2(2, 1)  # only the parent's summary is for stdout
    sys.exit(main())

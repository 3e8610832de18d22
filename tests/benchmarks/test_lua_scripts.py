"""benchmarks/lua_scripts.py: the runs themselves need checkouts; its command line and list do not."""

from pathlib import Path

import pytest

from benchmarks.lua_scripts import Cost, Results
from tests.compatibility.commands.timed import TIMED
from tests.helpers.commands import run_python


def _run(*words: object) -> tuple[int, str]:
    ended = run_python("-m", "benchmarks.lua_scripts", *words)
    return ended.returncode, ended.stderr.splitlines()[-1]


def test_what_cannot_run_is_said_in_one_line(tmp_path: Path) -> None:
    code, problem = _run(tmp_path / "none")
    assert (code, "no such folder" in problem) == (2, True)
    code, problem = _run(tmp_path, "--only", "nothing")
    assert code == 2 and all(script.label in problem for script in TIMED)
    code, problem = _run(tmp_path, "--rounds", 0)
    assert (code, "--rounds" in problem) == (2, True)


def test_names_are_told_apart() -> None:
    assert len({script.label for script in TIMED}) == len(TIMED)


def test_the_start_is_that_of_the_same_program() -> None:
    results = Results(["th", "Torch7"])
    blas = "PyTorch's BLAS"
    starts = {("th", ""): 0.1, ("th", blas): 0.3, ("th", "PyTorch"): 1.0, ("Torch7", ""): 0.05}
    results.add_starts({key: Cost(cpu, 0, 0, key[1]) for key, cpu in starts.items()})
    costs = {"th": Cost(3.2, 4, 300, "PyTorch"), "Torch7": Cost(4.1, 5, 80, "")}
    idle = {"th": Cost(0.3, 1, 200, ""), "Torch7": Cost(0.1, 1, 70, "")}
    results.add_row("of its own", [(costs, idle)])  # 3.2 - 0.3 - 0.9 and 4.1 - 0.1
    results.add_row("as most", [(costs, {})])  # 3.2 - 1 and 4.1 - 0.05
    with_blas = {**costs, "th": Cost(3.2, 4, 300, blas)}
    results.add_row("BLAS alone", [(with_blas, {})])  # 3.2 - 0.3 and 4.1 - 0.05
    assert results.ratios == pytest.approx([2 / 4, 2.2 / 4.05, 2.9 / 4.05])
    with pytest.raises(RuntimeError, match="more to do"):
        results.add_row("short", [({**costs, "th": Cost(0.9, 1, 200, "PyTorch")}, {})])

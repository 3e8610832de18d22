"""benchmarks/lua_scripts.py: the runs themselves need checkouts; its command line and list do not."""

from pathlib import Path

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

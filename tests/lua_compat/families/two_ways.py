"""What LuaJIT computes for few elements is what PyTorch's kernels do, in all types and layouts; errors, too.

Both ways of each kernel of the family are taken, and LuaJIT says why where it refuses.

Each family's folder has Lua files of cases, and a test that runs them, also alone:
`pytest tests/lua_compat/families/pooling`.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lua_compat.kernels import all_kernels
from lua_compat.runtime.state import LUA_FOLDER, Runtime

SCRIPT = Path(__file__).with_name("two_ways.lua")
PLACES = ["main memory", "cuda"]

Test = Callable[..., None]


def made_for(test_file: str) -> tuple[Test, Test]:
    """Returns the quick and the slow test of the Lua files beside ``test_file``."""
    folder = Path(test_file).parent
    files = sorted(folder.glob("*.lua"))
    assert files, folder

    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("file", files, ids=lambda file: file.stem)
    def test_both_ways_agree(file: Path, place: str, capfd: pytest.CaptureFixture[str]) -> None:
        compared, taken = _compared(file, 1, 1, place, capfd)
        assert compared > 10
        computed = _computed_by_lua(file.parent.name)
        assert {name for name in computed if taken.get((name, "luajit"), (0, 0))[0] == 0} == set()
        assert {name for name in computed if taken.get((name, "pytorch"), (0, 0))[0] == 0} == set()
        assert {name for (name, _), (_, reasonless) in taken.items() if reasonless > 0} == set()

    @pytest.mark.slow
    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("seed", range(2, 5))
    @pytest.mark.parametrize("file", files, ids=lambda file: file.stem)
    def test_both_ways_agree_on_much_more(
        file: Path, seed: int, place: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert _compared(file, seed, 60, place, capfd)[0] > 600

    return test_both_ways_agree, test_both_ways_agree_on_much_more


def _computed_by_lua(family: str) -> set[str]:
    """Returns the kernels of a family of nn that LuaJIT has a way for."""
    registered = set()
    for file in (Path(LUA_FOLDER) / "nn" / family / "luajit").glob("*.lua"):
        registered |= set(re.findall(r"\bluajit\.(\w+)", file.read_text(encoding="utf-8")))
    return registered & all_kernels().keys()


Taken = dict[tuple[str, str], tuple[int, int]]  # by operation and way: calls, and those without a reason


def _compared(
    file: Path, seed: int, rounds: int, place: str, capfd: pytest.CaptureFixture[str]
) -> tuple[int, Taken]:
    """Runs the cases of ``file``, which fail at the first difference; returns how many results were compared,
    and which ways were taken.

    ``place``: cuda compares CUDA's types, for which the CPU stands in.
    """
    arguments = [str(file), str(seed), str(rounds), place]
    runtime = Runtime(str(SCRIPT), arguments, cpu_as_cuda=place == "cuda", notes=False, way="any")
    assert runtime.run_file(str(SCRIPT)) == 0
    compared, *rows = capfd.readouterr().out.splitlines()
    taken: Taken = {}
    for row in rows:
        name, way, calls, reasonless = row.split("\t")
        taken[name, way] = int(calls), int(reasonless)
    return int(compared), taken

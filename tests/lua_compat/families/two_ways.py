"""What LuaJIT computes for few elements is what PyTorch's kernels do, in all types and layouts; errors, too.

Each family's folder has Lua files of cases, and a test that runs them, also alone:
`pytest tests/lua_compat/families/pooling`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lua_compat.runtime.state import Runtime

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
        assert _compared(file, 1, 1, place, capfd) > 10

    @pytest.mark.slow
    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("seed", range(2, 12))
    @pytest.mark.parametrize("file", files, ids=lambda file: file.stem)
    def test_both_ways_agree_on_much_more(
        file: Path, seed: int, place: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert _compared(file, seed, 60, place, capfd) > 600

    return test_both_ways_agree, test_both_ways_agree_on_much_more


def _compared(file: Path, seed: int, rounds: int, place: str, capfd: pytest.CaptureFixture[str]) -> int:
    """Runs the cases of ``file``, which fail at the first difference; returns how many results were compared.

    ``place``: cuda compares CUDA's types, for which the CPU stands in.
    """
    arguments = [str(file), str(seed), str(rounds), place]
    runtime = Runtime(str(SCRIPT), arguments, cpu_as_cuda=place == "cuda", notes=False, way="any")
    assert runtime.run_file(str(SCRIPT)) == 0
    return int(capfd.readouterr().out)

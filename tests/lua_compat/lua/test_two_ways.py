"""Few elements, which Lua computes itself: as PyTorch's kernels do, in all types and layouts; errors, too."""

from pathlib import Path

import pytest

from lua_compat import run

SCRIPT = Path(__file__).parent / "two_ways.lua"


def compared(seed: int, rounds: int, capfd: pytest.CaptureFixture[str]) -> int:
    """Runs the script, which fails at the first difference; returns how many results it compared."""
    assert run(SCRIPT, [str(seed), str(rounds)]) == 0
    return int(capfd.readouterr().out)


def test_both_ways_agree(capfd: pytest.CaptureFixture[str]) -> None:
    assert compared(1, 5, capfd) > 2000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_both_ways_agree_on_much_more(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert compared(seed, 60, capfd) > 12000

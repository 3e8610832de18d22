"""Few elements, which Lua computes itself: as PyTorch's kernels do, in all types and layouts; errors, too."""

from pathlib import Path

import pytest

from lua_compat.runtime.state import Runtime

SCRIPT = Path(__file__).parent / "two_ways.lua"
SORTED = SCRIPT.with_name("sorted.lua")
PLACES = ["main memory", "cuda"]


def compared(seed: int, rounds: int, place: str, capfd: pytest.CaptureFixture[str]) -> int:
    """Runs the script, which fails at the first difference; returns how many results it compared.

    ``place``: cuda has it compare CUDA's types, for which the CPU stands in.
    """
    arguments = [str(seed), str(rounds), place]
    runtime = Runtime(str(SCRIPT), arguments, cpu_as_cuda=place == "cuda", notes=False)
    assert runtime.run_file(str(SCRIPT)) == 0
    return int(capfd.readouterr().out)


@pytest.mark.parametrize("place", PLACES)
def test_both_ways_agree(place: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert compared(1, 1, place, capfd) > 2000


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("seed", range(2, 22))
def test_both_ways_agree_on_much_more(seed: int, place: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert compared(seed, 60, place, capfd) > 12000


def test_buckets_find_the_order_that_the_quicksort_finds(capfd: pytest.CaptureFixture[str]) -> None:
    runtime = Runtime(str(SORTED), ["1", "1500"], notes=False)
    assert runtime.run_file(str(SORTED)) == 0
    assert capfd.readouterr().out == "1500\n"

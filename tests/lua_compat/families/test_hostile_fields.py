"""Values in fields of layers: both ways refuse what Torch7 refuses, and compute what it computes."""

import time
from pathlib import Path

import pytest

from lua_compat.runtime.state import Runtime

SCRIPT = Path(__file__).with_name("hostile_fields.lua")
OF_TORCH7 = Path(__file__).with_name("fields_of_torch7.lua")


@pytest.mark.parametrize(
    ("seed", "rounds"),
    [(1, 5), pytest.param(time.time_ns() % 2**31, 300, id="a new seed", marks=pytest.mark.slow)],
)
def test_both_ways_refuse_the_same_values(seed: int, rounds: int, capfd: pytest.CaptureFixture[str]) -> None:
    runtime = Runtime(str(SCRIPT), [str(seed), str(rounds)], way="any")
    assert runtime.run_file(str(SCRIPT)) == 0, f"seed {seed}"
    compared, raised = map(int, capfd.readouterr().out.split())
    assert compared == 63 * rounds
    assert 0.3 < raised / compared < 0.9


@pytest.mark.parametrize("way", ["any", "pytorch"])
def test_fields_mean_what_they_mean_in_torch7(way: str) -> None:
    runtime = Runtime(str(OF_TORCH7), [], way=way)
    assert runtime.run_file(str(OF_TORCH7)) == 0

"""The machine while something is timed: a falling clock is noticed, and nothing is thrown away for it."""

import pytest

from convnet_benchmarks.timing.conditions import Conditions, cpu_clock_mhz
from convnet_benchmarks.timing.loops import HostClock, Settling, run_until_settled


def test_passes_with_a_low_clock_are_counted() -> None:
    clocks = iter([3000.0, 2900.0, 2000.0, None])
    conditions = Conditions(lambda: next(clocks))
    for passes in (10, 20, 40):
        conditions.look(passes)
    seen = conditions.as_dict()
    assert seen["clock_mhz"] == {"lowest": 2000.0, "highest": 3000.0}
    assert seen["throttled_passes"] == 20


def test_a_machine_that_tells_nothing_is_not_throttled() -> None:
    conditions = Conditions(lambda: None)
    conditions.look(5)
    assert conditions.as_dict()["clock_mhz"] is None and conditions.throttled_passes == 0


def test_every_pass_of_a_loop_is_looked_after() -> None:
    conditions = Conditions(cpu_clock_mhz)
    loop = run_until_settled(
        lambda: sum(range(2000)), HostClock(), Settling(4, 0.01, 0.05), look=conditions.look
    )
    assert sum(passes for passes, _ in conditions.looks) == loop.passes == len(loop.samples_ms)
    seen = conditions.as_dict()
    assert seen["cpu_ms_per_pass"] > 0 and seen["busy_cores"] > 0


@pytest.mark.parametrize("joules", [None, 1.5])
def test_conditions_are_plain_json_values(joules: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    counters = iter([{}, {}] if joules is None else [{"intel-rapl:0": 5}, {"intel-rapl:0": 3_000_005}])
    monkeypatch.setattr("convnet_benchmarks.timing.conditions._energy", lambda: next(counters))
    conditions = Conditions(lambda: 1000.0)
    conditions.look(2)
    assert conditions.as_dict()["joules_per_pass"] == joules

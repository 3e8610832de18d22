"""The machine while something is timed: a falling clock is noticed, and nothing is thrown away for it."""

import glob
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from convnet_benchmarks.counters import Counters
from convnet_benchmarks.timing.conditions import Conditions, CpuWaitedSeconds, cpu_clock_mhz, watched
from convnet_benchmarks.timing.counted import counted_cells, counted_columns
from convnet_benchmarks.timing.loops import (
    HostClock,
    Loop,
    Settling,
    run_loop,
    run_until_settled,
    watched_loop,
)


class Steps:
    """A counter that says these numbers one after the other."""

    def __init__(self, *readings: float) -> None:
        self._readings = iter(readings)

    def read(self) -> float:
        return next(self._readings)

    def close(self) -> None:
        pass


def test_passes_with_a_low_clock_are_counted() -> None:
    clocks = iter([3000.0, 2900.0, 2000.0, None])
    conditions = Conditions(lambda: next(clocks))
    for passes in (10, 20, 40):
        conditions.look(passes)
    seen = conditions.as_dict()
    assert seen["clock_mhz"] == {"lowest": 2000.0, "highest": 3000.0}
    assert seen["clocks"] == [[10, 2900.0], [20, 2000.0], [40, None]]
    assert seen["throttled_passes"] == 20
    summary = Loop(70, 1.0, (1.0,) * 70, conditions=seen).summary()
    assert summary.verdict == "throttled" and summary.samples == 70


def test_a_machine_that_reports_nothing_is_not_throttled() -> None:
    conditions = Conditions(lambda: None)
    conditions.look(5)
    assert conditions.as_dict()["clock_mhz"] is None and conditions.throttled_passes == 0


def test_every_pass_of_a_loop_is_looked_after() -> None:
    conditions = Conditions(cpu_clock_mhz)
    loop = run_until_settled(lambda: sum(range(2000)), HostClock(), Settling(4, 0.01, 0.05), watch=conditions)
    assert sum(passes for passes, _ in conditions.looks) == loop.passes == len(loop.samples_ms)
    seen = conditions.as_dict()
    assert seen["cpu_ms_per_pass"] > 0 and seen["busy_cores"] > 0


def test_what_is_counted_between_looks_is_left_out() -> None:
    counters = Counters(
        {
            "joules": Steps(100.0, 150.0, 159.0, 200.0, 215.0),
            "instructions": Steps(0.0, 10.0, 40.0, 50.0, 74.0),
        },
        {},
    )
    conditions = Conditions(lambda: 1000.0, counters)
    for _ in range(2):
        watched_loop(lambda: None, 6, HostClock(), conditions)
    seen = conditions.as_dict()
    assert (seen["joules_per_pass"], seen["instructions_per_pass"]) == (24 / 12, 54 / 12)


def test_what_looking_costs_is_not_the_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that runs only while the counters and the clock frequency are read, and in passes."""
    seconds = 0.0

    def take(more: float) -> None:
        nonlocal seconds
        seconds += more

    class Slow:
        def read(self) -> float:
            take(1000.0)
            return seconds

        def close(self) -> None:
            pass

    def clock_mhz() -> float:
        take(100_000.0)
        return 1000.0

    for name in ("perf_counter", "process_time"):
        monkeypatch.setattr(f"convnet_benchmarks.timing.conditions.time.{name}", lambda: seconds)
    conditions = Conditions(clock_mhz, Counters({"instructions": Slow()}, {}))
    for _ in range(3):
        watched_loop(lambda: take(2.0), 5, HostClock(), conditions)
        take(10_000.0)  # statistics between the loops
    seen = conditions.as_dict()
    assert seen["cpu_ms_per_pass"] == 2000.0 and seen["busy_cores"] == 1.0
    assert seen["instructions_per_pass"] == 2.0 + 1000.0 / 5  # and the one reading of the counter itself


def test_emptying_the_cache_is_not_the_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = Counters({"joules": Steps(0.0, 0.0, 5.0, 100.0, 107.0, 200.0, 210.0)}, {})
    monkeypatch.setattr("convnet_benchmarks.timing.conditions.open_counters", lambda: counters)

    def evict() -> None:
        pass

    clock = HostClock(evict)
    with watched(torch.device("cpu"), clock) as conditions:
        conditions.start()
        run_loop(lambda: None, 2, clock)  # 5 before the first pass, 7 in it, 10 in the second
        conditions.look(2)
    assert conditions.as_dict()["joules_per_pass"] == (5 + 7 + 10) / 2
    assert clock.evict is evict


def test_tables_have_a_column_only_where_something_was_counted() -> None:
    assert counted_columns([{}, {"clock_mhz": None}]) == []
    columns = counted_columns([{}, {"joules_per_pass": 8.0}])
    assert [column.title for column in columns] == ["energy [J]"]
    assert list(counted_cells(columns, {"joules_per_pass": 8.0}, 4)) == [2.0]
    assert list(counted_cells(columns, {}, 4)) == [None]


def test_nothing_is_stable_while_threads_wait_for_a_core() -> None:
    steady = (1.0,) * 70
    for waited, verdict in ((None, "stable"), (0.01, "stable"), (0.1, "noisy")):
        seen = {"throttled_passes": 0, "cpu_ms_per_pass": 2.0, "waited_ms_per_pass": waited}
        summary = Loop(70, 0.07, steady, conditions=seen).summary()
        assert summary.verdict == verdict
    assert "waited for a core 5% of their time" in summary.advice


def test_waiting_is_counted_within_passes() -> None:
    seconds = iter([1.0, 1.0, 1.5, 2.0, 2.25])
    conditions = Conditions(lambda: None, waited_seconds=lambda: next(seconds))
    for _ in range(2):
        watched_loop(lambda: None, 5, HostClock(), conditions)
    assert conditions.as_dict()["waited_ms_per_pass"] == pytest.approx(75.0)  # (0.5 + 0.25) s in 10 passes


def test_what_threads_waited_stays_counted_when_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a pass would have waited for less than no time, and hide what the others waited."""
    told: dict[str, str] = {}
    monkeypatch.setattr(glob, "iglob", lambda pattern: list(told))
    monkeypatch.setattr(Path, "read_text", lambda path: told[str(path)])
    waited = CpuWaitedSeconds()
    assert waited() is None
    readings = []
    for files in ({"1": 1, "2": 5}, {"1": 2}, {"1": 2, "2": 3}, {"1": 4, "2": 4}):  # the second 2 is new
        told.clear()
        told.update((name, f"7 {seconds}000000000 9") for name, seconds in files.items())
        readings.append(waited())
    assert readings == [6, 7, 10, 13]


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not tell")
def test_two_programs_on_one_core_wait_for_it() -> None:
    code = "while True: pass"
    cores = os.sched_getaffinity(0)
    other = None
    try:
        os.sched_setaffinity(0, {min(cores)})
        other = subprocess.Popen([sys.executable, "-c", code])
        with watched(torch.device("cpu"), HostClock()) as conditions:
            loop = run_until_settled(
                lambda: sum(range(2000)), HostClock(), Settling(100, 0.5, 1.0), watch=conditions
            )
        seen = conditions.as_dict()
    finally:
        os.sched_setaffinity(0, cores)
        if other is not None:
            other.kill()
            other.wait()
    assert seen["waited_ms_per_pass"] > 0
    assert replace(loop, conditions=seen).summary().verdict != "stable"

"""One point in several processes: both kinds of noise are in its interval."""

from typing import Any

import pytest

from convnet_benchmarks.points.between_processes import merged, processes
from convnet_benchmarks.timing.statistics import summarise
from tests.helpers.made_results import samples_around


def record(ms: float, spread: float = 0.001) -> dict[str, Any]:
    """A measured point of batch 4 whose passes take about ``ms``."""
    summary = summarise(samples_around(ms, spread=spread)).without_advice()
    phases = {"updateOutput": summary}
    return {
        "ran": {"batch_size": 4}, "samples_per_second": 4e3 / ms, "latency_ms": {"p50": ms},
        "pass_ms": summary, "phases_ms": phases, "time": f"{ms}",
    }  # fmt: skip


def of(times: list[float]) -> dict[str, Any]:
    found = record(times[0])
    for ms in times[1:]:
        found = merged(found, record(ms))
    return found


def test_the_figures_are_the_median_of_the_processes() -> None:
    found = of([10.0, 12.0, 11.0])
    assert processes(found) == 3 and processes(record(1.0)) == 1
    assert [part["time"] for part in found["processes"]] == ["10.0", "12.0", "11.0"]
    assert found["pass_ms"]["median"] == pytest.approx(11.0)
    assert found["latency_ms"]["p50"] == 11.0 and found["samples_per_second"] == pytest.approx(4e3 / 11)
    assert found["phases_ms"]["updateOutput"]["median"] == pytest.approx(11.0)
    assert found["pass_ms"]["samples"] == 60


@pytest.mark.parametrize("times", [[10.0, 12.0], [10.0, 10.2, 11.0, 12.0, 10.1, 11.5, 10.4]])
def test_the_interval_holds_what_differs_between_processes(times: list[float]) -> None:
    found = of(times)["pass_ms"]
    assert found["low"] < 10.1 and found["high"] > 11.4
    assert found["verdict"] == "processes differ"


def test_noise_within_the_processes_stays_in_the_interval() -> None:
    found = of([10.0] * 8)["pass_ms"]
    assert found["low"] < 10.0 < found["high"] and found["verdict"] == "stable"

"""One point in several processes: both kinds of noise are in its interval."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from convnet_benchmarks.points.between_processes import (
    in_rounds,
    merged,
    merged_comparison,
    processes,
    processes_note,
)
from convnet_benchmarks.results.from_points import of_point
from convnet_benchmarks.results.ratio import ratio
from convnet_benchmarks.timing.several_processes import combined, combined_interval
from convnet_benchmarks.timing.statistics import summarise
from convnet_benchmarks.timing.verdicts import FASTER, SLOWER, UNSURE
from tests.helpers.made_results import comparison, point, samples_around


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


@pytest.mark.parametrize("times", [[10.0, 11.0, 12.0, 10.5], [10.0, 10.2, 11.0, 12.0, 10.1, 11.5, 10.4]])
def test_the_interval_holds_what_differs_between_processes(times: list[float]) -> None:
    found = of(times)["pass_ms"]
    assert found["low"] < 10.1 and found["high"] > 11.4
    assert found["verdict"] == "processes differ"


@pytest.mark.parametrize(("times", "slow"), [([10.0, 30.0], 30.0), ([10.0, 10.1, 90.0, 70.0], 90.0)])
def test_few_processes_that_differ_widely_have_a_range_and_no_interval(
    times: list[float], slow: float
) -> None:
    """Student's interval of 10 and 30 ms would reach from 16 us to 19 s."""
    found = of(times)
    passes = found["pass_ms"]
    assert (passes["low"], passes["high"]) == pytest.approx((10.0, slow), rel=0.01)
    assert passes["verdict"] == "too few processes"
    del found["ran"]
    speed, *_ = of_point(point("alexnet", 4, 1.0) | found)
    assert speed.noise == "too few processes"


@pytest.mark.parametrize(("others", "given"), [(1.1, True), (1.15, False)])
def test_an_interval_reaches_from_half_to_twice_at_most(others: float, given: bool) -> None:
    found = combined_interval([(10.0, 9.9, 10.1), (10.0 * others, 9.9 * others, 10.1 * others)])
    assert found.given is given and 5.0 < found.low < 10.0 < found.high < 20.0


def test_noise_within_the_processes_stays_in_the_interval() -> None:
    found = of([10.0] * 8)["pass_ms"]
    assert found["low"] < 10.0 < found["high"] and found["verdict"] == "stable"


TRUE_MS, BETWEEN, WITHIN = 10.0, 0.03, 0.01


def of_process(chance: random.Random, true_ms: float = TRUE_MS) -> dict[str, Any]:
    """The summary of a process whose passes are all shifted by its own share of the noise."""
    own = true_ms * chance.gauss(1, BETWEEN)
    return summarise([own * chance.gauss(1, WITHIN) for _ in range(30)]).without_advice()


@pytest.mark.parametrize("count", [2, 3, 5, 6, 10])
def test_the_interval_of_several_processes_holds_the_true_time(count: int) -> None:
    """In 95 of 100 experiments with known noise; that of a single process holds it in few of them."""
    chance = random.Random(count)
    experiments = [[of_process(chance) for _ in range(count)] for _ in range(250)]
    found = [combined(experiment) for experiment in experiments]
    held = sum(one["low"] <= TRUE_MS <= one["high"] for one in found) / len(found)
    alone = sum(one["low"] <= TRUE_MS <= one["high"] for one, *_ in experiments) / len(found)
    assert held >= 0.93 and alone < 0.3


def recorded(chance: random.Random, count: int, true_ms: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(count):
        summary = of_process(chance, true_ms)
        one = point("alexnet", 4, 4e3 / summary["median"])
        one |= {"pass_ms": summary, "ran": {"batch_size": 4}}
        found = merged(found, one) if found else one
    del found["ran"]
    return found


def verdicts(count: int, times: tuple[float, float]) -> Counter[str]:
    """The verdicts on two files of this many processes, in 100 experiments."""
    chance = random.Random(count)
    files = [[of_point(recorded(chance, count, ms))[0] for ms in times] for _ in range(100)]
    return Counter(found.verdict for a, b in files if (found := ratio(a, b)))


def test_compare_decides_by_both_levels_of_noise() -> None:
    """Two files about the same thing differ by their processes: one process each is enough to be wrong."""
    alone, several = verdicts(1, (TRUE_MS, TRUE_MS)), verdicts(8, (TRUE_MS, TRUE_MS))
    assert alone[FASTER] + alone[SLOWER] > 50
    assert several[FASTER] + several[SLOWER] <= 5
    assert verdicts(8, (TRUE_MS, 0.85 * TRUE_MS))[FASTER] > 90  # and a true difference is seen


def test_things_take_turns_and_what_fails_is_not_measured_again() -> None:
    order: list[str] = []
    known: dict[str, dict[str, Any] | None] = {"c": record(1.0) | {"status": "ok"}}
    lacking = {"a": 3, "b": 3, "c": 1, "d": 0}

    def measure(things: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        for thing in things:
            order.append(thing)
            yield thing, record(1.0) | {"status": "failed" if thing == "b" else "ok"}

    found = list(in_rounds(lacking, known, measure, merged))
    assert order == ["a", "b", "a", "a", "c"] and [thing for thing, _ in found] == order
    assert {thing: processes(one) for thing, one in known.items() if one} == {"a": 3, "b": 1, "c": 2}


def sitting(factor: float) -> dict[str, Any]:
    """A process's record of backends: stock is ``factor`` times as fast."""
    found = comparison("alexnet", 1, factor) | {"time": "now"}
    for variant in found["results"].values():
        variant["samples_ms"] = [variant["latency_ms"]]
    return found


def test_few_speed_ups_that_differ_widely_decide_nothing() -> None:
    found = merged_comparison(sitting(1.5), sitting(3.0))["results"]["stock"]["speed_up"]
    assert (found["verdict"], found["value"]) == (UNSURE, 2.25)
    assert 1.4 < found["low"] < 1.5 and 3.0 < found["high"] < 3.2


def test_the_conditions_of_several_processes() -> None:
    seen = {"clock_mhz": {"lowest": 1.0, "highest": 2.0}, "clocks": [[3, 2.0]], "throttled_passes": 3}
    parts = [record(1.0) | {"conditions": {**seen, "joules_per_pass": joules}} for joules in (4.0, 8.0)]
    found = merged(*parts)["conditions"]
    assert found == {
        "clock_mhz": {"lowest": 1.0, "highest": 2.0},
        "clocks": [[3, 2.0], [3, 2.0]],
        "throttled_passes": 6,
        "joules_per_pass": 6.0,
    }


def test_speed_ups_of_several_processes() -> None:
    records = [sitting(factor) for factor in (1.5, 2.0, 2.2, 1.9, 2.1, 2.05)]
    found = records[0]
    for one in records[1:]:
        found = merged_comparison(found, one)
    assert processes(found) == 6 and processes_note([found, records[0]])[0].startswith("medians of 1 to 6")
    speed_up, stock = found["results"]["stock"]["speed_up"], found["results"]["stock"]
    assert speed_up["value"] == pytest.approx(2.025) and speed_up["verdict"] == FASTER
    assert speed_up["low"] < 1.5 and speed_up["high"] > 2.2
    assert len(stock["samples_ms"]) == 6 and stock["latency_ms"] == pytest.approx(10.0)
    assert found["results"]["no-onednn"]["samples_per_second"] == pytest.approx(1e3 / 20.25)

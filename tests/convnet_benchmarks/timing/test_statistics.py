"""The statistics: what they promise about any samples, and the verdicts."""

import random
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convnet_benchmarks.timing.statistics import median_interval, percentile_interval, summarise

positive = st.floats(1e-3, 1e6)


@given(st.lists(positive, min_size=1, max_size=200))
def test_the_interval_encloses_the_median_and_the_samples_the_interval(samples: list[float]) -> None:
    summary = summarise(samples)
    assert min(samples) == summary.minimum <= summary.low <= summary.median <= summary.high <= max(samples)
    assert summary.median == statistics.median(samples)
    assert 0 <= summary.outliers <= len(samples)


@given(st.lists(positive, min_size=6, max_size=100), st.floats(0.1, 10))
def test_statistics_scale_with_their_unit(samples: list[float], factor: float) -> None:
    one, scaled = summarise(samples), summarise([factor * sample for sample in samples])
    assert scaled.median == pytest.approx(factor * one.median)
    assert scaled.high - scaled.low == pytest.approx(factor * (one.high - one.low), abs=1e-6 * scaled.high)


def test_the_interval_covers_the_true_median_as_often_as_it_says() -> None:
    draw = random.Random(1)
    for size in (6, 11, 30):
        covered = 0
        for _ in range(2000):
            low, high = median_interval([draw.expovariate(1.0) for _ in range(size)])
            covered += low <= 0.6931471805599453 <= high
        assert covered / 2000 > 0.94


@pytest.mark.parametrize(("size", "rank"), [(6, 1), (9, 2), (10, 2), (20, 6), (100, 40)])
def test_ranks_of_the_interval_are_the_tables(size: int, rank: int) -> None:
    """Conover's table A3: the ranks of the 95 % interval of the median."""
    assert median_interval(list(range(1, size + 1))) == (rank, size + 1 - rank)


@pytest.mark.parametrize(
    ("samples", "timed_out", "verdict"),
    [
        ([10.0] * 5, False, "too few samples"),
        ([10.0] * 10, False, "stable"),
        ([10.0, 10.01] * 10, True, "stable"),
        ([10.0, 11.0] * 10, False, "noisy"),
        ([10.0, 11.0] * 10, True, "timed out"),
    ],
)
def test_verdicts(samples: Any, timed_out: bool, verdict: str) -> None:
    summary = summarise(samples, timed_out=timed_out)
    assert summary.verdict == verdict
    assert bool(summary.advice) == (verdict != "stable")


def test_outliers_are_counted() -> None:
    assert summarise([10.0, 10.1, 9.9, 10.0, 10.05, 9.95, 30.0]).outliers == 1


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError):
        summarise([])


def test_the_interval_of_a_percentile_holds_it_in_19_of_20_runs() -> None:
    chance = random.Random(5)
    held = 0
    for _ in range(1000):
        low, high = percentile_interval([chance.random() for _ in range(100)], 90)
        held += low <= 0.9 <= high
    assert 0.93 < held / 1000 < 0.99
    assert percentile_interval([3.0], 90) == (3.0, 3.0)
    assert percentile_interval(range(9), 50) == (1, 7)

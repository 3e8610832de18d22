"""MLPerf's early stopping: how many queries, and how many late ones, tell a percentile."""

import random

import pytest

from convnet_benchmarks.points.measure import FEWEST_FOR_PERCENTILE
from convnet_benchmarks.timing.early_stopping import most_late, percentile_estimate, too_many_late


def fewest(percent: float, late: int) -> int:
    accepted = ((queries, most_late(queries, percent)) for queries in range(1, 3000))
    return next(queries for queries, most in accepted if most is not None and most >= late)


def test_the_fewest_queries_are_those_of_mlperf() -> None:
    """Its rules name 64 for the 90th percentile and 662 for the 99th, of which one may be late."""
    assert [fewest(90, late) for late in range(3)] == [44, 64, 81]
    assert [fewest(99, late) for late in range(2)] == [459, 662]
    assert {50: 1, 90: fewest(90, 1), 99: fewest(99, 1)} == FEWEST_FOR_PERCENTILE


def test_few_queries_prove_nothing() -> None:
    assert most_late(43, 90) is None and percentile_estimate([1.0] * 63, 90) is None
    assert too_many_late(1, 90) == 2  # one late query of one has a chance of a tenth


def test_the_estimate_is_a_sample_among_the_slowest() -> None:
    samples = list(range(10_000))
    random.Random(1).shuffle(samples)
    late = most_late(10_000, 99)
    assert late is not None and 70 < late < 100  # a hundred are beyond the percentile itself
    assert percentile_estimate(samples, 99) == 10_000 - late
    assert percentile_estimate(list(range(64)), 90) == 63


@pytest.mark.parametrize("percent", [90, 99])
def test_what_is_accepted_and_refused_is_rarely_wrong(percent: float) -> None:
    """If exactly the percentile's share of queries is late, each is wrong in at most one run in a hundred."""
    chance = random.Random(2)
    queries, runs = 700, 1000
    accepted, refused = most_late(queries, percent), too_many_late(queries, percent)
    counts = [sum(chance.random() > percent / 100 for _ in range(queries)) for _ in range(runs)]
    assert accepted is not None and accepted < queries * (1 - percent / 100) < refused
    assert sum(count <= accepted for count in counts) <= runs / 50
    assert sum(count >= refused for count in counts) <= runs / 50

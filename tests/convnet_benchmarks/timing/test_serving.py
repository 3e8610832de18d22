"""A server under random arrivals, on a simulated clock: what queueing theory says of it."""

import itertools
import math
from dataclasses import dataclass

import pytest

from convnet_benchmarks.timing.serving import (
    BEYOND,
    FEWEST_QUERIES,
    LEAST_SHARE,
    WITHIN,
    capacity,
    find_highest_rate,
    poisson_arrivals,
    queries_for,
    serve,
)

PASS = 0.01  # seconds


@dataclass
class Simulated:
    """A clock that stands still but for the work, which takes ``seconds``."""

    seconds: float = PASS
    moment: float = 100.0

    def now(self) -> float:
        return self.moment

    def wait_until(self, moment: float) -> None:
        self.moment = max(self.moment, moment)

    def work(self) -> None:
        self.moment += self.seconds


def share_in_time(rate: float, target: float) -> float:
    """The share of M/D/1's queries that are answered within ``target`` seconds (Erlang, 1909)."""
    wait, load = target - PASS, rate * PASS
    terms = ((rate * (wait - k * PASS), k) for k in range(int(wait / PASS) + 1))
    return (1 - load) * sum((-x) ** k / math.factorial(k) * math.exp(x) for x, k in terms)


def true_rate(target: float) -> float:
    """The rate at which 99 of 100 queries are answered in time."""
    low, high = 0.0, 1 / PASS
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if share_in_time(middle, target) >= 0.99 else (low, middle)
    return low


@pytest.mark.parametrize("target", [0.03, 0.1])
def test_the_rate_is_that_of_queueing_theory(target: float) -> None:
    clock, queries = Simulated(), 30_000
    found = find_highest_rate(lambda rate: serve(clock.work, 1, rate, queries, 1e3 * target, clock), 1 / PASS)
    truth = true_rate(target)
    assert 0.85 * truth < found.rate <= truth < found.beyond  # the rule asks for a little more than 99 %


def test_few_queries_give_a_careful_answer() -> None:
    clock = Simulated()
    found = find_highest_rate(lambda rate: serve(clock.work, 1, rate, FEWEST_QUERIES, 100, clock), 1 / PASS)
    assert 0 < found.rate < true_rate(0.1) < found.beyond <= 1 / PASS


def test_a_batch_answers_all_that_wait() -> None:
    """Four at a time: the rate is above a single server's capacity, and below the batch's."""
    clock = Simulated()
    found = find_highest_rate(lambda rate: serve(clock.work, 4, rate, 20_000, 40, clock), 4 / PASS)
    assert 1 / PASS < found.rate < 4 / PASS
    trial = serve(clock.work, 4, found.rate, 20_000, 40, clock)
    assert trial.outcome == WITHIN and trial.passes < 20_000 / 2


def test_a_query_that_does_not_wait_takes_a_pass() -> None:
    clock = Simulated()
    trial = serve(clock.work, 1, 0.001, FEWEST_QUERIES, 20, clock)
    assert trial.latency_ms["p50"] == pytest.approx(1e3 * PASS)
    assert (trial.served, trial.passes, trial.outcome) == (FEWEST_QUERIES, FEWEST_QUERIES, WITHIN)


def test_an_overloaded_server_is_not_waited_for() -> None:
    clock = Simulated()
    trial = serve(clock.work, 1, 10 / PASS, 100_000, 50, clock)
    assert trial.outcome == BEYOND and trial.served < 3000 and trial.latency_ms == {}


def test_the_search_gives_up_at_low_rates() -> None:
    """Where every pass is too slow now and then, no rate is low enough, and each trial takes longer."""
    clock = Simulated()
    found = find_highest_rate(lambda rate: serve(clock.work, 1, rate, FEWEST_QUERIES, 5, clock), 1 / PASS)
    assert found.rate == 0 and min(trial.rate for trial in found.trials) >= LEAST_SHARE / PASS / 2


def test_capacity() -> None:
    clock = Simulated()
    throughput, latency = capacity(clock.work, 4, 20, clock)
    assert throughput == pytest.approx(4 / PASS) and latency is None
    assert capacity(clock.work, 1, 5, clock) == pytest.approx((1 / PASS, 1e3 * PASS))


def test_arrivals_have_their_rate_and_follow_from_the_seed() -> None:
    arrivals = poisson_arrivals(50.0, 20_000, seed=3)
    gaps = [b - a for a, b in itertools.pairwise(arrivals)]
    assert arrivals[-1] == pytest.approx(400, rel=0.02)
    assert sum(gap > 1 / 50 for gap in gaps) / len(gaps) == pytest.approx(math.exp(-1), abs=0.01)
    assert arrivals == poisson_arrivals(50.0, 20_000, seed=3) != poisson_arrivals(50.0, 20_000, seed=4)
    assert poisson_arrivals(25.0, 20_000, seed=3) == pytest.approx([2 * moment for moment in arrivals])


def test_a_trial_has_enough_queries_for_the_percentile() -> None:
    assert queries_for(10, 5) == FEWEST_QUERIES == 662
    assert queries_for(1000, 5) == 5000

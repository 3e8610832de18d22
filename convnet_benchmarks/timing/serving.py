"""A server under load: queries that arrive at random, and the highest rate at which their latency holds.

One server works on one batch at a time. It takes the queries that wait, the oldest first, as many as its
batch holds, and every one of them is answered when the batch is done. Its latency runs from its arrival.
"""

import bisect
import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from convnet_benchmarks.timing.early_stopping import most_late, percentile_estimate, too_many_late

# Of the queries, these per cent must be answered in time (MLPerf's server scenario).
PERCENT = 99
# With fewer queries than this not more than one may be late: MLPerf's fewest for the 99th percentile.
FEWEST_QUERIES = 662
WITHIN, BEYOND, UNDECIDED = "within", "beyond", "undecided"

# A search ends when the rate is known to this share of itself, or of the server's capacity.
_TOLERANCE = 1 / 50
_TOLERANCE_OF_CAPACITY = 1 / 200
LEAST_SHARE = 1 / 16  # of the capacity: a trial takes ever longer at lower rates, which are not tried
_SECONDS_TO_SPIN = 1e-3  # sleeping wakes up later than asked for, by less than this


class ServerClock(Protocol):
    """The time in seconds, and waiting for it."""

    def now(self) -> float: ...

    def wait_until(self, moment: float) -> None: ...


class WallClock:
    """The clock of this machine."""

    def now(self) -> float:
        return time.perf_counter()

    def wait_until(self, moment: float) -> None:
        spare = moment - time.perf_counter() - _SECONDS_TO_SPIN
        if spare > 0:
            time.sleep(spare)
        while time.perf_counter() < moment:
            pass


@dataclass(frozen=True)
class Trial:
    """One rate tried out: ``served`` of ``queries`` were answered, ``late`` of them beyond the target.

    It ends with the first late query that makes it BEYOND. ``latency_ms``: p50, and p99 by MLPerf's early
    stopping; empty if it ended so.
    """

    rate: float
    queries: int
    served: int
    late: int
    passes: int
    outcome: str
    latency_ms: dict[str, float] = field(default_factory=dict)


def poisson_arrivals(rate: float, count: int, seed: int) -> list[float]:
    """Returns the moments, in seconds, of ``count`` arrivals at ``rate`` a second.

    The same seed gives the same arrivals at another rate, but for their scale.
    """
    chance = random.Random(seed)
    return list(itertools.accumulate(chance.expovariate(1.0) / rate for _ in range(count)))


def serve(
    work: Callable[[], object],
    batch: int,
    rate: float,
    queries: int,
    target_ms: float,
    clock: ServerClock,
    seed: int = 1,
) -> Trial:
    """Serves ``queries`` that arrive at ``rate`` a second; ``work`` answers a batch, and waits until it is
    done.
    """
    arrivals = poisson_arrivals(rate, queries, seed)
    accepted, refused = most_late(queries, PERCENT), too_many_late(queries, PERCENT)
    latencies: list[float] = []
    late = passes = 0
    start = clock.now()
    while len(latencies) < queries and late < refused:
        done = len(latencies)
        clock.wait_until(start + arrivals[done])
        waiting = bisect.bisect_right(arrivals, clock.now() - start, lo=done + 1)
        work()
        end = clock.now() - start
        answered = [1e3 * (end - arrival) for arrival in arrivals[done : min(waiting, done + batch)]]
        latencies += answered
        late += sum(latency > target_ms for latency in answered)
        passes += 1
    if late >= refused:
        return Trial(rate, queries, len(latencies), late, passes, BEYOND)
    outcome = WITHIN if accepted is not None and late <= accepted else UNDECIDED
    found = {"p50": statistics.median(latencies), "p99": percentile_estimate(latencies, PERCENT)}
    told = {name: value for name, value in found.items() if value is not None}
    return Trial(rate, queries, queries, late, passes, outcome, told)


@dataclass(frozen=True)
class Search:
    """The highest rate found to be WITHIN, 0 if none from LEAST_SHARE on was, and the lowest known to be too
    much.

    What is ``beyond`` was shown to be, or is the server's capacity.
    """

    rate: float
    beyond: float
    trials: Sequence[Trial]


def find_highest_rate(trial: Callable[[float], Trial], most: float) -> Search:
    """Looks by bisection for the highest rate below ``most``, the server's capacity. A rate that ``trial``
    leaves undecided counts as too high.
    """
    rate, too_high, beyond = 0.0, most, most
    trials: list[Trial] = []
    while too_high > LEAST_SHARE * most and too_high - rate > max(
        _TOLERANCE * rate, _TOLERANCE_OF_CAPACITY * most
    ):
        middle = (rate + too_high) / 2
        found = trial(middle)
        trials.append(found)
        if found.outcome == WITHIN:
            rate = middle
        else:
            too_high = middle
        if found.outcome == BEYOND:
            beyond = min(beyond, middle)
    return Search(rate, beyond, trials)


def capacity(
    work: Callable[[], object], batch: int, target_ms: float, clock: ServerClock
) -> tuple[float, float | None]:
    """Returns how many queries a second are answered when one always waits, and the 99th percentile of the
    time that ``work`` takes, in ms; None instead where it is within the target.

    Where it is not, no rate is low enough: a query waits at least for its own batch.
    """
    times: list[float] = []
    for _ in range(FEWEST_QUERIES):
        begin = clock.now()
        work()
        times.append(1e3 * (clock.now() - begin))
    late = sum(ms > target_ms for ms in times)
    within = late <= (most_late(len(times), PERCENT) or 0)
    return 1e3 * batch / statistics.fmean(times), None if within else percentile_estimate(times, PERCENT)


def queries_for(rate: float, seconds: float) -> int:
    """Returns how many queries a trial has: those of so many seconds, but enough for the percentile."""
    return max(FEWEST_QUERIES, math.ceil(rate * seconds))

"""Percentiles of latency from few queries: the rule of MLPerf's early stopping.

A query is late when its latency is beyond a bound. If the bound is the p-th percentile, the number of late
ones among n independent queries is binomial with probability 1 - p. The rule (inference_rules.adoc, appendix
"Early Stopping Criterion", tolerance 0): the percentile is within the bound, with a confidence of 99 %, if
so few late queries, or fewer, had a chance of at most 1 % otherwise.
"""

from collections.abc import Sequence

from convnet_benchmarks.timing.statistics import chance_of_at_most

_DOUBT = 0.01


def most_late(queries: int, percent: float) -> int | None:
    """Returns how many of ``queries`` may be late; None if there are too few for even none of them."""
    found = None
    for late, chance in enumerate(chance_of_at_most(queries, 1 - percent / 100)):
        if chance > _DOUBT:
            break
        found = late
    return found


def too_many_late(queries: int, percent: float) -> int:
    """Returns how many late queries show, as surely, that the percentile is beyond the bound.

    It is more than ``queries`` where they are too few to show it.
    """
    for late, chance in enumerate(chance_of_at_most(queries, 1 - percent / 100), 1):
        if 1 - chance <= _DOUBT:
            return late
    return queries + 1


def percentile_estimate(samples: Sequence[float], percent: float) -> float | None:
    """Returns the bound that the percentile is within by the rule, one of ``samples``.

    None if they are too few: the 90th percentile needs 64, the 99th 662.
    """
    late = most_late(len(samples), percent)
    return sorted(samples)[-late] if late else None

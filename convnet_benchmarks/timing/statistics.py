"""Statistics of samples: median with its interval, spread, outliers, and a verdict that says what to do."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

STABLE, NOISY = "stable", "noisy"
# Threads that wait longer for a core, as a share of their time, are disturbed: a slice of the scheduler is
# longer than many a layer, and a median of disturbed passes may look stable.
WAITING = 0.02
# A median is trusted when its 95 % interval is within this share of it on either side.
STABLE_HALF_WIDTH = 0.01
# With fewer samples the interval of the median reaches 95 % only between minimum and maximum, or not at all.
FEWEST_FOR_AN_INTERVAL = 6
# Fewer samples, or pairs of samples, than this decide nothing: no verdict is taken from their interval.
FEWEST_FOR_A_VERDICT = 9
_DOUBT = 0.05  # of an interval
# Tukey's fences: an outlier lies this many interquartile ranges outside the quartiles.
OUTLIER_FENCE = 1.5


@dataclass(frozen=True)
class Summary:
    """Statistics of samples in one unit; ``low`` and ``high`` bound the median with 95 % confidence."""

    samples: int
    median: float
    low: float
    high: float
    minimum: float
    mean: float
    interquartile_range: float
    outliers: int
    verdict: str  # stable, noisy, timed out, too few samples, or throttled
    advice: str  # what to do about the verdict; empty when stable

    @property
    def half_width(self) -> float:
        """Returns half the interval over the median: 0.01 means the median is known to 1 %."""
        return (self.high - self.low) / 2 / self.median if self.median else math.inf

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def without_advice(self) -> dict[str, Any]:
        """Returns the values for studies: the advice is about the options of the legacy scripts."""
        return {name: value for name, value in self.as_dict().items() if name != "advice"}


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """Returns the 95 % interval of the median by order statistics, which assumes no distribution.

    Below FEWEST_FOR_AN_INTERVAL no pair reaches 95 % and the interval is (minimum, maximum).
    """
    return percentile_interval(samples, 50)


def percentile_interval(samples: Sequence[float], percent: float) -> tuple[float, float]:
    """Returns the 95 % interval of a percentile by order statistics.

    The k-th smallest is above the percentile if fewer than k samples fall below it, a binomial tail; its
    other end is as unlikely (Conover, Practical Nonparametric Statistics, section 3.2). Where no sample is
    far enough out, it is the minimum or maximum.
    """
    ordered = sorted(samples)
    low, high = 0, len(ordered) - 1
    for below, chance in enumerate(chance_of_at_most(len(ordered), percent / 100)):
        if chance <= _DOUBT / 2:
            low = below
        if chance >= 1 - _DOUBT / 2:
            high = min(below, high)
            break
    return ordered[low], ordered[high]


def chance_of_at_most(count: int, chance: float) -> Iterator[float]:
    """Yields the probabilities of at most 0, 1, ... ``count`` events among so many of that ``chance``."""
    total = 0.0
    for events in range(count + 1):
        log = math.lgamma(count + 1) - math.lgamma(events + 1) - math.lgamma(count - events + 1)
        total += math.exp(log + events * math.log(chance) + (count - events) * math.log1p(-chance))
        yield min(total, 1.0)


def percentile(samples: Sequence[float], percent: float) -> float:
    """Returns the value below which ``percent`` of the samples lie, interpolated between the two nearest."""
    ordered = sorted(samples)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summarise(
    samples: Sequence[float], *, timed_out: bool = False, throttled: bool = False, waiting: float = 0.0
) -> Summary:
    """Returns statistics of at least one sample.

    ``timed_out`` says that sampling stopped for lack of time, ``throttled`` that the clock was low for
    some of the samples, which stay among them. ``waiting``: for which share of their time threads that had
    work waited for a core.
    """
    if not samples:
        raise ValueError("no samples to summarise")
    median = statistics.median(samples)
    low, high = median_interval(samples)
    lower, _, upper = (
        statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else (median,) * 3
    )
    spread = upper - lower
    fence = OUTLIER_FENCE * spread
    outliers = sum(sample < lower - fence or sample > upper + fence for sample in samples)
    verdict, advice = verdict_of(len(samples), (high - low) / 2 / median if median else math.inf, timed_out)
    if waiting > WAITING and verdict == STABLE:
        verdict, advice = (
            NOISY,
            f"threads waited for a core {waiting:.0%} of their time: close other programs",
        )
    if throttled:
        verdict, advice = "throttled", "the clock fell meanwhile: cool the machine, or fix its clock"
    return Summary(
        samples=len(samples),
        median=median,
        low=low,
        high=high,
        minimum=min(samples),
        mean=statistics.fmean(samples),
        interquartile_range=spread,
        outliers=outliers,
        verdict=verdict,
        advice=advice,
    )


def waiting_share(conditions: Mapping[str, Any]) -> float:
    """Returns for which share of their time threads waited for a core, from ``Conditions.as_dict``; 0 if
    that is not reported.
    """
    waited, worked = (conditions.get(name) or 0.0 for name in ("waited_ms_per_pass", "cpu_ms_per_pass"))
    return waited / (waited + worked) if waited > 0 else 0.0


def verdict_of(count: int, half_width: float, timed_out: bool = False) -> tuple[str, str]:
    """Returns how far a median can be trusted, and what would help.

    ``half_width``: of its interval, as a part of the median.
    """
    if count < FEWEST_FOR_AN_INTERVAL:
        return "too few samples", "raise -iter to 10 or more, or use -iter auto"
    if half_width <= STABLE_HALF_WIDTH:
        return STABLE, ""
    if timed_out:
        return "timed out", "give the samples more time or the passes less work (a smaller -batch_size)"
    return NOISY, "close other programs, fix --threads, or use -iter auto"

"""Statistics of samples: median with its interval, spread, outliers, and a verdict that says what to do."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

# A median is trusted when its 95 % interval is within this share of it on either side.
STABLE_HALF_WIDTH = 0.01
# With fewer samples the interval of the median reaches 95 % only between minimum and maximum, or not at all.
FEWEST_FOR_AN_INTERVAL = 6
# Fewer samples, or pairs of samples, than this decide nothing: no verdict is taken from their interval.
FEWEST_FOR_A_VERDICT = 9
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

    The k-th smallest and k-th largest of n samples enclose the median unless fewer than k samples fall on
    one side of it, a binomial tail (Conover, Practical Nonparametric Statistics, section 3.2). Below
    FEWEST_FOR_AN_INTERVAL no pair reaches 95 % and the interval is (minimum, maximum).
    """
    ordered = sorted(samples)
    n = len(ordered)
    tail, k = 0.0, 0
    while k < n // 2:
        tail += math.comb(n, k) / 2**n
        if tail > 0.025:
            break
        k += 1
    k = max(k, 1)
    return ordered[k - 1], ordered[n - k]


def percentile(samples: Sequence[float], percent: float) -> float:
    """Returns the value below which ``percent`` of the samples lie, interpolated between the two nearest."""
    ordered = sorted(samples)
    place = (len(ordered) - 1) * percent / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summarise(samples: Sequence[float], *, timed_out: bool = False, throttled: bool = False) -> Summary:
    """Returns statistics of at least one sample.

    ``timed_out`` says that sampling stopped for lack of time, ``throttled`` that the clock was low for
    some of the samples, which stay among them.
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
    verdict, advice = _verdict(len(samples), (high - low) / 2 / median if median else math.inf, timed_out)
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


def _verdict(count: int, half_width: float, timed_out: bool) -> tuple[str, str]:
    if count < FEWEST_FOR_AN_INTERVAL:
        return "too few samples", "raise -iter to 10 or more, or use -iter auto"
    if half_width <= STABLE_HALF_WIDTH:
        return "stable", ""
    if timed_out:
        return "timed out", "give the samples more time or the passes less work (a smaller -batch_size)"
    return "noisy", "close other programs, fix --threads, or use -iter auto"

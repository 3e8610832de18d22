"""A point under one of the loads of MLPerf's load generator: one query at a time, all at once, or a server's.

A query is one sample. docs/studies.md says what MLPerf's own rules ask for beyond this.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from convnet_benchmarks.points.measure import about, measure_with, memory_counted
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.points.scenario import MET, NOT_MET, OFFLINE, SINGLE_STREAM, Scenario
from convnet_benchmarks.points.workload import PointWorkload
from convnet_benchmarks.timing.early_stopping import percentile_estimate
from convnet_benchmarks.timing.loops import run_loop, warm_up
from convnet_benchmarks.timing.serving import (
    LEAST_SHARE,
    Search,
    Trial,
    WallClock,
    capacity,
    find_highest_rate,
    queries_for,
    serve,
)
from convnet_benchmarks.timing.statistics import percentile_interval, summarise

FEWEST_QUERIES = 64  # of a single stream: MLPerf's fewest for the 90th percentile
_BLOCKS = 20  # stretches of a loop whose means are compared


def measure_scenario(point: Point, scenario: Scenario) -> dict[str, Any]:
    """Measures ``point`` under a load, as docs/results.md describes it: plain JSON values, as
    ``points.measure.measure``.
    """
    return measure_with(point, lambda workload: _figures(workload, scenario, point.seed))


def _figures(workload: PointWorkload, scenario: Scenario, seed: int) -> dict[str, Any]:
    def answer() -> None:
        workload.run()
        workload.clock.synchronise()

    with memory_counted(workload.device) as memory:
        passes = warm_up(workload.run, workload.clock)
        if scenario.name == SINGLE_STREAM:
            found = single_stream(answer, scenario)
        elif scenario.name == OFFLINE:
            found = _offline(workload, scenario.seconds)
        else:
            found = _server(answer, workload.ran.batch_size, scenario, seed)
    return {**about(workload), "warm_up_passes": passes, **found, **memory}


def single_stream(
    answer: Callable[[], object], scenario: Scenario, now: Callable[[], float] = time.perf_counter
) -> dict[str, Any]:
    """Asks the next query when ``answer`` has given the one before."""
    moments = [now()]
    while len(moments) <= FEWEST_QUERIES or moments[-1] - moments[0] < scenario.seconds:
        answer()
        moments.append(now())
    latencies = [1e3 * (end - begin) for begin, end in itertools.pairwise(moments)]
    told = {"p50": statistics.median(latencies)}
    told |= {
        f"p{percent}": found
        for percent in (90, 99)
        if (found := percentile_estimate(latencies, percent)) is not None
    }
    low, _ = percentile_interval(latencies, 90)
    target = scenario.latency_target_ms
    verdict = summarise(latencies).verdict if target is None else _verdict(told["p90"] <= target)
    return {
        "queries": len(latencies),
        "latency_ms": told,
        "p90_interval_ms": {"low": low, "high": told["p90"]},
        "verdict": verdict,
    }


def _offline(workload: PointWorkload, seconds: float) -> dict[str, Any]:
    """Runs batches one after the other; the device is waited for at the end only."""
    once = run_loop(workload.run, 1, workload.clock).seconds
    loop = run_loop(workload.run, max(_BLOCKS, round(seconds / max(once, 1e-9))), workload.clock)
    samples = loop.passes * workload.ran.batch_size
    summary = summary_of_mean(loop.samples_ms)
    return {
        "queries": samples,
        "samples_per_second": samples / loop.seconds,
        "pass_ms": summary,
        "verdict": summary["verdict"],
    }


def summary_of_mean(samples_ms: Sequence[float]) -> dict[str, Any]:
    """Returns the statistics of the means of _BLOCKS stretches of the samples, with the mean of all in their
    interval: the throughput of all samples is that of the mean pass, slow ones included.
    """
    ends = [len(samples_ms) * number // _BLOCKS for number in range(_BLOCKS + 1)]
    means = [statistics.fmean(samples_ms[begin:end]) for begin, end in itertools.pairwise(ends)]
    summary, mean = summarise(means).without_advice(), statistics.fmean(samples_ms)
    return {**summary, "low": min(summary["low"], mean), "high": max(summary["high"], mean)}


def _server(answer: Callable[[], object], batch: int, scenario: Scenario, seed: int) -> dict[str, Any]:
    """Looks for the highest rate of arrivals whose 99th percentile is within the target."""
    assert scenario.latency_target_ms is not None
    target, clock = scenario.latency_target_ms, WallClock()
    most, slow_ms = capacity(answer, batch, target, clock)

    def trial(rate: float) -> Trial:
        return serve(answer, batch, rate, queries_for(rate, scenario.seconds), target, clock, seed)

    reason = ""
    if slow_ms is not None:
        search = Search(0.0, 0.0, [])
        reason = f"passes alone take up to {slow_ms:.4g} ms"
    else:
        search = find_highest_rate(trial, most)
        if not search.rate:
            reason = f"no rate from {LEAST_SHARE:.3g} of the capacity on"
    rate, trials = search.rate, search.trials
    at_the_rate = next((one for one in trials if one.rate == rate), None)
    return {
        "queries_per_second": rate,
        "beyond_queries_per_second": search.beyond,
        "capacity_per_second": most,
        "queries": sum(one.served for one in trials),
        "latency_ms": at_the_rate.latency_ms if at_the_rate else {},
        "trials": [asdict(one) for one in trials],
        "reason": reason,
        "verdict": _verdict(rate > 0),
    }


def _verdict(met: bool) -> str:
    return MET if met else NOT_MET

"""Points under MLPerf's loads: the record, and what is said of the target."""

import itertools
import json

import pytest
from torch import nn

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.points.scenario import Scenario
from convnet_benchmarks.points.under_load import (
    FEWEST_QUERIES,
    measure_scenario,
    single_stream,
    summary_of_mean,
)


@pytest.fixture
def tiny_net(monkeypatch: pytest.MonkeyPatch) -> str:
    def tiny() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(12, 5))

    monkeypatch.setitem(registry.NETS, "tiny", Net("tiny", tiny, (3, 2, 2), "this test"))
    return "tiny"


@pytest.mark.parametrize(("target", "verdict"), [(3.0, "met"), (1.0, "not met"), (None, "stable")])
def test_a_single_stream_asks_after_each_answer(target: float | None, verdict: str) -> None:
    moments = itertools.count(step=0.002)
    found = single_stream(lambda: None, Scenario("single-stream", target, 0.01), lambda: next(moments))
    assert found["queries"] == FEWEST_QUERIES and found["verdict"] == verdict
    assert found["latency_ms"] == pytest.approx({"p50": 2, "p90": 2})


def test_a_single_stream_lasts_as_long_as_asked() -> None:
    moments = itertools.count(step=0.002)
    found = single_stream(lambda: None, Scenario("single-stream", None, 2.0), lambda: next(moments))
    assert found["queries"] == pytest.approx(1000, abs=1) and set(found["latency_ms"]) == {
        "p50",
        "p90",
        "p99",
    }


@pytest.mark.parametrize("name", ["single-stream", "offline", "server"])
def test_a_record(name: str, tiny_net: str) -> None:
    target = None if name == "offline" else 1e6  # so long that no machine is too busy
    record = measure_scenario(Point(tiny_net, 2, threads=1), Scenario(name, target, 0.01))
    assert record["status"] == "ok" and record["ran"]["batch_size"] == 2
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    if name == "offline":
        assert record["samples_per_second"] > 0 and record["queries"] >= 40
        assert record["pass_ms"]["samples"] == 20
    else:
        assert record["verdict"] == "met" and record["latency_ms"]["p50"] > 0
    if name == "server":
        assert 0.9 * record["capacity_per_second"] < record["queries_per_second"]
        assert record["queries_per_second"] < record["beyond_queries_per_second"]


def test_a_pass_slower_than_the_target_is_reported(tiny_net: str) -> None:
    record = measure_scenario(Point(tiny_net, threads=1), Scenario("server", 1e-6, 0.01))
    assert (record["verdict"], record["queries_per_second"], record["trials"]) == ("not met", 0.0, [])
    assert record["reason"].startswith("passes alone take up to ")


def test_the_throughput_of_all_samples_counts_the_slow_ones() -> None:
    """One pass in fifty takes a hundred times as long: the median pass says nothing of it."""
    passes = [100.0 if number % 50 == 0 else 1.0 for number in range(1000)]
    found = summary_of_mean(passes)
    assert found["low"] <= 2.98 <= found["high"] and found["samples"] == 20
    assert summary_of_mean([2.0] * 20)["verdict"] == "stable"

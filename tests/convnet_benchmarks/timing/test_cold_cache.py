"""The size of the last-level cache, and that passes begin with an empty one."""

import os
from pathlib import Path

import pytest
import torch

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.timing.cold_cache import ColdCache, processor_cache
from convnet_benchmarks.timing.loops import device_clock, run_loop
from convnet_benchmarks.timing.phases import time_phases


def cache(cores: Path, core: int, level: int, size: str, shared: str, kind: str = "Unified") -> None:
    place = cores / f"cpu{core}" / "cache" / f"index{level}{kind[0]}"
    place.mkdir(parents=True)
    for name, text in (("level", str(level)), ("size", size), ("type", kind), ("shared_cpu_list", shared)):
        (place / name).write_text(text + "\n")


def test_each_last_level_cache_of_the_cores_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    for core, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3"), (4, "4-7")):
        cache(tmp_path, core, 1, "64M", str(core), "Instruction")
        cache(tmp_path, core, 2, "1024K", str(core))
        cache(tmp_path, core, 3, "32M", shared)
    assert processor_cache(tmp_path) == 2 * 32 * 2**20


def test_without_a_size_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convnet_benchmarks.timing.cold_cache.processor_cache", lambda: 0)
    with pytest.raises(UserError, match="option --cold-cache: this system does not report"):
        ColdCache(torch.device("cpu"))


def test_the_whole_buffer_is_written_before_each_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convnet_benchmarks.timing.cold_cache.processor_cache", lambda: 1000)
    cold = ColdCache(torch.device("cpu"))
    assert cold._buffer.numel() * cold._buffer.element_size() == 2000
    seen = []
    monkeypatch.setattr("convnet_benchmarks.timing.loops.ColdCache", lambda device: cold)
    clock = device_clock(torch.device("cpu"), cold_cache=True)
    run_loop(lambda: seen.append(cold._buffer.unique().tolist()), 3, clock)
    assert seen == [[1], [2], [3]]
    time_phases(torch.nn.Linear(2, 2), torch.ones(1, 2), clock, 1)
    assert cold._buffer.unique().tolist() == [3 + 3 * 3]  # two passes to warm up, one that counts

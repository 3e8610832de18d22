"""Timed loops on a clock that the test moves itself."""

from collections.abc import Callable
from typing import Any

import pytest

from convnet_benchmarks.timing import loops as timing
from convnet_benchmarks.timing.loops import HostClock, Settling, run_loop, run_until_settled, warm_up


class Device:
    """A host clock that stands still, and a device whose queued work passes only when it is waited for."""

    evict: Callable[[], None] | None = None

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.queued = 0.0
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)

    def synchronise(self) -> None:
        self.now += self.queued
        self.queued = 0.0

    def mark(self) -> Any:
        return self.now + self.queued

    def milliseconds(self, marks: Any) -> Any:
        return HostClock().milliseconds(marks)

    def issue(self, host: float, device: float = 0.0) -> None:
        self.now += host
        self.queued += device


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    return Device(monkeypatch)


def test_a_loop_waits_for_the_device(device: Device) -> None:
    device.issue(0, 5.0)  # left over from before: not this loop's
    loop = run_loop(lambda: device.issue(0.001, 0.1), 4, device)
    assert loop.seconds == pytest.approx(0.404)
    assert loop.samples_ms == pytest.approx([101.0] * 4)
    assert loop.ms_per_pass == pytest.approx(101.0)


def test_a_free_loop_counts_the_time_to_issue_only(device: Device) -> None:
    device.issue(0, 5.0)
    assert run_loop(lambda: device.issue(0.001, 0.1), 4, device, free=True).seconds == pytest.approx(0.004)
    assert device.queued == pytest.approx(5.4)


def test_the_originals_clock_before_the_wait(device: Device) -> None:
    loop = run_loop(lambda: device.issue(0.001, 0.1), 4, device, clock_before_synchronise=True)
    assert loop.seconds == pytest.approx(0.004)
    assert device.queued == 0


def test_steady_work_settles_at_the_least_time(device: Device) -> None:
    loop = run_until_settled(lambda: device.issue(0.02), device, Settling(10, 0.5, 60.0))
    assert loop.passes >= 25 and loop.passes * 0.02 == pytest.approx(loop.seconds)
    assert loop.summary().verdict == "stable"


def test_noise_that_stays_ends_at_its_floor(device: Device) -> None:
    steps = iter(range(10**9))
    loop = run_until_settled(lambda: device.issue(0.01 if next(steps) % 2 else 0.03), device)
    assert loop.summary().verdict == "noisy"
    assert loop.seconds < 10


def test_sampling_ends_when_the_time_is_up(device: Device) -> None:
    step = iter(range(1, 10**9))
    # Ever wider steps: the interval neither closes nor levels off.
    loop = run_until_settled(lambda: device.issue(next(step) * 0.05), device, Settling(10, 0.5, 8.0))
    assert loop.passes < 60
    assert loop.summary().verdict in ("timed out", "noisy")


def test_warm_up_goes_on_while_passes_get_faster(device: Device) -> None:
    times = iter([1.0, 0.5, 0.25, 0.24, 0.24])
    assert warm_up(lambda: device.issue(next(times)), device) == 4


@pytest.mark.parametrize("free", [False, True])
def test_emptying_the_cache_is_between_the_passes_and_not_in_their_time(device: Device, free: bool) -> None:
    emptied = []

    def evict() -> None:
        emptied.append(device.now)
        device.now += 50.0

    device.evict = evict
    loop = run_loop(lambda: device.issue(0.001, 0.1), 4, device, free=free)
    assert len(emptied) == 4 and len(loop.samples_ms) == loop.passes == 4
    assert loop.seconds == pytest.approx(0.004 if free else 0.404)
    assert loop.samples_ms == pytest.approx([101.0] * 4)

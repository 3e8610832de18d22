"""Timed loops: so many passes of some work, every pass kept as a sample."""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from convnet_benchmarks.timing.cold_cache import ColdCache
from convnet_benchmarks.timing.statistics import STABLE_HALF_WIDTH, Summary, summarise, waiting_share

if TYPE_CHECKING:
    import torch


Evict = Callable[[], None]

_FEWEST_WARM_UP, _MOST_WARM_UP = 2, 10  # passes


class Clock(Protocol):
    """How passes are marked and the device waited for.

    ``evict`` empties the device's cache before each timed pass; with None passes follow each other.
    """

    evict: Evict | None

    def synchronise(self) -> None:
        """Waits until the device has done all it was given."""

    def mark(self) -> Any:
        """Notes the present moment in the device's stream of work."""

    def milliseconds(self, marks: list[Any]) -> list[float]:
        """Returns the times between consecutive marks, once the device is idle."""


class HostClock:
    """The CPU's: work is done when the call returns."""

    def __init__(self, evict: Evict | None = None) -> None:
        self.evict = evict

    def synchronise(self) -> None:
        pass

    def mark(self) -> float:
        return time.perf_counter()

    def milliseconds(self, marks: list[float]) -> list[float]:
        return [(b - a) * 1e3 for a, b in itertools.pairwise(marks)]


class CudaClock:
    """A GPU's: passes are marked by events in its stream."""

    def __init__(self, device: "torch.device", synchronises: bool, evict: Evict | None = None) -> None:
        self.evict = evict
        self._device = device
        self._synchronises = synchronises

    def synchronise(self) -> None:
        import torch

        if self._synchronises:
            torch.cuda.synchronize(self._device)

    def mark(self) -> "torch.cuda.Event":
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def milliseconds(self, marks: list[Any]) -> list[float]:
        import torch

        torch.cuda.synchronize(self._device)
        return [a.elapsed_time(b) for a, b in itertools.pairwise(marks)]


def device_clock(device: "torch.device", *, cold_cache: bool = False, synchronises: bool = True) -> Clock:
    """Returns what times work on ``device``: the device's own events on a GPU.

    ``cold_cache``: its cache is emptied before each pass; UserError where its size is not reported.
    ``synchronises``: a GPU is waited for.
    """
    evict = ColdCache(device).evict if cold_cache else None
    return CudaClock(device, synchronises, evict) if device.type == "cuda" else HostClock(evict)


class Watch(Protocol):
    """Looks at the machine between loops of passes: ``timing/conditions.py``."""

    def start(self) -> None:
        """Begins to account for passes; what happened since the last look belongs to none."""

    def look(self, passes: int) -> None:
        """Notes what ``passes`` took since the start."""


@dataclass(frozen=True)
class Loop:
    """A timed loop: ``seconds`` by the host's clock from its start to its end, and a sample per pass.

    ``conditions``: of the machine meanwhile (``timing/conditions.py``); empty if nobody looked.
    """

    passes: int
    seconds: float
    samples_ms: tuple[float, ...]
    timed_out: bool = False
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ms_per_pass(self) -> float:
        return self.seconds * 1e3 / self.passes

    def summary(self) -> Summary:
        throttled = bool(self.conditions.get("throttled_passes"))
        waiting = waiting_share(self.conditions)
        return summarise(self.samples_ms, timed_out=self.timed_out, throttled=throttled, waiting=waiting)


@dataclass(frozen=True)
class Settling:
    """When sampling without a fixed number of passes may stop."""

    fewest_passes: int = 10
    least_seconds: float = 0.5
    most_seconds: float = 10.0
    # Four times the samples halve the interval; less than this gain from doubling them is the noise's floor.
    plateau_gain: float = 0.9


def run_loop(
    work: Callable[[], object],
    passes: int,
    clock: Clock,
    *,
    free: bool = False,
    clock_before_synchronise: bool = False,
) -> Loop:
    """Runs ``passes`` passes of ``work`` between two readings of the host's clock.

    ``free``: the device is waited for neither before nor after, so that only the time to issue the work
    counts. ``clock_before_synchronise``: the clock is read before the device is waited for at the end (a
    mistake of the original, for --legacy-timing).

    With a clock that empties the cache each pass is timed by itself, and what is between them is left out.
    """
    if clock.evict is not None:
        return _run_cold(work, passes, clock, clock.evict, free=free)
    if not free:
        clock.synchronise()
    marks = [clock.mark()]
    start = time.perf_counter()
    for _ in range(passes):
        work()
        marks.append(clock.mark())
    end = time.perf_counter()
    if not free:
        clock.synchronise()
        if not clock_before_synchronise:
            end = time.perf_counter()
    return Loop(passes, end - start, tuple(clock.milliseconds(marks)))


def _run_cold(work: Callable[[], object], passes: int, clock: Clock, evict: Evict, *, free: bool) -> Loop:
    samples: list[float] = []
    seconds = 0.0
    for _ in range(passes):
        evict()
        marks = [clock.mark()]
        start = time.perf_counter()
        work()
        marks.append(clock.mark())
        if not free:
            clock.synchronise()
        seconds += time.perf_counter() - start
        samples += clock.milliseconds(marks)
    return Loop(passes, seconds, tuple(samples))


def run_until_settled(
    work: Callable[[], object],
    clock: Clock,
    settling: Settling | None = None,
    *,
    free: bool = False,
    watch: Watch | None = None,
) -> Loop:
    """Repeats until the median is known to 1 %, the noise has reached its floor, or time is up.

    ``watch`` sees the passes only, not what is computed between them.
    """
    settling = settling or Settling()
    begin = time.perf_counter()
    loops = [watched_loop(work, settling.fewest_passes, clock, watch, free=free)]
    last_width = float("inf")
    while True:
        samples = tuple(sample for loop in loops for sample in loop.samples_ms)
        width = summarise(samples).half_width
        elapsed = time.perf_counter() - begin
        timed_out = elapsed >= settling.most_seconds
        settled = width <= STABLE_HALF_WIDTH or width > settling.plateau_gain * last_width
        if timed_out or (settled and elapsed >= settling.least_seconds):
            seconds = sum(loop.seconds for loop in loops)
            return Loop(len(samples), seconds, samples, timed_out and not settled)
        last_width = width
        # Doubling keeps the checks few; the rest of the time caps the last one.
        affordable = (settling.most_seconds - elapsed) / (elapsed / len(samples))
        more = max(1, min(len(samples), int(affordable)))
        loops.append(watched_loop(work, more, clock, watch, free=free))


def watched_loop(
    work: Callable[[], object],
    passes: int,
    clock: Clock,
    watch: Watch | None,
    *,
    free: bool = False,
    clock_before_synchronise: bool = False,
) -> Loop:
    """Does ``run_loop`` and has ``watch`` look at its passes."""
    if watch is not None:
        watch.start()
    loop = run_loop(work, passes, clock, free=free, clock_before_synchronise=clock_before_synchronise)
    if watch is not None:
        watch.look(passes)
    return loop


def warm_up(
    work: Callable[[], object],
    clock: Clock,
    *,
    before: Sequence[float] = (),
    most_seconds: float = 5.0,
) -> int:
    """Repeats ``work`` until it stops getting faster (autotuner, allocator, caches); returns how many
    passes it took. ``before``: ms of passes that have been done for it already; they count.
    """
    begin = time.perf_counter()
    best = min(before, default=float("inf"))
    for done in range(len(before) + 1, _MOST_WARM_UP + 1):
        ms = run_loop(work, 1, clock).ms_per_pass
        if done >= _FEWEST_WARM_UP and (ms > 0.95 * best or time.perf_counter() - begin > most_seconds):
            return done
        best = min(best, ms)
    return _MOST_WARM_UP

"""Picks the fastest candidate by timing, and remembers the picks in a file of the user's cache folder."""

import hashlib
import os
import platform
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from convnet_benchmarks.nets.engine.choice.effort import THOROUGH, Effort
from convnet_benchmarks.nets.engine.choice.experience import Experience, Features
from convnet_benchmarks.nets.engine.choice.times_file import add_times, known_times

_SLOWER_IS_OUT = 1.3  # after its first timed run, a candidate this much slower than the best one is dropped,
_SHORT = 1.0  # unless that run took less than this many ms, where noise dominates
_SECONDS_PER_CANDIDATE = 0.5
_TRIES = 4
_UNDISTURBED = 0.05  # of a run's time
_REFINING_SECONDS = 2.0  # per process, to time thoroughly what earlier ones timed only quickly
_UNKNOWN = float("inf")  # ms
_DISTURBED = ", one thread on a busy machine"  # at the end of a key
_PRESSURE = Path("/proc/pressure/cpu")

Prepare = Callable[[], Callable[[], None]]  # prepares a run and returns it
Candidates = Mapping[str, Prepare]
Cost = Callable[[str, float], float]  # of a candidate in a plan, given the time of its run in ms


def machine_key() -> str:
    """Identifies all that a choice depends on besides the layer: processor, instruction set, thread count,
    PyTorch build."""
    build = hashlib.sha256(torch.__config__.show().encode()).hexdigest()[:8]
    return (
        f"{_processor()}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__} {build}"
    )


@cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@dataclass(frozen=True)
class Question:
    """Asks which of ``candidates`` (functions that prepare a run and return it) is the fastest.

    ``key`` identifies their work in the file of timings.
    """

    key: str
    candidates: Candidates


# What has decided: there was no choice; times of all the work, or of a part of it; those of a similar shape;
# or a rule (``likely_fastest``), if nothing was timed.
ONLY, TIMED, QUICKLY, SIMILAR, RULE = DECIDED_BY = (
    "no choice",
    "timed",
    "timed quickly",
    "similar shape",
    "rule",
)


@dataclass(frozen=True)
class Choice:
    """The ``name`` of a candidate, and what decided (``by``, of ``DECIDED_BY``)."""

    name: str
    by: str


class Tuner:
    """Chooses among candidates; timings of earlier processes are kept in ``path`` (None: not kept).

    ``effort``: how much is timed. ``seconds``: how long from now on timing may go on, including other work
    done meanwhile; then the times of similar shapes decide, or which candidate is usually the fastest.
    ``told`` is called before something is timed. ``until`` is when these seconds end, on ``time.monotonic``.
    """

    def __init__(
        self,
        path: Path | None,
        effort: Effort = THOROUGH,
        seconds: float = float("inf"),
        told: Callable[[], None] | None = None,
    ) -> None:
        self.effort = effort
        self._path = path
        self._machine = machine_key()
        self._known = known_times(path, self._machine) if path else {}
        self._new: dict[str, dict[str, float]] = {}
        self._experience = Experience()
        self.until = time.monotonic() + seconds
        self._refining = _REFINING_SECONDS
        self._told = told or (lambda: None)

    def choose(
        self,
        key: str,
        candidates: Candidates,
        quick: Question | None = None,
        features: Features | None = None,
        cost: Cost = lambda name, milliseconds: milliseconds,
        otherwise: str | None = None,
    ) -> Choice:
        """Chooses the candidate (``candidates``: functions that prepare a run and return it) with the least
        ``cost``.

        ``key`` identifies the work. A candidate that cannot be prepared or run for lack of memory is
        excluded. ``quick`` asks the same for less work, and ``features`` describe the shape, for an effort
        below "thorough"; without them everything is timed. ``otherwise`` (by default the first) is returned
        if nothing can be timed.
        """
        if len(candidates) == 1:
            return Choice(next(iter(candidates)), ONLY)
        times = self._remembered(key, candidates)
        if not times:
            if quick is None or features is None or not self.effort.learns:
                times = self._measure(key, candidates)
            else:
                times = self._quickly(key, candidates, quick, features)
        if not times:
            return Choice(otherwise or next(iter(candidates)), RULE)
        if features is not None:
            self._experience.add(features, times)
        name = min(candidates, key=lambda name: cost(name, times.get(name, _UNKNOWN)))
        return Choice(name, self._by(key, candidates, quick))

    def _by(self, key: str, candidates: Candidates, quick: Question | None) -> str:
        """Returns the source of the times that have decided."""
        if any(self._remembered(key + on, candidates) for on in ("", _DISTURBED)):
            return TIMED
        known = quick is not None and any(
            self._remembered(quick.key + on, quick.candidates) for on in ("", _DISTURBED)
        )
        return QUICKLY if known else SIMILAR

    def met(self, plan: str) -> bool:
        """Returns whether an earlier process has made a plan of this name; records that this one has."""
        if plan in self._known:
            return True
        self._new[plan] = {}
        return False

    def knows(self, key: str, candidates: Collection[str]) -> bool:
        """Returns whether ``choose`` would time nothing: all ``candidates`` have been timed at ``key``."""
        return bool(self._remembered(key, candidates))

    def _remembered(self, key: str, candidates: Collection[str]) -> dict[str, float]:
        """Returns the times of all ``candidates``, or nothing."""
        times = self._new.get(key) or self._known.get(key) or {}
        return times if set(candidates) <= set(times) else {}

    def _quickly(
        self, key: str, candidates: Candidates, quick: Question, features: Features
    ) -> dict[str, float]:
        """Returns times for the smaller work of ``quick``, or nothing. Refines earlier processes' times, a
        few per process."""
        known = self._remembered(quick.key, quick.candidates)
        if not known:
            return self._sketched(quick, features)
        if self._refining <= 0 or _past(self.until):
            return known
        started = time.monotonic()
        limit = THOROUGH.near * min(known.values())
        near = {name: run for name, run in candidates.items() if known.get(name, limit) <= limit}
        times = self._timed(key, near, THOROUGH, known)
        self._refining -= time.monotonic() - started
        return times or known

    def _sketched(self, quick: Question, features: Features) -> dict[str, float]:
        """Times the candidates that may be the fastest, judging by similar shapes, while there is time;
        otherwise returns nothing."""
        similar = self._experience.nearest(features) or {}
        names = self._experience.promising(features, quick.candidates)
        if len(names) > 1:
            asked = {name: quick.candidates[name] for name in names}
            times = self._measure(quick.key, asked, similar)
            if times:
                return times
        times = {name: similar.get(name, _UNKNOWN) for name in quick.candidates}
        return times if min(times.values()) < _UNKNOWN else {}

    def _measure(
        self, key: str, candidates: Candidates, others: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """Returns the least time of each candidate in ms, infinite for one that cannot run; nothing if
        there is no time left."""
        return {} if _past(self.until) else self._timed(key, candidates, self.effort, others or {})

    def _timed(
        self, key: str, candidates: Candidates, effort: Effort, others: Mapping[str, float]
    ) -> dict[str, float]:
        """Times the candidates, and keeps the times. ``others`` are times of more candidates under other
        conditions: for those that are not timed, the ratio to the fastest is kept. Returns nothing if there
        was not enough time.

        Other programs on the same cores slow some candidates more than others: a candidate that starts many
        parallel pieces of work waits for a core each time. While such programs run, candidates are compared
        by the CPU time of a single thread instead, which hardly depends on them. Such times are kept
        separately: they say little about memory-bound candidates, and are replaced when the machine is quiet.
        """
        self._told()
        try:
            times = _time_each(candidates, effort, self.until)
        except _Disturbed:
            key += _DISTURBED
            times = self._remembered(key, candidates) or _time_on_one_thread(candidates, effort, self.until)
        best = min((others.get(name, _UNKNOWN) for name in times), default=_UNKNOWN)
        if best < _UNKNOWN:
            scale = min(times.values()) / best
            times = {**{name: value * scale for name, value in others.items()}, **times}
        if not set(candidates) <= set(times):
            return {}
        self._new[key] = times
        return times

    def save(self) -> None:
        """Adds this tuner's new timings to the file; fails silently."""
        if self._path is not None:
            add_times(self._path, self._machine, self._new)


def _past(until: float) -> bool:
    return time.monotonic() >= until


def _time_on_one_thread(candidates: Candidates, effort: Effort, until: float) -> dict[str, float]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _time_each(candidates, effort, until)
    finally:
        torch.set_num_threads(threads)


class _Disturbed(Exception):
    """Raised if other programs used the cores in every attempt."""


def _time_each(candidates: Candidates, effort: Effort, until: float) -> dict[str, float]:
    """Times candidates one after the other, as their buffers together might not fit in memory. Returns the
    times of those for which there was time.

    A shared processor has slow moments, which may cover all runs of a candidate: those close to the best one
    are timed again, some time later.
    """
    times: dict[str, float] = {}
    for name in reversed(list(candidates)):  # the simplest last: it is usually slower, and one run is enough
        _time_one(name, candidates[name], times, effort.repeats, until)
    limit = effort.near * min(times.values(), default=_UNKNOWN)
    near = [name for name in candidates if times.get(name, _UNKNOWN) <= limit < _UNKNOWN]
    for name in near if len(near) > 1 and effort.repeats_later else []:
        _time_one(name, candidates[name], times, effort.repeats_later, until)
    return times


def _time_one(name: str, prepare: Prepare, times: dict[str, float], repeats: int, until: float) -> None:
    """Lowers ``times[name]`` to the least time of up to ``repeats`` runs, if there is time for one."""
    if _past(until):
        return
    started = time.perf_counter()
    try:
        run = prepare()
        run()  # allocates buffers and transforms weights
        for _ in range(repeats):
            if _past(until):
                return
            taken = _milliseconds(run, until)
            times[name] = min(times.get(name, _UNKNOWN), taken)
            spent = time.perf_counter() - started
            slow = taken > max(_SHORT, _SLOWER_IS_OUT * min(times.values()))
            if slow or spent > _SECONDS_PER_CANDIDATE:
                break
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "alloc" not in str(error):
            raise
        times.setdefault(name, _UNKNOWN)


def _milliseconds(run: Callable[[], None], until: float) -> float:
    """Returns the time of one undisturbed run. Raises :class:`_Disturbed` after several attempts, or if there
    is no more time for them."""
    if torch.get_num_threads() == 1:  # CPU time is sufficient
        started = time.thread_time()
        run()
        return (time.thread_time() - started) * 1e3
    for _ in range(_TRIES):
        waited, started = _seconds_waited(), time.perf_counter()
        run()
        taken = time.perf_counter() - started
        if _seconds_waited() - waited < _UNDISTURBED * taken:
            return taken * 1e3
        if _past(until):
            break
    raise _Disturbed


def _seconds_waited() -> float:
    """Returns the time during which some thread of the machine was ready but had no core; 0 if the kernel
    does not report it."""
    try:
        return int(_PRESSURE.read_text().partition("total=")[2].split()[0]) / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0

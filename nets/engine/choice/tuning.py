"""Picks the fastest candidate by timing, and remembers the picks in a file of the user's cache folder.

The file is a help, never a need: it may be deleted at any time, and one that is damaged, of another version,
unwritable, or that somebody else could have written is as good as none. Writers replace it whole, so that two
processes never see a torn one; what the other has added since is kept.
"""

import contextlib
import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import torch

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from nets.engine.user_cache import make_folder, read_own, replace_whole, user_cache

VERSION = 7
_REPEATS, _REPEATS_LATER = 4, 2
_SLOWER_IS_OUT = 1.3  # after its first timed run, a candidate this much slower than the best one is dropped
_SECOND_LOOK = 1.8  # times the best one: who comes so near is timed again
_PREFERENCE = 0.1
_SECONDS_PER_CANDIDATE = 0.5
_TRIES = 4
_UNDISTURBED = 0.05  # of a run's time
_DISTURBED = ", one thread on a busy machine"  # at the end of a key
_MOST_BYTES = 64 << 20  # of the file
_PRESSURE = Path("/proc/pressure/cpu")

Prepare = Callable[[], Callable[[], None]]  # prepares a run and returns it
Candidates = Mapping[str, Prepare]


def cache_file() -> Path:
    """Returns the place of ``engine-tuning.json`` in the user's cache folder."""
    return user_cache() / "engine-tuning.json"


def machine_key() -> str:
    """Names all that a pick depends on besides the layer: processor, instruction set, thread count, PyTorch
    build."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    build = hashlib.sha256(torch.__config__.show().encode()).hexdigest()[:8]
    return (
        f"{model}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__} {build}"
    )


class Tuner:
    """Chooses among candidates; the picks of earlier processes come from ``path`` (None: keep none)."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._machine = machine_key()
        self._known = _read(path).get(self._machine, {}) if path else {}
        self._new: dict[str, dict[str, float]] = {}

    def choose(
        self,
        key: str,
        candidates: Candidates,
        preferred: Collection[str] = (),
    ) -> str:
        """Returns the name of the fastest of ``candidates``: functions that prepare a run and return it.

        ``key`` names what is run. Who is ``preferred`` may be a tenth slower. A candidate that cannot be
        prepared or run for want of memory is out.
        """
        if len(candidates) == 1:
            return next(iter(candidates))
        times = self._remembered(key, candidates) or self._measure(key, candidates)
        return min(candidates, key=lambda name: times[name] / (1 + _PREFERENCE * (name in preferred)))

    def _remembered(self, key: str, candidates: Collection[str]) -> dict[str, float]:
        """Times of all ``candidates``, or nothing."""
        times = self._new.get(key) or self._known.get(key) or {}
        return times if set(candidates) <= set(times) else {}

    def _measure(self, key: str, candidates: Candidates) -> dict[str, float]:
        """Returns the least time of each candidate in ms; infinite for one that cannot run.

        Other programs on the same cores slow some candidates more than others: those that start many parallel
        pieces of work wait for a core each time. While they run, candidates are compared by the CPU time of a
        single thread instead, which hardly depends on them. Such times are kept apart: they say little of
        candidates that wait for memory, and a quiet moment makes better ones.
        """
        try:
            times = _time_each(candidates)
        except _Disturbed:
            key += _DISTURBED
            times = self._remembered(key, candidates) or _time_on_one_thread(candidates)
        self._new[key] = times
        return times

    def save(self) -> None:
        """Adds this tuner's new timings to the file; says nothing where that cannot be done."""
        if self._path is None or not self._new:
            return
        with contextlib.suppress(OSError):
            make_folder(self._path.parent)
            with _locked(self._path):
                machines = _read(self._path)
                machines[self._machine] = {**machines.get(self._machine, {}), **self._new}
                text = json.dumps({"version": VERSION, "machines": machines}, indent=1)
                replace_whole(self._path, text.encode())


def _time_on_one_thread(candidates: Candidates) -> dict[str, float]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _time_each(candidates)
    finally:
        torch.set_num_threads(threads)


class _Disturbed(Exception):
    """Other programs held the cores at every try."""


def _time_each(candidates: Candidates) -> dict[str, float]:
    """Times one after the other: their buffers together might not fit the memory.

    A shared processor has slow moments, which a candidate's runs may all fall into: those that come near the
    best one are timed once more, some time later.
    """
    times = dict.fromkeys(candidates, float("inf"))
    for name in reversed(list(candidates)):  # the plainest last: mostly it is slower, and one run tells
        _time_one(name, candidates[name], times, _REPEATS)
    near = [name for name in candidates if times[name] <= _SECOND_LOOK * min(times.values()) < float("inf")]
    for name in near if len(near) > 1 else []:
        _time_one(name, candidates[name], times, _REPEATS_LATER)
    return times


def _time_one(name: str, prepare: Prepare, times: dict[str, float], repeats: int) -> None:
    """Lowers ``times[name]`` to the least time of up to ``repeats`` runs."""
    started = time.perf_counter()
    try:
        run = prepare()
        run()  # makes buffers and transformed weights
        for _ in range(repeats):
            taken = _milliseconds(run)
            times[name] = min(times[name], taken)
            spent = time.perf_counter() - started
            if taken > _SLOWER_IS_OUT * min(times.values()) or spent > _SECONDS_PER_CANDIDATE:
                break
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "alloc" not in str(error):
            raise


def _milliseconds(run: Callable[[], None]) -> float:
    """Returns the time of one undisturbed run; raises :class:`_Disturbed` after several tries."""
    if torch.get_num_threads() == 1:  # CPU time says it all
        started = time.thread_time()
        run()
        return (time.thread_time() - started) * 1e3
    for _ in range(_TRIES):
        waited, started = _seconds_waited(), time.perf_counter()
        run()
        taken = time.perf_counter() - started
        if _seconds_waited() - waited < _UNDISTURBED * taken:
            return taken * 1e3
    raise _Disturbed


def _seconds_waited() -> float:
    """Returns how long some thread of the machine was ready but without a core; 0 where the kernel does not
    say."""
    try:
        return int(_PRESSURE.read_text().partition("total=")[2].split()[0]) / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0


def _read(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Reads the timings, machine to key to candidate to ms; empty where the file is missing, damaged or of
    another version."""
    try:
        content = json.loads(read_own(path, _MOST_BYTES) or b"")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or content.get("version") != VERSION:
        return {}
    machines = content.get("machines")
    return machines if isinstance(machines, dict) and _well_formed(machines) else {}


def _well_formed(machines: dict[str, object]) -> bool:
    return all(
        isinstance(keys, dict)
        and all(isinstance(times, dict) and all(map(_is_time, times.values())) for times in keys.values())
        for keys in machines.values()
    )


def _is_time(value: object) -> bool:
    """Returns whether this is a number of milliseconds; infinite for what could not run."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and float(value) >= 0
    except OverflowError:  # a whole number of hundreds of digits
        return False


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock file beside ``path``, where the system has such locks: readers need none."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    lock = os.open(path.with_suffix(".lock"), flags, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)

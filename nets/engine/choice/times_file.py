"""The file of timings in the user's cache folder: machine -> what ran -> candidate -> milliseconds.

The file is optional: it may be deleted at any time, and is ignored if it is damaged, of another version,
unwritable, or writable by somebody else. Writers replace it as a whole, so that processes never read a
partial one, and keep what another process has added since.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

from convnet_benchmarks.nets.user_cache import make_folder, read_own, replace_whole, user_cache

VERSION = 12
_MOST_BYTES = 64 << 20  # of the file

Times = dict[str, dict[str, float]]  # what ran -> candidate -> ms, infinite for one that cannot run
Machines = dict[str, Times]


def cache_file() -> Path:
    """Returns the path of ``engine-tuning.json`` in the user's cache folder."""
    return user_cache() / "engine-tuning.json"


def known_times(path: Path, machine: str) -> Times:
    """Returns what the file has for ``machine``."""
    return _read(path).get(machine, {})


def add_times(path: Path, machine: str, new: Mapping[str, dict[str, float]]) -> None:
    """Adds new timings to the file; fails silently."""
    if not new:
        return
    with contextlib.suppress(OSError):
        make_folder(path.parent)
        with _locked(path):
            machines = _read(path)
            machines[machine] = {**machines.get(machine, {}), **new}
            text = json.dumps({"version": VERSION, "machines": machines}, indent=1)
            replace_whole(path, text.encode())


def _read(path: Path) -> Machines:
    """Reads the timings, machine -> key -> candidate -> ms; empty if the file is missing, damaged or of
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
    """Returns whether this is a number of milliseconds, which is infinite for candidates that cannot run."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and float(value) >= 0
    except OverflowError:  # an integer of hundreds of digits
        return False


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock file next to ``path``, if the system has such locks; readers need none."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    lock = os.open(path.with_suffix(".lock"), flags, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)

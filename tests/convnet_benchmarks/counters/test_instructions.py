"""Counting in every thread of the process, and what is said where the system does not count."""

import errno
import mmap
import threading
from pathlib import Path

import pytest

from convnet_benchmarks.counters import open_counters
from convnet_benchmarks.counters.counter import UnreadableError
from convnet_benchmarks.counters.instructions import (
    PAGE_FAULTS,
    InstructionCounter,
    _reason,
)


def counter_or_skip() -> InstructionCounter:
    try:
        return InstructionCounter(PAGE_FAULTS)
    except UnreadableError as error:
        pytest.skip(str(error))


def touch_pages(count: int = 1000) -> None:
    """Writes to fresh pages of memory, which the system gives out one at a time: as many faults."""
    with mmap.mmap(-1, count * mmap.PAGESIZE) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for start in range(0, len(memory), mmap.PAGESIZE):
            memory[start] = 1


def test_threads_there_before_and_begun_after_are_counted() -> None:
    """By an event that every Linux counts, and whose number is the same on a busy machine."""
    begin = threading.Event()

    def work() -> None:
        begin.wait()
        touch_pages()

    before = threading.Thread(target=work, daemon=True)  # waits for ever where nothing is counted
    before.start()
    counter = counter_or_skip()
    after = threading.Thread(target=work)
    after.start()
    counted = counter.read()
    begin.set()
    for thread in (before, after):
        thread.join()
    counted = counter.read() - counted
    counter.close()
    assert 2000 <= counted < 3000  # the interpreter's own memory comes on top


def test_what_was_counted_stays_when_a_thread_has_ended_and_nothing_is_left_open() -> None:
    open_files = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    counter = counter_or_skip()
    thread = threading.Thread(target=touch_pages)
    thread.start()
    thread.join()
    first = counter.read()
    assert 1000 <= first <= counter.read()
    counter.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOENT, "no hardware counters"),
        (errno.EACCES, "perf_event_paranoid is"),
        (errno.EPERM, "a container may forbid it"),
    ],
)
def test_the_reason_says_what_is_missing(number: int, said: str) -> None:
    assert said in _reason(OSError(number, "x"))


def test_other_systems_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert open_counters().reasons["instructions"] == "counted on Linux only"

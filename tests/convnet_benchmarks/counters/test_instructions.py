"""Counting in every thread of the process, and what is said where the system does not count."""

import errno
import threading
import time
from pathlib import Path

import pytest

from convnet_benchmarks.counters import open_counters
from convnet_benchmarks.counters.counter import UnreadableError
from convnet_benchmarks.counters.instructions import (
    THREAD_NANOSECONDS,
    InstructionCounter,
    _reason,
)


def counter_or_skip() -> InstructionCounter:
    try:
        return InstructionCounter(THREAD_NANOSECONDS)
    except UnreadableError as error:
        pytest.skip(str(error))


def test_threads_there_before_and_begun_after_are_counted() -> None:
    """By an event that every Linux counts: the same number as the processor time of the process."""
    begin, ends = threading.Event(), []

    def work() -> None:
        begin.wait()
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        ends.append(time.thread_time())

    before = threading.Thread(target=work)
    before.start()
    counter = counter_or_skip()
    start = time.process_time()
    counted = counter.read()
    after = threading.Thread(target=work)
    after.start()
    begin.set()
    for thread in (before, after):
        thread.join()
    counted, used = (counter.read() - counted) / 1e9, time.process_time() - start
    counter.close()
    assert used >= 0.04
    assert counted == pytest.approx(used, abs=0.5 * used)  # only one of the two threads would be half


def test_what_was_counted_stays_when_a_thread_has_ended_and_nothing_is_left_open() -> None:
    open_files = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    counter = counter_or_skip()
    thread = threading.Thread(target=lambda: sum(range(200_000)))
    thread.start()
    thread.join()
    first = counter.read()
    assert 0 < first <= counter.read()
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

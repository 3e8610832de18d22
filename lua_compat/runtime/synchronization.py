"""Synchronisation of the threads of one script: mutexes, condition variables, bounded queues.

A thread that waits at one of them wakes when the script ends, and gets an exception.
"""

import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

# How often a waiting thread checks whether Python itself is exiting, when nobody may be left to wake it.
_LOOK_SECONDS = 1.0


class Stopped(BaseException):
    """The script has ended: the thread is to end, too. No protected call of Lua's catches it."""


class Ending:
    """Whether the script has ended, and everyone to notify."""

    def __init__(self) -> None:
        self._reason: BaseException | None = None
        self._points: weakref.WeakSet[MeetingPoint] = weakref.WeakSet()
        self._lock = threading.Lock()

    def watch(self, point: "MeetingPoint") -> None:
        with self._lock:
            self._points.add(point)

    def end(self, reason: BaseException) -> None:
        """Gives ``reason`` to everyone who waits, or wants to, from now on; only the first one counts."""
        with self._lock:
            self._reason = self._reason or reason
            points = list(self._points)
        for point in points:
            point.wake()

    def check(self) -> None:
        """Raises the reason, if the script has ended."""
        reason = self._reason
        if reason is not None:
            raise type(reason)(*reason.args)  # a new one for each thread: raising adds to its traceback
        if not threading.main_thread().is_alive():
            raise Stopped


class MeetingPoint:
    """The base of the kinds below: changes are made, and waited for, under one lock."""

    def __init__(self, ending: Ending) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._ending = ending
        ending.watch(self)

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _wait_until(self, true: Callable[[], bool]) -> None:
        """Waits, under the lock."""
        while not true():
            self._ending.check()
            self._changed.wait(_LOOK_SECONDS)


class Mutex(MeetingPoint):
    """As pthread's: locked once, by anyone, until anyone unlocks it."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self._locked = False

    def lock(self) -> None:
        with self._changed:
            self._wait_until(lambda: not self._locked)
            self._locked = True

    def unlock(self) -> None:
        with self._changed:
            if not self._locked:
                raise RuntimeError("threads: mutex unlock failed: it is not locked")
            self._locked = False
            self._changed.notify()


class Condition(MeetingPoint):
    """As pthread's: ``signal`` wakes one of those that wait now, and is lost where nobody does."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self._waiting: deque[object] = deque()

    def wait(self, mutex: Mutex) -> None:
        """Unlocks ``mutex``, waits for a signal, locks it again."""
        me = object()
        with self._changed:
            mutex.unlock()
            self._waiting.append(me)
            self._wait_until(lambda: me not in self._waiting)
        mutex.lock()

    def signal(self) -> None:
        with self._changed:
            if self._waiting:
                self._waiting.popleft()
                self._changed.notify_all()


class Queue(MeetingPoint):
    """At most ``size`` items; adding one more waits for space. ``label`` is for its users."""

    def __init__(self, ending: Ending, size: float, label: str = "") -> None:
        super().__init__(ending)
        self.size = int(size)
        self.label = label
        self._items: deque[Any] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Any) -> None:
        with self._changed:
            self._wait_until(lambda: self._closed or len(self._items) < self.size)
            if not self._closed:
                self._items.append(item)
                self._changed.notify_all()

    def take(self) -> Any:
        """Returns the oldest item; None once the queue is closed."""
        with self._changed:
            self._wait_until(lambda: self._closed or len(self._items) > 0)
            if self._closed:
                return None
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def close(self) -> None:
        """Drops all items, present and future, and wakes everyone who waits."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()

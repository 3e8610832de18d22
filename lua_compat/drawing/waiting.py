"""Figures that wait to be drawn: the latest for each file."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Picture = TypeVar("Picture")

# A script that plots after every step would keep a core busy with pictures that nobody sees: a file that
# has been drawn rests, until it has been drawn for at most a twentieth of the time.
_REST = 19
# So many files can wait: whoever adds one more waits, too.
_MOST = 64


class Waiting(Generic[Picture]):
    """Pictures by the files that they are for. One thread adds, another takes.

    ``clock``: seconds, for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._latest: dict[str, Picture] = {}
        self._rested_at: dict[str, float] = {}
        self._drawn_now: str | None = None
        self._wanted: set[str] = set()  # by somebody who waits
        self._ended = False

    def add(self, path: str, picture: Picture) -> None:
        """Puts a picture in the place of one that still waits for the same file."""
        with self._changed:
            self._changed.wait_for(lambda: path in self._latest or len(self._latest) < _MOST)
            self._latest[path] = picture
            self._changed.notify_all()

    def settle(self, paths: Iterable[str]) -> None:
        """Waits until nothing waits for these files."""
        files = {*paths}
        with self._changed:
            self._wanted |= files
            self._changed.notify_all()
            self._changed.wait_for(lambda: not files & {*self._latest, self._drawn_now})
            self._wanted -= files

    def end(self) -> None:
        """Notes that nothing will be added any longer."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def draw_next(self, draw: Callable[[str, Picture], None]) -> bool:
        """Waits for a picture whose time has come and draws it; returns False if there are no more."""
        with self._changed:
            while (path := self._due()) is None:
                if self._ended and not self._latest:
                    return False
                self._changed.wait(self._seconds_to_wait())
            picture = self._latest.pop(path)
            self._drawn_now = path
            self._changed.notify_all()
        began = self._clock()
        try:
            draw(path, picture)
        finally:
            ended = self._clock()
            with self._changed:
                self._drawn_now = None
                self._rested_at[path] = ended + _REST * (ended - began)
                self._changed.notify_all()
        return True

    def _due(self) -> str | None:
        hurried = self._ended or len(self._latest) >= _MOST
        now = self._clock()
        for path in self._latest:
            if hurried or path in self._wanted or self._rested_at.get(path, now) <= now:
                return path
        return None

    def _seconds_to_wait(self) -> float | None:
        if not self._latest:
            return None
        return max(0.0, min(self._rested_at[path] for path in self._latest) - self._clock())

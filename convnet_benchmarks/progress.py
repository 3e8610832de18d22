"""The progress of a run on stderr: written between timed loops, never during one."""

import sys
import time
from typing import TextIO


class Progress:
    """One line that is overwritten on a terminal; in a pipe or a file nothing, or a plain line now and then.

    ``time_left``: the line says how much longer the remaining steps take, each as long as one has taken so
    far. ``seconds_between_lines``: where stderr is no terminal, a line at the start of a step, at most this
    often; None: no lines.
    """

    def __init__(
        self,
        steps: int,
        shown: bool = True,
        stream: TextIO | None = None,
        *,
        time_left: bool = False,
        seconds_between_lines: float | None = None,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._steps = steps
        self._step = 0
        self._overwrites = shown and self._stream.isatty()
        self._seconds_between_lines = None if self._overwrites or not shown else seconds_between_lines
        self._time_left = time_left
        self._begin = time.monotonic()
        self._last_line = float("-inf")

    def start(self, what: str, *, on_terminals_only: bool = False) -> None:
        """Begins a step, and so ends the one before."""
        self._step += 1
        now = time.monotonic()
        if self._overwrites or not on_terminals_only:
            self._write(f"[{self._step}/{self._steps}] {what}{self._estimate(now)}", now)

    def detail(self, what: str) -> None:
        """Says how far the step is that was begun last."""
        self._write(f"[{self._step}/{self._steps}] {what}", time.monotonic())

    def _write(self, line: str, now: float) -> None:
        if self._overwrites:
            self._stream.write(f"\r\033[K{line}")
            self._stream.flush()
        elif self._seconds_between_lines is not None and now - self._last_line >= self._seconds_between_lines:
            self._stream.write(f"{line}\n")
            self._stream.flush()
            self._last_line = now

    def clear(self) -> None:
        """Takes the line away, so that other text can be written."""
        if self._overwrites:
            self._stream.write("\r\033[K")
            self._stream.flush()

    def _estimate(self, now: float) -> str:
        done = self._step - 1
        if not self._time_left or done == 0:
            return ""
        return f"; about {duration((now - self._begin) / done * (self._steps - done))} left"


def duration(seconds: float) -> str:
    """Returns a time in words of the unit that suits it: 5 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"

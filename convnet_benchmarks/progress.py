"""The progress of a run on stderr: written between timed loops, never during one.

So nothing refreshes the line by itself: a thread that did would take its time from what is timed.
"""

import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

from convnet_benchmarks.tables import terminal_width

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_BAR = 12
# On narrower terminals its place is needed for words.
_WIDTH_FOR_BAR = 70
# A terminal writes this behind the line, and a line that is as wide as the terminal would grow by another.
_ECHO = "^C^C"
# In a pipe, one line in so many seconds about how far a step is.
_SECONDS_BETWEEN_DETAILS = 10.0


class Progress:
    """A line on a terminal, removed in the end; in a pipe or a file, one line for each step.

    It says which step of how many runs, and estimates the time left from the steps done so far, without those
    that only prepared the others. Nothing is written unless ``shown``.
    """

    def __init__(self, steps: int, shown: bool = True, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._steps = steps
        self._step = 0
        self._shown = shown
        self._width = terminal_width(self._stream)
        self._line: RichProgress | None = None
        self._begin = time.monotonic()
        self._prepared = 0  # steps before ``_begin``
        self._preparing = False
        self._parts: tuple[float, int] | None = None  # when the first was told of, and which it was
        self._last_detail = float("-inf")

    def start(self, what: str, *, preparing: bool = False, on_terminals_only: bool = False) -> None:
        """Begins a step, which ends the one before. ``preparing``: it does not count in the estimate."""
        if self._preparing:
            self._begin, self._prepared = time.monotonic(), self._step
        self._preparing, self._parts = preparing, None
        self._step += 1
        if not self._shown or (on_terminals_only and not self._overwrites):
            return
        left = self._estimate()
        if self._overwrites:
            self._draw(what, left)
        else:
            self._print(f"{what}; {left}" if left else what)
        self._last_detail = time.monotonic()

    def detail(self, what: str, part: int, parts: int) -> None:
        """Says how far the current step is: ``part`` of ``parts`` begins, counted from 1."""
        if not self._shown:
            return
        now = time.monotonic()
        self._parts = self._parts or (now, part)
        begin, first = self._parts
        left = _left(now - begin, part - first, parts - part + 1)
        left = left and f"{left} for this"
        what = f"{what} {part} of {parts}"
        if self._overwrites:
            self._draw(what, left)
        elif now - self._last_detail >= _SECONDS_BETWEEN_DETAILS:
            self._print(f"{what}; {left}" if left else what)
            self._last_detail = now

    def clear(self) -> None:
        """Removes the line, so that other text can be written."""
        if self._line is not None:
            self._line.stop()
            self._line = None

    @property
    def _overwrites(self) -> bool:
        return self._width is not None and os.environ.get("TERM") not in ("dumb", "unknown")

    def _print(self, what: str) -> None:
        print(f"[{self._step}/{self._steps}] {what}", file=self._stream, flush=True)

    def _draw(self, what: str, left: str) -> None:
        done = self._step - 1
        if self._line is None:
            self._line = self._made()
            self._line.add_task(what, total=self._steps, completed=done, step=self._step, left=left)
            self._line.start()
        else:
            (task,) = self._line.task_ids
            self._line.update(task, completed=done, description=what, step=self._step, left=left)
            self._line.refresh()

    def _made(self) -> "RichProgress":
        """Returns rich's line; what does not fit beside the counter wraps."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        assert self._width is not None, "written on a terminal only"
        counter = Column(no_wrap=True, width=len(f"[{self._steps}/{self._steps}]"))
        width = max(self._width - len(_ECHO), 1)
        console = Console(file=self._stream, width=width, height=25, highlight=False)
        return Progress(
            TextColumn("[{task.fields[step]}/{task.total:.0f}]", markup=False, table_column=counter),
            *([BarColumn(bar_width=_BAR)] if self._width >= _WIDTH_FOR_BAR else []),
            TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold")),
            TextColumn("{task.fields[left]}", markup=False, table_column=Column(overflow="fold")),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def _estimate(self) -> str:
        """Returns how much longer it takes; empty before a step has told."""
        done = self._step - 1
        return _left(time.monotonic() - self._begin, done - self._prepared, self._steps - done)


def _left(seconds: float, done: int, more: int) -> str:
    """Returns how much longer ``more`` things take if ``done`` took ``seconds``; empty if none did."""
    return f"about {duration(seconds / done * more)} left" if done else ""


def duration(seconds: float) -> str:
    """Returns a time in words of the unit that suits it: 5 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"

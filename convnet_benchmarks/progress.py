"""What a run is doing, on stderr: written between timed loops, never during one."""

import sys
import time
from typing import TextIO


class Progress:
    """One line that is overwritten on a terminal; nothing at all in a pipe or a file.

    ``time_left``: the line says how long the rest takes if the steps take equally long.
    """

    def __init__(
        self, steps: int, shown: bool = True, stream: TextIO | None = None, *, time_left: bool = False
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._steps = steps
        self._step = 0
        self._shown = shown and self._stream.isatty()
        self._begin = time.monotonic() if time_left else None

    def start(self, what: str) -> None:
        self._step += 1
        if self._shown:
            self._stream.write(f"\r\033[K[{self._step}/{self._steps}] {what}{self._time_left()}")
            self._stream.flush()

    def clear(self) -> None:
        """Takes the line away, so that other text can be written."""
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()

    def _time_left(self) -> str:
        done = self._step - 1
        if self._begin is None or not done:
            return ""
        seconds = (time.monotonic() - self._begin) / done * max(0, self._steps - done)
        return f" ({seconds:.0f} s left)" if seconds < 120 else f" ({seconds / 60:.0f} min left)"

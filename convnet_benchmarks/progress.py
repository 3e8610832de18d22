"""What a run is doing, on stderr: written between timed loops, never during one."""

import sys
from typing import TextIO


class Progress:
    """One line that is overwritten on a terminal; nothing at all in a pipe or a file."""

    def __init__(self, steps: int, shown: bool = True, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._steps = steps
        self._step = 0
        self._shown = shown and self._stream.isatty()

    def start(self, what: str) -> None:
        self._step += 1
        if self._shown:
            self._stream.write(f"\r\033[K[{self._step}/{self._steps}] {what}")
            self._stream.flush()

    def clear(self) -> None:
        """Takes the line away, so that other text can be written."""
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()

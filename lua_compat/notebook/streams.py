"""Captures what a process, its C libraries and its children write to stdout and stderr, as it is written."""

import codecs
import os
import secrets
import selectors
import sys
import threading
from collections.abc import Callable
from typing import TextIO

_MOST_BYTES = 1 << 16
# Output within this time is published as one text.
_PAUSE_SECONDS = 0.02
_LONGEST_WAIT_SECONDS = 10.0


class Streams:
    """Takes over descriptors 1 and 2. ``publish`` is called in a thread with "stdout" or "stderr" and a text.

    The original stderr remains available as ``terminal``.
    """

    def __init__(self, publish: Callable[[str, str], None]) -> None:
        self._publish = publish
        self._mark = b"\0" + secrets.token_hex(16).encode() + b"\0"  # short enough to be written atomically
        self._hurry = threading.Event()
        self.terminal: TextIO = os.fdopen(os.dup(2), "w", buffering=1)
        sys.stdout.flush()
        sys.stderr.flush()
        self._pipes = [_Pipe("stdout", 1), _Pipe("stderr", 2)]
        threading.Thread(target=self._read, name="what cells print", daemon=True).start()

    def settle(self) -> None:
        """Waits until all that has been written so far is published. The caller has flushed C's buffers."""
        self._hurry.set()
        for pipe in self._pipes:
            pipe.marked.clear()
            os.write(pipe.descriptor, self._mark)
        for pipe in self._pipes:
            pipe.marked.wait(_LONGEST_WAIT_SECONDS)
        self._hurry.clear()

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            for pipe in self._pipes:
                selector.register(pipe.reader, selectors.EVENT_READ, pipe)
            while True:
                ready = selector.select()
                self._hurry.wait(_PAUSE_SECONDS)
                for key, _ in ready:
                    self._take(key.data)

    def _take(self, pipe: "_Pipe") -> None:
        data = pipe.pending + os.read(pipe.reader, _MOST_BYTES)
        marked = self._mark in data
        data = data.replace(self._mark, b"")
        kept = next((n for n in range(len(self._mark) - 1, 0, -1) if data.endswith(self._mark[:n])), 0)
        pipe.pending = data[len(data) - kept :]
        text = pipe.decoder.decode(data[: len(data) - kept])
        if text:
            self._publish(pipe.name, text)
        if marked:
            pipe.marked.set()


class _Pipe:
    """A pipe in place of a descriptor."""

    def __init__(self, name: str, descriptor: int) -> None:
        self.name, self.descriptor = name, descriptor
        self.reader, writer = os.pipe()
        os.dup2(writer, descriptor)
        os.close(writer)
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.pending = b""  # what may be the beginning of a mark
        self.marked = threading.Event()

"""Ctrl-C while modules are being loaded."""

import importlib
import os
import signal
import sys
import threading
import time
from types import FrameType

INTERRUPTED = 130  # the exit code
_AGAIN_AFTER = 0.02  # seconds
_LONGEST_WAIT = 5.0


class AfterLoading:
    """Postpones a Ctrl-C until the modules being imported are loaded, for up to five seconds.

    Inside an import, a library may mistake the exception for another error, or continue without what it was
    importing (PyTorch without numpy). As a signal handler it raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self._since: float | None = None

    def __call__(self, _number: int, frame: FrameType | None) -> None:
        if not self.puts_off(frame):
            raise KeyboardInterrupt

    def puts_off(self, frame: FrameType | None) -> bool:
        """Returns whether to postpone a Ctrl-C that has arrived; the signal is then sent again later."""
        now = time.monotonic()
        if not _is_loading(frame) or now - (self._since or now) > _LONGEST_WAIT:
            self._since = None
            return False
        self._since = self._since or now
        again = threading.Timer(_AGAIN_AFTER, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
        return True


def _is_loading(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def start(program: str, module: str, function: str, *arguments: object) -> int:
    """Imports a module and calls its function, which returns the exit code. Reports a Ctrl-C in one line; one
    that is ignored stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, AfterLoading())
    try:
        code: int = getattr(importlib.import_module(module), function)(*arguments)
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return INTERRUPTED
    return code

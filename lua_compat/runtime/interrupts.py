"""Ctrl-C while a Lua script runs."""

import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # the exit code

# How long a Ctrl-C may take to reach Python before the process is ended from outside of Lua.
_GRACE_SECONDS = 0.5


@contextmanager
def interruptible() -> Iterator[None]:
    """Makes Ctrl-C work inside Lua: a loop that never calls Python does not see Python's signal handler.

    Python's handler raises KeyboardInterrupt as soon as Lua comes back to Python. If that does not happen
    within the grace period, a watching thread ends the process with exit code 130.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    handled = threading.Event()

    def on_interrupt(_number: int, _frame: types.FrameType | None) -> None:
        handled.set()
        raise KeyboardInterrupt

    def watch() -> None:
        while signals := os.read(reader, 64):
            if signal.SIGINT in signals and not handled.wait(_GRACE_SECONDS):
                os.write(sys.stderr.fileno(), b"th: interrupted\n")
                os._exit(INTERRUPTED)

    previous_handler = signal.signal(signal.SIGINT, on_interrupt)
    previous_descriptor = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, name="interrupts of Lua", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous_descriptor)
        signal.signal(signal.SIGINT, previous_handler)
        os.close(writer)
        watcher.join()
        os.close(reader)

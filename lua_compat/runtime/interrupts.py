"""Ctrl-C while Lua runs."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from contextlib import contextmanager

from convnet_benchmarks.nets.ctrl_c import INTERRUPTED, AfterLoading

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    import types
    from collections.abc import Iterator

# How long a Ctrl-C may take to reach Python before Lua is stopped from outside.
_GRACE_SECONDS = 0.5
_HOOK_AT_COUNT = 1 << 3  # LUA_MASKCOUNT


class LoopStopper:
    """Stops interpreted Lua code from another thread: a debug hook raises an error at its next instruction.

    ``library``: the file of LuaJIT; ``state``: the address of one of its threads (the hook counts for all).
    The hook is C's ``luaL_error``, which takes the description of the event for its text: nothing of Python
    runs while Lua's stack unwinds. As the hook stays until ``release``, no ``pcall`` can catch the error for
    good. Code that LuaJIT has compiled looks for no hooks.
    """

    def __init__(self, library: str, state: int) -> None:
        lua = ctypes.CDLL(library)
        self._set = lua.lua_sethook
        self._set.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
        self._error = ctypes.cast(lua.luaL_error, ctypes.c_void_p)
        self._state = state

    def stop(self) -> None:
        """Makes all Lua code fail from now on."""
        self._set(self._state, self._error, _HOOK_AT_COUNT, 1)

    def release(self) -> None:
        """Lets Lua run again."""
        self._set(self._state, None, 0, 0)


class Interrupts:
    """The effect of Ctrl-C on Lua. ``stopper``: stops code that does not return to Python; None: the process
    is ended instead. ``ends_process``: it is also ended on the second Ctrl-C if the stopper had no effect.
    """

    def __init__(self) -> None:
        self.stopper: LoopStopper | None = None
        self.ends_process = True
        self._after_loading = AfterLoading()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._lock = threading.Lock()
        self._handled = threading.Event()
        self._stopped = False

    def listen(self) -> None:
        """Takes over Ctrl-C: in the main thread, at first and after an event loop, which does so, too."""
        self._handled.clear()  # of a Ctrl-C that was reported after the watcher had stopped waiting for it
        signal.signal(signal.SIGINT, self._arrived)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def close(self) -> None:
        """Ends ``watch``."""
        os.close(self._writer)

    def _arrived(self, _number: int, frame: types.FrameType | None) -> None:
        """Raises KeyboardInterrupt. This is Python's handler, called once Lua has returned to Python."""
        if self._after_loading.puts_off(frame):
            self._handled.set()
            return
        with self._lock:
            self._handled.set()
            if self._stopped and self.stopper is not None:
                self.stopper.release()
            self._stopped = False
        raise KeyboardInterrupt

    def watch(self) -> None:
        """Reads the numbers of signals until ``close``; acts where Python does not."""
        while signals := os.read(self._reader, 64):
            if signal.SIGINT not in signals:
                continue
            if not self._handled.wait(_GRACE_SECONDS):
                self._act()
            self._handled.clear()
        os.close(self._reader)

    def _act(self) -> None:
        with self._lock:
            if self._handled.is_set():
                return
            if self._stopped and not self.ends_process:
                return
            if self.stopper is None or self._stopped:  # the second time: code that cannot be stopped
                os.write(sys.stderr.fileno(), b"th: interrupted\n")
                os._exit(INTERRUPTED)
            self._stopped = True
            self.stopper.stop()
        if not self._handled.wait(2 * _GRACE_SECONDS):
            then = "another Ctrl-C ends th" if self.ends_process else "restart the kernel if it does not stop"
            os.write(2, f"th: still running; {then}\n".encode())


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Makes Ctrl-C work inside Lua: a loop that never calls Python does not see Python's signal handler.

    Python's handler raises KeyboardInterrupt as soon as Lua comes back to Python. If that does not happen
    within the grace period, a watching thread stops the code, or ends the process with exit code 130.
    """
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        interrupts.close()
        interrupts.watch()  # nothing: there is no handler outside of the main thread
        yield interrupts
        return
    previous_handler, previous_descriptor = signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)
    interrupts.listen()
    watcher = threading.Thread(target=interrupts.watch, name="interrupts of Lua", daemon=True)
    watcher.start()
    try:
        yield interrupts
    finally:
        signal.set_wakeup_fd(previous_descriptor)
        signal.signal(signal.SIGINT, previous_handler)
        interrupts.close()
        watcher.join()

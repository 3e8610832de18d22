"""The Lua states of one script, if its package ``threads`` makes more than one.

Each has its own thread and ``Runtime``. They share nothing in Lua. What they do share is here, by number:
synchronisation objects (synchronization.py), and memory (sharing.py).
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.pytorch import is_loaded
from lua_compat.runtime.sharing import Sharing
from lua_compat.runtime.slabs import Slabs
from lua_compat.runtime.synchronization import Condition, Ending, MeetingPoint, Mutex, Queue, Stopped

if TYPE_CHECKING:
    from lua_compat.runtime.bridge import Handles

# Numbers that cannot be taken for the size of a queue: Queue(n) makes one, Queue(number) finds one.
FIRST_NUMBER = 1 << 40

# How long what was printed may take to reach a file or pipe before the process is ended nevertheless.
_FLUSH_SECONDS = 1.0

# The C stack of a thread: lua/th/c_stack.lua relies on it, and some systems' default is smaller.
_STACK_BYTES = 8 << 20

Point = TypeVar("Point", bound=MeetingPoint)
_KINDS: dict[str, type[MeetingPoint]] = {"Mutex": Mutex, "Condition": Condition, "Queue": Queue}


class LuaState(Protocol):
    """The part of a ``Runtime`` that a thread needs to run its code."""

    exited: bool

    def run_string(self, code: str, name: str, /) -> int: ...

    def finish(self) -> int: ...

    def ways_taken(self) -> str: ...


NewState = Callable[[], LuaState]


class Threads:
    """The threads of one script, and what they share. ``owns_process``: as in ``Crew``; ``finish_figures`` is
    called before the process is ended."""

    def __init__(self, owns_process: bool, finish_figures: Callable[[], None]) -> None:
        self._owns_process, self._finish_figures = owns_process, finish_figures
        self._ending = Ending()
        self._numbers = count(FIRST_NUMBER)
        self._lock = threading.Lock()
        self._points: dict[int, MeetingPoint] = {}
        self._users: dict[int, int] = {}  # by point, which is dropped with its last user
        self._sharing = Sharing(self._numbers)
        self._threads: dict[int, threading.Thread] = {}
        self._ways: list[str] = []

    # Ends

    def leave(self, exit_code: int) -> None:
        """Ends the threads that still run: with the process, where it is the script's own."""
        with self._lock:
            running = [thread for thread in self._threads.values() if thread.is_alive()]
        if running and self._owns_process:
            self._end_process(exit_code)
        self._ending.end(Stopped())
        for thread in running:
            thread.join()

    def exit_from_thread(self, exit_code: int) -> None:
        """Ends the whole script: ``os.exit`` of a thread."""
        if self._owns_process:
            self._end_process(exit_code)
        self._ending.end(SystemExit(exit_code))
        raise SystemExit(exit_code)

    def _end_process(self, exit_code: int) -> None:
        self._finish_figures()
        end_process(exit_code)

    # What Lua calls

    def functions(
        self, handles: Callable[[], "Handles"], slabs: Slabs, new_state: NewState
    ) -> dict[str, Callable[..., Any]]:
        """Returns the functions for one Lua state; ``handles``: its tensors, for which PyTorch is loaded;
        ``slabs``: its other memory; ``new_state`` makes one more state, in the thread that is to run it."""

        def queue_put(queue: int, tag: int, lent: int) -> None:
            self._point(queue, Queue).put((tag, self._sharing.withdraw(lent)))

        def queue_put_copy(queue: int, tag: int, address: int, size: int) -> None:
            self._point(queue, Queue).put((tag, ctypes.string_at(int(address), int(size))))

        def queue_take(queue: int) -> tuple[Any, ...] | None:
            item = self._point(queue, Queue).take()
            if item is None or isinstance(item[1], bytes):
                return item
            tag, lent = item
            return tag, *lent.taken(handles, slabs)

        return {
            "threads_new": self._new,
            "threads_retain": self._retain,
            "threads_free": self._free,
            "mutex_lock": lambda number: self._point(number, Mutex).lock(),
            "mutex_unlock": lambda number: self._point(number, Mutex).unlock(),
            "condition_wait": lambda number, mutex: self._point(number, Condition).wait(
                self._point(mutex, Mutex)
            ),
            "condition_signal": lambda number: self._point(number, Condition).signal(),
            "queue_put": queue_put,
            "queue_put_copy": queue_put_copy,
            "queue_take": queue_take,
            "queue_length": lambda number: len(self._point(number, Queue)),
            "queue_size": lambda number: self._point(number, Queue).size,
            "queue_label": lambda number: self._point(number, Queue).label,
            "queue_close": lambda number: self._point(number, Queue).close(),
            "thread_start": lambda code, cores: self._start(new_state, code, cores),
            "thread_join": self._join,
            "threads_alive": self._alive,
            "threads_first": lambda: FIRST_NUMBER,
            "threads_check": self._ending.check,
            **self._sharing.functions(handles, slabs),
        }

    def _point(self, number: float, kind: type[Point]) -> Point:
        point = self._points.get(int(number))
        if not isinstance(point, kind):
            raise RuntimeError(f"threads: no {kind.__name__} has the number {int(number)}, or it was freed")
        return point

    def _new(self, kind: str, *arguments: Any) -> int:
        number = next(self._numbers)
        self._points[number] = _KINDS[kind](self._ending, *arguments)
        self._users[number] = 1
        return number

    def _retain(self, kind: str, number: float) -> None:
        """Adds a user to a point; checks that there is one of this kind."""
        with self._lock:
            self._point(number, _KINDS[kind])
            self._users[int(number)] += 1

    def _free(self, kind: str, number: float) -> None:
        with self._lock:
            self._point(number, _KINDS[kind])
            self._users[int(number)] -= 1
            if self._users[int(number)] == 0:
                del self._users[int(number)], self._points[int(number)]

    # Threads

    def _start(self, new_state: NewState, code: str, cores: float | None) -> int:
        """Runs Lua source in a thread of its own; returns the thread's number. The thread computes on as many
        cores as PyTorch does in the calling one, or, where it is not loaded, on ``cores`` (None: on all).

        Python waits for these threads before it shuts down: none may still be in Lua or PyTorch then.
        """
        if is_loaded():
            import torch

            cores = torch.get_num_threads()
        number = next(self._numbers)
        thread = threading.Thread(
            target=self._work,
            args=(new_state, code, cores),
            name="threads of Lua",
            daemon=False,
        )
        with self._lock:
            self._threads[number] = thread
            before = threading.stack_size(_STACK_BYTES)
            try:
                thread.start()
            finally:
                threading.stack_size(before)
        return number

    def _work(self, new_state: NewState, code: str, cores: float | None) -> None:
        try:
            self._ending.check()
            state = new_state()
            try:
                if cores is not None:
                    state.run_string(f"torch.setnumthreads({int(cores)})", "=thread")
                if state.run_string(code, "=thread") == 0 and not state.exited:
                    state.finish()
            finally:
                self._ways.append(state.ways_taken())
        except LuaError as error:
            print(f"FATAL THREAD PANIC: {error}", file=sys.stderr)
        except Stopped:
            pass
        except (
            BaseException
        ) as error:  # no state could be made: who waits for the thread must not wait for ever
            self._ending.end(RuntimeError(f"threads: a thread ended: {type(error).__name__}: {error}"))

    def ways_of_ended(self) -> str:
        """Returns what threads have said of their ways since the last call."""
        ended, self._ways = self._ways, []
        return "".join(ended)

    def _join(self, number: float) -> None:
        with self._lock:
            thread = self._threads.pop(int(number), None)
        if thread is not None:
            thread.join()

    def _alive(self) -> int:
        with self._lock:
            return sum(thread.is_alive() for thread in self._threads.values())


def end_process(exit_code: int) -> None:
    """Ends the process at once, whatever its threads do; what was printed or written to files comes out."""

    def flush() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.CDLL(None).fflush(None)

    # In a thread: a stream that another one has locked (it waits for input, say) must not keep us here.
    flushing = threading.Thread(target=flush, daemon=True)
    flushing.start()
    flushing.join(_FLUSH_SECONDS)
    os._exit(exit_code & 255)

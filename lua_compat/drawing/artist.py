"""The process that draws, as a script's process sees it."""

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from lua_compat.kernels.packages.extras import check_extra
from lua_compat.kernels.strings import from_lua

if TYPE_CHECKING:
    from lua_compat.drawing.connection import Connection

_LONGEST_PATH = 4096
_DIED = "gnuplot: the process that draws figures has ended; the next figure starts another"

# Raises ValueError, saying how to install it, without matplotlib.
_check = partial(check_extra, "matplotlib", "gnuplot", "matplotlib")


class Artist:
    """Has a separate process draw the figures of a script and all its threads.

    The process starts with the first figure, and runs until all is drawn, even after the script's end. Ctrl-C
    does not reach it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._files: set[str] = set()  # that may still have to be drawn
        self._known: set[int] = set()  # figures whose content the process has
        self._connection: Connection | None = None
        self._finish: Callable[[], object] = lambda: None

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Returns the functions that Lua calls."""
        return {
            "check_figures": _check,
            "figure_number": lambda: next(self._numbers),
            "figure_draw": self._draw,
            "figure_forget": self._forget,
            "figures_settle": self._settle,
        }

    def close(self) -> None:
        """Waits until all is drawn; Ctrl-C ends the waiting, not the drawing."""
        self._finish()

    def _draw(
        self, number: int, path: str, kind: str, width: float, height: float, settings: str, *content: str
    ) -> bool:
        """Has a figure drawn into a file; returns False if its content is needed, too.

        ``settings`` are JSON; ``content``, where it is new, is JSON and the bytes of its arrays. Raises
        ValueError without matplotlib.
        """
        _check()
        file = os.path.realpath(from_lua(path))
        message = {"do": "draw", "figure": number, "path": file, "kind": kind, "size": (width, height)}
        with self._lock:
            if not content and number not in self._known:
                return False
            self._files.add(file)
            self._send(message, [part.encode("latin-1") for part in (settings, *content)])
            self._known.add(number)
        return True

    def _forget(self, number: int) -> None:
        """Notes that a figure will be drawn no more."""
        with self._lock:
            if number in self._known:
                self._known.remove(number)
                self._send({"do": "forget", "figure": number})

    def settle_named(self, values: Iterable[object]) -> None:
        """Waits until the files that are among ``values`` are what they were last asked to be."""
        if self._files:
            named = [v for v in values if isinstance(v, str) and 0 < len(v) < _LONGEST_PATH and "\0" not in v]
            self._wait_for({os.path.realpath(from_lua(path)) for path in named})

    def settle_all(self) -> None:
        """Waits until every file is what it was last asked to be."""
        if self._files:
            self._wait_for(self._files)

    def _settle(self, path: str = "") -> None:
        if path:
            self.settle_named([path])
        else:
            self.settle_all()

    def _wait_for(self, named: set[str]) -> None:
        with self._lock:
            files = self._files & named
            if not files:
                return
            number = next(self._numbers)
            self._send({"do": "settle", "paths": sorted(files), "number": number})
            assert self._connection is not None
            if not self._connection.wait_for_answer(number):
                self._abandon()
                raise RuntimeError(_DIED)
            self._files -= files

    def _send(self, message: dict[str, Any], parts: Sequence[bytes] = ()) -> None:
        if self._connection is None:
            from lua_compat.drawing.connection import Connection

            self._connection = Connection()
            # also where nobody calls close: at the end of Python
            self._finish = weakref.finalize(self, self._connection.finish)
        try:
            self._connection.send(message, parts)
        except OSError:
            self._abandon()
            raise RuntimeError(_DIED) from None
        except BaseException:  # Ctrl-C in the middle of a message
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Leaves the process to itself: it draws what it has been told. The next figure starts another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._files.clear()
        self._known.clear()

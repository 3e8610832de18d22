"""The crew of one script: everything that its Lua states share."""

from __future__ import annotations

import threading

from lupa import luajit21

from lua_compat.runtime.compiled_files import CompiledFiles

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from collections.abc import Iterable

    from lua_compat.drawing.artist import Artist
    from lua_compat.runtime.threads import Threads


class Crew:
    """The threads of one script, their compiled files, and what draws their figures.

    ``owns_process``: the process is the script's, and may be ended without waiting for its threads. Otherwise
    whoever runs the script waits until the last of them has noticed the end: a thread cannot be ended from
    outside. ``alike``: see ``CompiledFiles``.
    """

    def __init__(self, *, owns_process: bool = False, alike: bool = False) -> None:
        self.owns_process = owns_process
        self.compiled = CompiledFiles(luajit21.__file__, alike)
        # Most scripts use neither; each is made, and its modules are loaded, when it is first used.
        self._lock = threading.Lock()
        self._artist: Artist | None = None
        self._threads: Threads | None = None

    @property
    def artist(self) -> Artist:
        """Returns what draws the figures of all states."""
        with self._lock:
            if self._artist is None:
                from lua_compat.drawing.artist import Artist

                self._artist = Artist()
            return self._artist

    @property
    def threads(self) -> Threads:
        """Returns the threads that the script has started, and what they share."""
        with self._lock:
            if self._threads is None:
                from lua_compat.runtime.threads import Threads

                self._threads = Threads(self.owns_process, self.finish_figures)
            return self._threads

    def settle_named(self, values: Iterable[object]) -> None:
        """Waits for the figures in those files that are among ``values``."""
        if self._artist is not None:
            self._artist.settle_named(values)

    def settle_all(self) -> None:
        """Waits for the figures in all files."""
        if self._artist is not None:
            self._artist.settle_all()

    def finish_figures(self) -> None:
        """Waits until all is drawn."""
        if self._artist is not None:
            self._artist.close()

    def ways_of_ended_threads(self) -> str:
        """Returns what threads have said of their ways since the last call (lua/torch/core/ways.lua)."""
        return "" if self._threads is None else self._threads.ways_of_ended()

    def leave(self, exit_code: int) -> None:
        """Ends the threads that still run: with the process, where it is the script's own."""
        if self.owns_process:
            self.compiled.write()
        if self._threads is not None:
            self._threads.leave(exit_code)
        self.finish_figures()

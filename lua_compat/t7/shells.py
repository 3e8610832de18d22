"""Making something new of each part of a tree of objects, once, however deep it is nested."""

from collections.abc import Callable
from typing import Any


class Shells:
    """Holds what is made of each part.

    ``new`` makes a shell, which is filled when its turn comes: nesting costs memory, never the call stack,
    and a part may contain itself.
    """

    def __init__(self, new: Callable[[Any], Any]) -> None:
        self._new = new
        self._made: dict[int, Any] = {}
        self._unfilled: list[Callable[[], None]] = []

    def of(self, part: Any) -> Any:
        """Returns what is made of ``part``, which must live as long as this."""
        if id(part) not in self._made:
            self._made[id(part)] = self._new(part)
        return self._made[id(part)]

    def later(self, fill: Callable[[], None]) -> None:
        """Has ``fill`` called by :meth:`fill_all`."""
        self._unfilled.append(fill)

    def fill_all(self) -> None:
        """Fills all shells, those that come up on the way, too."""
        while self._unfilled:
            self._unfilled.pop()()

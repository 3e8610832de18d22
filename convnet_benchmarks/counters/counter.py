"""A counter: a number that grows while the machine works, where the machine tells it."""

from typing import Protocol


class UnreadableError(Exception):
    """The machine does not tell this number. The message says which and why."""


class Counter(Protocol):
    """Counts from when it is made; one that cannot raises UnreadableError there."""

    def read(self) -> float:
        """Returns what has been counted so far."""

    def close(self) -> None:
        """Stops counting."""

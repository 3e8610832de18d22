"""Fields of a record that was read from a file, each checked as it is taken."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

# Whole numbers up to here are exact in a double, and so in whatever is computed from them.
_LARGEST_WHOLE = 2**53
_LONGEST_SHOWN = 40


class FieldError(ValueError):
    """A field is missing or holds what it cannot. The message names it and says what would be accepted."""


class Fields:
    """An object of a record. ``place``: where in the record it is, '' for the record itself."""

    def __init__(self, content: Any, place: str = "") -> None:
        if not isinstance(content, Mapping):
            where = f"field '{place}'" if place else "the record"
            raise FieldError(f"{where} is {shown(content)}; accepted: an object")
        self._content = content
        self._place = place

    def __contains__(self, name: str) -> bool:
        return name in self._content

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def inner(self, name: str) -> "Fields":
        """Returns the object in the field ``name``."""
        return Fields(self._taken(name, "an object"), self._path(name))

    def each(self, name: str) -> "list[Fields]":
        """Returns the objects in the list in the field ``name``."""
        items = self._checked(name, "a list of objects", lambda v: isinstance(v, (list, tuple)))
        return [Fields(item, f"{self._path(name)}[{number}]") for number, item in enumerate(items)]

    def has_objects(self, name: str) -> bool:
        """Returns whether the field is a list that begins with an object."""
        found = self._content.get(name)
        return isinstance(found, (list, tuple)) and bool(found) and isinstance(found[0], Mapping)

    def text(self, name: str, *accepted: str) -> str:
        """Returns a text; one of ``accepted`` where there are any."""
        wanted = ", ".join(accepted) or "a text"
        return str(
            self._checked(name, wanted, lambda v: isinstance(v, str) and (not accepted or v in accepted))
        )

    def flag(self, name: str) -> bool:
        return bool(self._checked(name, "true or false", lambda v: isinstance(v, bool)))

    def whole(self, name: str, least: int = 1) -> int:
        return int(self._checked(name, f"a whole number from {least} to 2**53", lambda v: is_whole(v, least)))

    def seed(self, name: str) -> int:
        """Returns a whole number of any size."""
        return int(self._checked(name, "a whole number", lambda v: is_whole(v, -math.inf, math.inf)))

    def wholes(self, name: str) -> tuple[int, ...]:
        """Returns whole numbers from 1 up, at least one."""

        def are_wholes(value: Any) -> bool:
            return isinstance(value, Sequence) and len(value) > 0 and all(map(is_whole, value))

        return tuple(self._checked(name, "a list of whole numbers from 1 to 2**53", are_wholes))

    def number(self, name: str) -> float:
        """Returns a finite number from 0 up."""
        return float(self._checked(name, "a finite number from 0 up", lambda v: is_finite(v) and v >= 0))

    def positive(self, name: str) -> float:
        """Returns a finite number above 0."""
        return float(self._checked(name, "a finite number above 0", lambda v: is_finite(v) and v > 0))

    def is_null(self, name: str, accepted: str) -> bool:
        """Returns whether the field, which must be there, is null. ``accepted``: what it else may be, in
        words.
        """
        return self._taken(name, f"null or {accepted}") is None

    def _checked(self, name: str, accepted: str, is_accepted: Callable[[Any], bool]) -> Any:
        value = self._taken(name, accepted)
        if not is_accepted(value):
            raise FieldError(f"field '{self._path(name)}' is {shown(value)}; accepted: {accepted}")
        return value

    def _taken(self, name: str, accepted: str) -> Any:
        if name not in self._content:
            raise FieldError(f"field '{self._path(name)}' is missing; accepted: {accepted}")
        return self._content[name]

    def _path(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name


def is_finite(value: Any) -> bool:
    """Returns whether it is a number that a double can hold."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest double
        return False


def is_whole(value: Any, least: float = 1, most: float = _LARGEST_WHOLE) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def shown(value: Any) -> str:
    """Returns a value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."

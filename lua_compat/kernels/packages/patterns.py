"""Perl's regular expressions for the Lua package rex_pcre, by Python's re."""

import functools
import re

__all__ = ["pattern_check", "pattern_find"]

# POSIX's character classes, which Python lacks, as used within brackets (ASCII).
_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\s", "upper": "A-Z",
    "word": r"\w", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "x": re.X}


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str, flags: str) -> re.Pattern[str]:
    python = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), pattern)
    set_flags = re.A
    for letter in flags:
        set_flags |= _FLAGS.get(letter, re.A)
    try:
        return re.compile(python, set_flags)
    except re.error as error:
        raise ValueError(f"{error} (pattern {pattern})") from None


def pattern_check(pattern: str, flags: str) -> int:
    """Returns how many groups a pattern has. Raises ValueError for an invalid one."""
    return _compiled(pattern, flags).groups


def pattern_find(text: str, pattern: str, flags: str, start: float) -> tuple[int, ...] | None:
    """Returns the positions (from 1, both included) of the first match from ``start`` on, then those of its
    groups, 0 and -1 for a group that did not participate; None: no match."""
    found = _compiled(pattern, flags).search(text, int(start) - 1)
    if found is None:
        return None
    places: list[int] = []
    for group in range(found.re.groups + 1):
        first, end = found.span(group)
        places += [first + 1, end]
    return tuple(places)

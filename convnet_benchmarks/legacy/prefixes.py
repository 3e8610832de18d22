"""Takes away what another program wrote before each line of a log: a time, a host, a rank."""

import itertools
import re
from collections.abc import Callable, Sequence

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")  # also a date, a time
_NUMBERS_AND_SPACES = re.compile(r"(\s*\d+\s*|\s+)")


def without_prefixes(text: str, begins: Callable[[str], int | None]) -> str:
    """Returns the text of a log without the prefix of its lines, which is the same but for its numbers.

    ``begins`` returns where in a line a benchmark's own begins, None for other lines. If one begins at 0,
    there is no prefix. Raises ValueError for different prefixes, and for those of several processes.
    """
    lines = text.splitlines(keepends=True)
    prefixes = [line[:begin] for line in lines if (begin := begins(line)) is not None]
    if not prefixes or not all(prefixes):
        return text
    shapes = {_shape(prefix): prefix for prefix in reversed(prefixes)}
    if len(shapes) > 1:
        *_, second, first = shapes.values()
        raise ValueError(
            f"its lines begin with different texts ('{first}', '{second}'); "
            "accepted: the same before every line, apart from numbers"
        )
    _check_one_writer(prefixes)
    (shape,) = shapes
    prefix = re.compile(shape)
    return "".join(line[match.end() :] if (match := prefix.match(line)) else line for line in lines)


def _shape(prefix: str) -> str:
    """Returns the pattern of a prefix with any numbers, padded or not."""
    stem = prefix.rstrip()
    parts = _NUMBERS_AND_SPACES.split(stem)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            parts[place] = re.escape(part)
        else:
            parts[place] = r"\s*\d+\s*" if part.strip() else r"\s+"
    return "".join(parts) + re.escape(prefix[len(stem) :])


def _check_one_writer(prefixes: Sequence[str]) -> None:
    """Raises ValueError if a number comes back after another one: of a rank, not of a time."""
    for column in zip(*map(_NUMBER.findall, prefixes), strict=False):
        values = [value for value, _ in itertools.groupby(column)]
        if len(values) > len(set(values)):
            first, second = (prefixes[column.index(value)] for value in values[:2])
            raise ValueError(
                f"its lines begin with '{first}' and '{second}' in turns, as those of several processes do; "
                "accepted: the lines of one"
            )

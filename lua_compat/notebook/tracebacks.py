"""Lua's tracebacks with the lines of the cells that they name."""

import re
from collections.abc import Iterator, Mapping

_PLACE = re.compile(r"In \[(\d+)\]:(\d+):")
_LINES_AROUND = 2
_RED, _GREEN, _PLAIN = "\033[31m", "\033[32m", "\033[0m"


def with_source(trace: str, cells: Mapping[int, str]) -> list[str]:
    """Returns the lines of an error's text and traceback, and after those that name a cell's line that line
    with its neighbours. ``cells``: the source of each cell by its number."""
    message, heading, frames = trace.partition("\nstack traceback:\n")
    shown: set[tuple[int, int]] = set()
    lines = [f"{_RED}{line}{_PLAIN}" for line in message.split("\n")]
    lines += _sources(message.split("\n")[0], cells, shown)
    if heading:
        lines.append("stack traceback:")
        for frame in frames.split("\n"):
            lines.append(frame.replace("\t", "    "))
            lines += _sources(frame, cells, shown)
    return lines


def _sources(text: str, cells: Mapping[int, str], shown: set[tuple[int, int]]) -> Iterator[str]:
    """Yields the lines around the first place that a text names, unless they have been shown."""
    found = _PLACE.search(text)
    if found is None or int(found[1]) not in cells:
        return
    cell, line = int(found[1]), int(found[2])
    source = cells[cell].split("\n")
    if (cell, line) in shown or not 0 < line <= len(source):
        return
    shown.add((cell, line))
    for number in range(max(1, line - _LINES_AROUND), min(len(source), line + _LINES_AROUND) + 1):
        if number == line:
            yield f"{_GREEN}----> {number:<3} {source[number - 1]}{_PLAIN}"
        else:
            yield f"      {number:<3} {source[number - 1]}"

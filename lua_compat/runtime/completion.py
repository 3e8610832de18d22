"""Completing what is typed: names that Lua knows and, inside quotes, files."""

import os
import re
from collections.abc import Callable

_WORD = re.compile(r"[A-Za-z_][\w.:]*$")
_OPEN_STRING = re.compile(r"""(?:^|[^\w])(["'])((?:(?!\1).)*)$""")


def completions(names_for: Callable[[str], list[str]], before: str) -> tuple[int, list[str]]:
    """Returns where the word at the end of ``before`` begins, and what it may become.

    ``names_for`` gives the names that Lua has for the beginning of one.
    """
    line = before.rpartition("\n")[2]
    quoted = _OPEN_STRING.search(line)
    if quoted:
        return len(before) - len(quoted[2]), _files(quoted[2])
    found = _WORD.search(line)
    word = found[0] if found else ""
    return len(before) - len(word), names_for(word)


def _files(start: str) -> list[str]:
    """Returns the paths that begin like ``start``; folders end with a slash."""
    folder, slash, beginning = start.rpartition("/")
    try:
        entries = sorted(os.scandir(os.path.expanduser(folder + slash) or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        folder + slash + entry.name + ("/" if entry.is_dir() else "")
        for entry in entries
        if entry.name.startswith(beginning) and (beginning or not entry.name.startswith("."))
    ]

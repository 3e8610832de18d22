"""Paths in a tree of Lua objects, such as ``net.modules[3].weight``."""

import difflib
import re
from typing import Any

from lua_compat.t7.objects import LuaFunction, LuaTable, TorchObject

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_KEY = 60
# .name or .3, [3], ["any text"] or ['any text'], [true]
_STEP = re.compile(r"""\.?(?:([^.\[\]]+)|\[(?:"([^"]*)"|'([^']*)'|([^\]"']+))\])""")


def step(key: Any) -> str:
    """Returns the path step to ``key``: .name, [3], ["any text"], [true]."""
    if isinstance(key, str) and len(key) <= _LONGEST_KEY and _NAME.fullmatch(key):
        return f".{key}"
    if isinstance(key, bool):
        return f"[{'true' if key else 'false'}]"
    if isinstance(key, int | float):
        return f"[{key!r}]"
    if isinstance(key, str | bytes):
        shown = key if len(key) <= _LONGEST_KEY else key[:_LONGEST_KEY]
        text = shown if isinstance(shown, str) else shown.decode("latin-1")
        quoted = text.encode("unicode_escape").decode().replace('"', '\\"')
        return f'["{quoted}{"..." if len(key) > _LONGEST_KEY else ""}"]'
    return f"[{key!r}]"


def lookup(value: Any, path: str) -> Any:
    """Returns what is at ``path`` in ``value``: 'net.modules.3' and 'root.net["modules"][3]' are the same.

    Raises KeyError whose only argument is a message: how far the path leads and what is there.
    """
    so_far = "root"
    for key, written in _steps(path):
        table = value.fields if isinstance(value, TorchObject) else value
        table = table.upvalues if isinstance(table, LuaFunction) else table
        if isinstance(table, list):
            table = LuaTable.from_list(table)
        if not isinstance(table, LuaTable):
            raise KeyError(f"{so_far} is a {_kind(value)} and has nothing in it, no '{written}'")
        found = [candidate for candidate in key if candidate in table]
        if not found:
            raise KeyError(f"{so_far} ({_kind(value)}) has no '{written}'; {_accepted(table, written)}")
        value = table[found[0]]
        so_far += step(found[0])
    return value


def _steps(path: str) -> list[tuple[list[Any], str]]:
    """For each step the keys it may mean, and how it was written."""
    steps: list[tuple[list[Any], str]] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise KeyError(f"'{path}' is not a path like net.modules[3].weight: see '{path[position:]}'")
        position = match.end()
        bare, double, single, inner = match.groups()
        quoted = double if double is not None else single
        word = quoted if quoted is not None else bare if bare is not None else inner
        steps.append(([word] if quoted is not None else _meanings(word, bare is None), word))
    if steps and steps[0][1] == "root":
        del steps[0]
    return steps


def _meanings(word: str, in_brackets: bool) -> list[Any]:
    numbers: list[Any] = []
    try:
        numbers = [float(word)]
    except ValueError:
        if word in ("true", "false"):
            numbers = [word == "true"]
    return [*numbers, word] if in_brackets or numbers else [word, *numbers]


def _kind(value: Any) -> str:
    if isinstance(value, TorchObject):
        return value.typename
    return "table" if isinstance(value, LuaTable) else type(value).__name__


def _accepted(table: LuaTable, word: str) -> str:
    names = [key for key in table if isinstance(key, str)]
    close = difflib.get_close_matches(word, names[:1000], 1)
    if close:
        return f"did you mean '{close[0]}'?"
    keys = list(table)
    shown = ", ".join(step(key).lstrip(".") for key in keys[:12])
    return f"it has {shown or 'nothing'}{', ...' if len(keys) > 12 else ''}"

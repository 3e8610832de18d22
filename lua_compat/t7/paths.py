"""Places in a tree of Lua objects, written ``net.modules[3].weight``."""

import re
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_KEY = 60


def step(key: Any) -> str:
    """The path step to ``key``: .name, [3], ["any text"], [true]."""
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

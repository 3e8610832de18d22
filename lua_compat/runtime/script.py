"""A script and its arguments, as Python code names them."""

import os
from collections.abc import Sequence


def checked_script(path: str | os.PathLike[str], args: Sequence[str]) -> str:
    """Returns the path. Raises FileNotFoundError if no file is there, TypeError if ``args`` are not texts."""
    script = os.fspath(path)
    if not os.path.isfile(script):
        raise FileNotFoundError(f"no Lua script {script!r}")
    if isinstance(args, str) or not all(isinstance(word, str) for word in args):
        raise TypeError(f"args is {args!r}; accepted: a list of texts, such as ['-seed', '1']")
    return script

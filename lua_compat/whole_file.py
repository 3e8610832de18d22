"""Files that appear complete or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced_when_whole(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives a path beside ``target`` to write to; it gets the name of ``target`` if nothing was raised.

    A link is followed. A target that is no ordinary file (a device, a pipe) is given as it is.
    """
    path = Path(target)
    if path.exists() and not path.is_file():
        yield path
        return
    real = Path(os.path.realpath(path))
    temporary = real.with_name(f".{real.name[:100]}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        os.replace(temporary, real)
    finally:
        temporary.unlink(missing_ok=True)

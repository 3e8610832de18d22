"""The user's cache folder. Everything in it is optional and may be deleted at any time.

Libraries in it are loaded and times in it trusted. So neither the folder nor a file in it is used if somebody
else could have written it. ``th`` reads from it at its start, so modules that take milliseconds to load are
imported where they are needed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import stat
import sys
from functools import cache

TYPE_CHECKING = False  # typing is not loaded before a script of th starts
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_NAME = "convnet-benchmarks"
_USERS_ARE_APART = not hasattr(os, "getuid")  # on Windows, where users' folders are private


def user_cache() -> Path:
    """Returns ``cache_folder`` as a path."""
    from pathlib import Path

    return Path(cache_folder())


def cache_folder() -> str:
    """Returns ``$XDG_CACHE_HOME/convnet-benchmarks``, by default below the system's cache folder of the user:
    ``~/.cache``, on a Mac ``~/Library/Caches``. It may not exist yet.

    If anyone other than the user and root may write to that folder or one above it, returns a private folder
    below the one for temporary files.
    """
    usual = _usual()
    return usual if os.path.isabs(usual) and _only_ours(usual) else _private()


def _usual() -> str:
    if sys.platform == "linux":
        folder = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return os.path.join(folder, _NAME)
    import platformdirs

    return platformdirs.user_cache_dir(_NAME, appauthor=False)


def open_own(path: str | Path, most: int) -> BinaryIO | None:
    """Opens a file that belongs to the user or root and that nobody else may write to.

    Returns None for one that is missing, somebody else's, larger than ``most`` bytes or not a regular file.
    """
    # does not wait for a pipe
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = open(os.open(path, flags), "rb")  # noqa: SIM115  (the caller closes it)
    except OSError:
        return None
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and _is_ours(found) and found.st_size <= most:
        return file
    file.close()
    return None


def read_own(path: str | Path, most: int) -> bytes | None:
    """Returns the content of a file that ``open_own`` opens."""
    file = open_own(path, most)
    if file is None:
        return None
    with contextlib.suppress(OSError), file:
        content = file.read(most + 1)
        return content if len(content) <= most else None
    return None


def make_folder(path: str | Path) -> None:
    """Makes a folder and its parents, readable and writable only by the user. Raises OSError."""
    if not os.path.isdir(path):
        make_folder(os.path.dirname(path) or os.curdir)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def replace_whole(path: str | Path, content: bytes) -> None:
    """Replaces ``path`` atomically; makes its folder if needed."""
    make_folder(os.path.dirname(path) or os.curdir)
    name = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(name, flags, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _private() -> str:
    """Returns a folder that is certainly ours: the same one each time, unless its name is taken."""
    import tempfile

    lasting = os.path.join(tempfile.gettempdir(), f"{_NAME}-{os.getuid()}")
    with contextlib.suppress(OSError):
        make_folder(lasting)
        found = os.lstat(lasting)
        alone = not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if ours and alone and _keeps(os.path.dirname(lasting)):
            return lasting
    return _of_this_process(os.getpid())


@cache
def _of_this_process(process: int) -> str:
    """Returns a new folder, removed when ``process``, this one, ends; a fork makes its own."""
    import shutil
    import tempfile

    made = tempfile.mkdtemp(prefix=_NAME)

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(remove)
    return made


def _only_ours(folder: str) -> bool:
    """Returns whether nobody else can write to ``folder``, or replace it or one above it."""
    if _USERS_ARE_APART:
        return True
    above = {os.path.abspath(folder), os.path.realpath(folder)}
    return all(_keeps(place) for each in above for place in _with_those_above(each))


def _with_those_above(folder: str) -> Iterator[str]:
    while True:
        yield folder
        if folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)


def _keeps(place: str) -> bool:
    """Returns whether others can neither replace nor add files in a folder; True if it does not exist."""
    try:
        found = os.stat(place)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if found.st_mode & stat.S_ISVTX and found.st_uid in (0, os.getuid()):
        return True  # like /tmp: existing files belong to their owners
    return _is_ours(found)


def _is_ours(found: os.stat_result) -> bool:
    if _USERS_ARE_APART:
        return True
    if found.st_uid not in (0, os.getuid()) or found.st_mode & stat.S_IWOTH:
        return False
    return not found.st_mode & stat.S_IWGRP or _has_no_others(found.st_gid)


def _has_no_others(group: int) -> bool:
    """Returns whether a group has no members besides the user or root; many systems make one for each
    user."""
    import grp
    import pwd

    with contextlib.suppress(KeyError):
        user, told = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
        own = group == 0 or (group == user.pw_gid and told.gr_name == user.pw_name)
        return own and set(told.gr_mem) <= {user.pw_name, "root"}
    return False

"""The user's cache folder. Everything in it is optional and may be deleted at any time.

Libraries in it are loaded and times in it trusted. So neither the folder nor a file in it is used if somebody
else could have written it. ``th`` reads from it at its start, so modules that take milliseconds to load are
imported where they are needed.
"""

import atexit
import contextlib
import os
import stat
import sys
from functools import cache
from pathlib import Path

try:
    import grp
    import pwd
except ImportError:  # not on Windows, where users' folders are private
    grp = pwd = None  # type: ignore[assignment]

_NAME = "convnet-benchmarks"


def user_cache() -> Path:
    """Returns ``$XDG_CACHE_HOME/convnet-benchmarks``, by default below the system's cache folder of the user:
    ``~/.cache``, on a Mac ``~/Library/Caches``. It may not exist yet.

    If anyone other than the user and root may write to that folder or one above it, returns a private folder
    below the one for temporary files.
    """
    usual = _usual()
    return usual if _only_ours(usual) else _private()


def _usual() -> Path:
    if sys.platform == "linux":
        return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / _NAME
    import platformdirs

    return platformdirs.user_cache_path(_NAME, appauthor=False)


def read_own(path: Path, most: int) -> bytes | None:
    """Returns the content of a file that belongs to the user or root and that nobody else may write to.

    None for a file that is missing, somebody else's, larger than ``most`` bytes or not a regular file.
    """
    # does not wait for a pipe
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _is_ours(found) or found.st_size > most:
                return None
            content = file.read(most + 1)
    except OSError:
        return None
    return content if len(content) <= most else None


def make_folder(path: Path) -> None:
    """Makes a folder and its parents, readable and writable only by the user. Raises OSError."""
    if not path.is_dir():
        make_folder(path.parent)
        with contextlib.suppress(FileExistsError):
            path.mkdir(0o700)


def replace_whole(path: Path, content: bytes) -> None:
    """Replaces ``path`` atomically; makes its folder if needed."""
    import tempfile

    make_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _private() -> Path:
    """Returns a folder that is certainly ours: the same one each time, unless its name is taken."""
    import tempfile

    lasting = Path(tempfile.gettempdir()) / f"{_NAME}-{os.getuid()}"
    with contextlib.suppress(OSError):
        make_folder(lasting)
        found = lasting.lstat()
        alone = not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and alone and _keeps(lasting.parent):
            return lasting
    return _of_this_process(os.getpid())


@cache
def _of_this_process(process: int) -> Path:
    """Returns a new folder, removed when ``process``, this one, ends; a fork makes its own."""
    import shutil
    import tempfile

    made = Path(tempfile.mkdtemp(prefix=_NAME))

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(remove)
    return made


def _only_ours(folder: Path) -> bool:
    """Returns whether nobody else can write to ``folder``, or replace it or one above it."""
    if pwd is None:
        return True
    above = {Path(os.path.abspath(folder)), Path(os.path.realpath(folder))}
    return all(_keeps(place) for each in above for place in (each, *each.parents))


def _keeps(place: Path) -> bool:
    """Returns whether others can neither replace nor add files in a folder; True if it does not exist."""
    try:
        found = place.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if found.st_mode & stat.S_ISVTX and found.st_uid in (0, os.getuid()):
        return True  # like /tmp: existing files belong to their owners
    return _is_ours(found)


def _is_ours(found: os.stat_result) -> bool:
    if pwd is None:
        return True
    if found.st_uid not in (0, os.getuid()) or found.st_mode & stat.S_IWOTH:
        return False
    return not found.st_mode & stat.S_IWGRP or _has_no_others(found.st_gid)


def _has_no_others(group: int) -> bool:
    """Returns whether a group has no members besides the user or root; many systems make one for each
    user."""
    with contextlib.suppress(KeyError):
        user, told = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
        own = group == 0 or (group == user.pw_gid and told.gr_name == user.pw_name)
        return own and set(told.gr_mem) <= {user.pw_name, "root"}
    return False

"""Files that appear complete or not at all: what was there stays until then."""

import contextlib
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def replaceable(target: str | os.PathLike[str]) -> str | None:
    """Returns the path of the file that another may take the place of; None: write to ``target`` itself.

    A link is followed. Written to itself is what is no ordinary file (a device, a pipe) or a standard stream
    of this process, by whatever name.
    """
    real = os.path.realpath(target)
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return real
    if not stat.S_ISREG(found.st_mode) or _through_descriptor(target, found):
        return None
    return real


def replaceable_unseen(target: str | os.PathLike[str]) -> str | None:
    """Returns ``replaceable``, but None, too, where that would be seen afterwards, or cannot be done.

    So it is with a file that has another name (hard link) or owner, or that may not be written, and with a
    folder that takes no files.
    """
    real = replaceable(target)
    if real is None or not os.access(os.path.dirname(real), os.W_OK | os.X_OK):
        return None
    try:
        found = os.stat(real)
    except OSError:
        return real
    alone = found.st_nlink == 1 and found.st_uid == os.geteuid()
    return real if alone and os.access(real, os.W_OK) else None


def _through_descriptor(target: str | os.PathLike[str], found: os.stat_result) -> bool:
    for number in range(3):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(number), found):
                return True
    return os.path.abspath(target).startswith(("/dev/fd/", "/proc/"))


class Unfinished:
    """A file to be written at ``path``, which then takes the place of another.

    Where the system can, it has no name until then: nothing is left of it when the process is killed.
    """

    def __init__(self, real: str, *, nameless: bool = True) -> None:
        self._real = real
        folder, name = os.path.split(real)
        self._beside = os.path.join(folder, f".{name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.part")
        self._nameless = nameless
        if nameless:
            try:
                self.descriptor = os.open(folder, os.O_RDWR | os.O_TMPFILE, 0o666)
                self.path = f"/proc/self/fd/{self.descriptor}"
                return
            except (OSError, AttributeError):  # not every system, and not every kind of disk
                self._nameless = False
        self.descriptor = os.open(self._beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        self.path = self._beside

    def keep(self) -> None:
        """Puts the file in its place; it gets the permissions of what was there. Raises OSError."""
        try:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(self.path, stat.S_IMODE(os.stat(self._real).st_mode))
            if self._nameless:
                # with a folder, even if it is none, as only then the link is followed
                os.link(self.path, self._beside, src_dir_fd=self.descriptor)
                self._nameless = False
            os.replace(self._beside, self._real)
        finally:
            self.discard()

    def discard(self) -> None:
        """Removes the file, unless it has been put in its place."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if not self._nameless:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._beside)


@contextmanager
def replaced_when_whole(target: str | os.PathLike[str]) -> "Iterator[Path]":
    """Gives a path next to ``target`` to write to; it gets the name of ``target`` if nothing was raised.

    ``target`` itself is given where ``replaceable`` says so.
    """
    from pathlib import Path  # which th does not load at its start

    real = replaceable(target)
    if real is None:
        yield Path(target)
        return
    unfinished = Unfinished(real, nameless=False)  # libraries may replace what is there
    try:
        yield Path(unfinished.path)
        unfinished.keep()
    finally:
        unfinished.discard()


def write_when_whole(target: str | os.PathLike[str], write: Callable[[io.BytesIO], object]) -> None:
    """Makes ``write`` write to memory, and then the file, which appears only when complete. Raises OSError.

    For PyTorch's writers: where a disk is full, they raise other errors, or end the process.
    """
    whole = io.BytesIO()
    write(whole)
    with replaced_when_whole(target) as path:
        path.write_bytes(whole.getbuffer())


class Saves:
    """The files that a Lua script is saving, by the path that each is written to."""

    def __init__(self) -> None:
        self._unfinished: dict[str, Unfinished] = {}

    def begin(self, target: str) -> str | None:
        """Returns where to write what is to take the place of ``target``; None: to ``target`` itself."""
        real = replaceable_unseen(target)
        if real is None:
            return None
        unfinished = Unfinished(real)
        self._unfinished[unfinished.path] = unfinished
        return unfinished.path

    def end(self, path: str, whole: bool) -> None:
        """Puts a file in its place, or removes it where it is not whole. Raises OSError."""
        unfinished = self._unfinished.pop(path)
        if whole:
            unfinished.keep()
        else:
            unfinished.discard()

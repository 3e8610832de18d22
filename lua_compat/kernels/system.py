"""Clocks, terminals, files and folders: kernels without tensors, for which PyTorch is not loaded."""

import contextlib
import os
import resource
import stat
import time
from functools import cache
from importlib.util import find_spec
from itertools import takewhile

from lua_compat.kernels.strings import from_lua, to_lua

TYPE_CHECKING = False  # typing is not loaded before a script starts
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "blas_alignments", "blas_library", "change_folder", "get_num_cores", "is_terminal", "link_target",
    "list_folder", "make_folder", "make_link", "new_seed", "path_attributes", "path_kind", "process_clock",
    "real_path", "remove_folder", "set_path_times", "sleep", "system_names", "terminal_columns", "wall_clock",
    "working_folder",
]  # fmt: skip
# Those that read clocks or wait; the others reach files and folders.
SANDBOXED = [
    "blas_alignments", "blas_library", "get_num_cores", "is_terminal", "new_seed", "process_clock", "sleep",
    "terminal_columns", "wall_clock",
]  # fmt: skip


def pytorch_folders() -> list[str]:
    """Returns the folders of the package torch, without loading it."""
    found = find_spec("torch")
    return list(found.submodule_search_locations or []) if found else []


def blas_library() -> str:
    """Returns the path of the library that holds PyTorch's BLAS on Linux, or an empty string."""
    for folder in pytorch_folders():
        library = os.path.join(folder, "lib", "libtorch_cpu.so")
        if os.path.isfile(library):
            return to_lua(library)
    return ""


@cache
def _processor() -> tuple[str, frozenset[str]]:
    """Returns the vendor and the names of the features of the first processor, from Linux."""
    told = {}
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        for line in takewhile(str.strip, file):
            name, _, words = line.partition(":")
            told[name.strip()] = words
    return told.get("vendor_id", "").strip(), frozenset(told.get("flags", "").split())


def is_amd() -> bool:
    """Returns whether the processor is AMD's."""
    return _processor()[0] == "AuthenticAMD"


def blas_alignments() -> tuple[int, int]:
    """Returns the alignment in bytes that the factors, and a result of floats, need for PyTorch's BLAS to
    compute the same bits at every address.

    On Intel's processors Intel's BLAS takes factors at any address, but its threads divide a result by cache
    lines. Elsewhere it adds up in another order unless addresses are multiples of 16.
    """
    maker, abilities = _processor()
    return (1, 64) if maker == "GenuineIntel" and "avx2" in abilities else (16, 16)


def new_seed() -> int:
    """Draws 53 bits from the system's randomness."""
    return int.from_bytes(os.urandom(8), "little") >> 11


def get_num_cores() -> int:
    return os.cpu_count() or 1


def wall_clock() -> float:
    """Seconds since the epoch."""
    return time.time()


def process_clock() -> tuple[float, float, float]:
    """Seconds on a steady clock, and of this process's time in user and in system code."""
    usage = resource.getrusage(resource.RUSAGE_SELF)  # microseconds; os.times has hundredths of a second
    return time.perf_counter(), usage.ru_utime, usage.ru_stime


def system_names() -> tuple[bytes, bytes, bytes]:
    """Returns the names of the operating system, of the host and of its architecture."""
    names = os.uname()
    return names.sysname.encode(), names.nodename.encode(), names.machine.encode()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def is_terminal(descriptor: int) -> bool:
    return os.isatty(descriptor)


def terminal_columns() -> int:
    """Returns the width of the terminal; 80 where there is none."""
    import shutil

    return shutil.get_terminal_size().columns


def path_kind(path: str) -> str | None:
    """Returns 'file', 'directory', or None if there is nothing."""
    if os.path.isdir(from_lua(path)):
        return "directory"
    return "file" if os.path.exists(from_lua(path)) else None


_Attributes = tuple[
    str, str, float, float, float, float, float, float, float, float, float, float, float, float
]  # fmt: skip


def path_attributes(path: str, follow_links: bool) -> _Attributes | str:
    """Returns what is at a path: its kind as LuaFileSystem names it, the permissions as ``ls`` shows them,
    bytes, times (seconds) of the last access, modification and change, the number of links, device, inode,
    owner, group, the device that it is, blocks and their size; or an error message."""
    try:
        found = os.stat(from_lua(path), follow_symlinks=follow_links)
    except OSError as error:
        return str(error.strerror)
    kinds = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "link",
        stat.S_IFSOCK: "socket",
        stat.S_IFIFO: "named pipe",
        stat.S_IFCHR: "char device",
        stat.S_IFBLK: "block device",
    }
    return (
        kinds.get(stat.S_IFMT(found.st_mode), "other"),
        stat.filemode(found.st_mode)[1:],
        found.st_size,
        int(found.st_atime),
        int(found.st_mtime),
        int(found.st_ctime),
        found.st_nlink,
        found.st_dev,
        found.st_ino,
        found.st_uid,
        found.st_gid,
        found.st_rdev,
        found.st_blocks,
        found.st_blksize,
    )


def link_target(path: str) -> str | None:
    """Returns what a symbolic link names; None if there is none at the path."""
    return to_lua(os.readlink(from_lua(path))) if os.path.islink(from_lua(path)) else None


def _problem(action: "Callable[..., object]", *arguments: object) -> tuple[str, int] | None:
    """Returns the message and the number of the error that ``action`` ends with, or None."""
    try:
        action(*arguments)
    except OSError as error:
        return str(error.strerror), error.errno or 0
    return None


def set_path_times(path: str, accessed: float, modified: float) -> tuple[str, int] | None:
    """Sets the times (seconds) of the last access and modification; returns the error or None."""
    return _problem(os.utime, from_lua(path), (accessed, modified))


def make_link(target: str, path: str, symbolic: bool) -> tuple[str, int] | None:
    """Makes a link to ``target`` at ``path``; returns the error or None."""
    return _problem(os.symlink if symbolic else os.link, from_lua(target), from_lua(path))


def change_folder(path: str) -> tuple[str, int] | None:
    """Changes the working folder; returns the error or None."""
    return _problem(os.chdir, from_lua(path))


def real_path(path: str) -> str:
    """Returns the absolute path, without . and .. in it."""
    return to_lua(os.path.abspath(from_lua(path)))


def working_folder() -> str:
    return to_lua(os.getcwd())


def list_folder(path: str) -> str | None:
    """Lists the names in a folder, with . and .., each ended by a zero byte; None if it cannot be read."""
    try:
        return "".join(to_lua(name) + "\0" for name in [".", "..", *sorted(os.listdir(from_lua(path)))])
    except OSError:
        return None


def make_folder(path: str) -> tuple[str, int] | None:
    """Makes a folder and its parents; returns the error or None."""
    return _problem(os.makedirs, from_lua(path))


def remove_folder(path: str) -> tuple[str, int] | None:
    """Removes an empty folder; returns the error or None."""
    return _problem(os.rmdir, from_lua(path))

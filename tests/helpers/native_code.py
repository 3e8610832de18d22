"""Tries what native code in a process of the sandbox could try: ``native_code.py LAYERS FOLDER PID``.

LAYERS: ``all``, entered as the sandbox's process enters them, or one of ``landlock`` and ``seccomp`` alone.
FOLDER holds the files a to h; PID is another process. Prints a table (JSON) from each attempt to the name of
its error, or to "done".
"""

import ctypes
import errno
import json
import os
import sys
import threading
from collections.abc import Callable

from lua_compat.sandbox import landlock, seccomp, worker
from lua_compat.sandbox.layers import Layers
from lua_compat.sandbox.limits import Limits
from lua_compat.sandbox.system_calls import no_new_privileges

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, O_RDONLY, O_CREAT, SIGKILL, PTRACE_ATTACH = -100, 0, 0o100, 9, 16
AF_UNIX, AF_INET, SOCK_STREAM = 1, 2, 1
IO_URING_SETUP, PIDFD_OPEN, OPENAT2, CLONE3 = 425, 434, 437, 435  # the same on every machine


def attempts(folder: str, other: int) -> dict[str, Callable[[], int]]:
    """Returns the attempts by name; each returns what the C library's function returns, -1 for an error."""

    def path(name: str) -> bytes:
        return f"{folder}/{name}".encode()

    room = ctypes.create_string_buffer(4096)
    true = ctypes.create_string_buffer(b"/bin/true")
    words = (ctypes.c_char_p * 2)(b"true", None)

    def raw(number: int, *values: object) -> int:
        return LIBC.syscall(ctypes.c_long(number), *values)

    return {
        "open": lambda: LIBC.open(path("a"), O_RDONLY),
        "open /proc/self/mem": lambda: LIBC.open(b"/proc/self/mem", 2),
        "create": lambda: LIBC.open(path("new"), O_CREAT | 1, 0o600),
        "openat2": lambda: raw(OPENAT2, AT_FDCWD, path("a"), room, ctypes.c_long(24)),
        "rename": lambda: LIBC.rename(path("b"), path("b2")),
        "unlink": lambda: LIBC.unlink(path("c")),
        "truncate": lambda: LIBC.truncate(path("d"), ctypes.c_long(0)),
        "mkdir": lambda: LIBC.mkdir(path("folder"), 0o700),
        "symlink": lambda: LIBC.symlink(b"/etc/passwd", path("link")),
        "link": lambda: LIBC.link(path("e"), path("e2")),
        "chmod": lambda: LIBC.chmod(path("f"), 0o777),
        "access": lambda: LIBC.access(path("g"), 4),
        "stat": lambda: LIBC.statx(AT_FDCWD, path("g"), 0, ctypes.c_uint(0xFFF), room),
        "readlink": lambda: LIBC.readlink(b"/proc/self/exe", room, ctypes.c_size_t(4096)),
        "chdir": lambda: LIBC.chdir(b"/"),
        "kill": lambda: LIBC.kill(other, SIGKILL),
        "pidfd_open": lambda: raw(PIDFD_OPEN, ctypes.c_int(other), ctypes.c_int(0)),
        "ptrace": lambda: LIBC.ptrace(ctypes.c_long(PTRACE_ATTACH), ctypes.c_long(other), None, None),
        "read another's memory": lambda: LIBC.process_vm_readv(
            other, room, ctypes.c_ulong(0), room, ctypes.c_ulong(0), ctypes.c_ulong(0)
        ),
        "set limits": lambda: LIBC.setrlimit(0, ctypes.create_string_buffer(b"\xff" * 16, 16)),
        "io_uring": lambda: raw(IO_URING_SETUP, ctypes.c_uint(4), room),
        "memfd": lambda: LIBC.memfd_create(b"name", ctypes.c_uint(0)),
        "socket": lambda: LIBC.socket(AF_INET, SOCK_STREAM, 0),
        "socketpair": lambda: LIBC.socketpair(AF_UNIX, SOCK_STREAM, 0, room),
        "unshare": lambda: LIBC.unshare(0x10000000),
        "prctl": lambda: LIBC.prctl(1, ctypes.c_ulong(0)),  # would let the process outlive its parent
        "clone3": lambda: raw(CLONE3, room, ctypes.c_size_t(64)),
        "fork": LIBC.fork,
        "exec": lambda: LIBC.execv(true, words),
        "exec a file that is open": lambda: LIBC.fexecve(3, words, words),
    }


def outcomes(folder: str, other: int) -> dict[str, str]:
    """Tries everything; returns how each attempt ended."""
    found = {}
    for name, attempt in attempts(folder, other).items():
        ctypes.set_errno(0)
        result = attempt()
        if name == "fork" and result == 0:
            os._exit(0)
        found[name] = "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
    return found


def main() -> None:
    """Enters the layers, tries everything, prints the table."""
    which, folder, other = sys.argv[1], sys.argv[2], int(sys.argv[3])
    found: dict[str, str] = {}
    if which == "all":
        worker.load_numpy_without_threads()
        import torch

        torch.set_num_threads(1)
        worker.warm_up()
        layers = Layers([])
        layers.enter_before_threads()
        torch.set_num_threads(2)
        worker.start_threads()
        layers.enter(Limits(), 2)
        factor = torch.ones(2000, 2000)
        assert (factor @ factor)[1999, 1999] == 2000
        found = outcomes(folder, other)
    elif which == "landlock":
        no_new_privileges()
        landlock.enter()
        found = outcomes(folder, other)
    elif which == "seccomp":  # in a thread that was there before
        ready = threading.Event()
        early = threading.Thread(target=lambda: ready.wait() and found.update(outcomes(folder, other)))
        early.start()
        no_new_privileges()
        seccomp.enter()
        ready.set()
        early.join()
    os.write(1, json.dumps(found).encode())
    os._exit(0)


if __name__ == "__main__":
    main()

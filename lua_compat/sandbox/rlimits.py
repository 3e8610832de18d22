"""rlimits: bounds of this process's memory and processor time; it opens no more files, and none grows."""

import os
import resource

from lua_compat.sandbox.limits import Limits


class Memory:
    """How much address space this process has: opened early, because later no file can be opened."""

    def __init__(self) -> None:
        self._descriptor = os.open("/proc/self/statm", os.O_RDONLY)

    def used(self) -> int:
        """Returns the bytes of address space in use now."""
        pages = os.pread(self._descriptor, 100, 0).split()[0]
        return int(pages) * resource.getpagesize()


def enter(limits: Limits, memory: Memory) -> None:
    """Sets the bounds; a script's memory counts from what is in use now."""
    bounds = {
        resource.RLIMIT_AS: memory.used() + (int(limits.memory_mb) << 20),
        resource.RLIMIT_CPU: int(limits.seconds * (os.cpu_count() or 1)) + 5,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 0,  # what is open stays open; nothing more can be opened
    }
    for kind, bound in bounds.items():
        resource.setrlimit(kind, (bound, bound))

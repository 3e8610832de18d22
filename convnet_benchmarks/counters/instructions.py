"""Instructions that this process's threads retire, as Linux's perf events count them.

No package on PyPI counts beyond the calling thread, and PyTorch computes on others, too.
"""

import contextlib
import ctypes
import errno
import os
import platform
import struct
from pathlib import Path

from convnet_benchmarks.counters.counter import UnreadableError

# The number of perf_event_open, which libc has no function for.
_SYSTEM_CALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
# perf_event_open(2): struct perf_event_attr in its first version, the events' type and number.
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
INSTRUCTIONS = (0, 1)
PAGE_FAULTS = (1, 2)  # counted by the kernel itself, and so everywhere
_INHERITED, _WITHOUT_KERNEL, _WITHOUT_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_WITH_TIMES = 3  # a reading is the count, the time it was wanted and the time it was counted
_READING = struct.Struct("=QQQ")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


class InstructionCounter:
    """Counts an event in user mode in every thread of this process, and in those that they start.

    Raises UnreadableError with the reason where the system does not count it.
    """

    def __init__(self, event: tuple[int, int] = INSTRUCTIONS) -> None:
        if platform.system() != "Linux" or platform.machine() not in _SYSTEM_CALL:
            raise UnreadableError("instructions: counted on Linux only")
        self._files: list[int] = []
        try:
            for thread in sorted(int(name) for name in os.listdir("/proc/self/task")):
                self._open(event, thread)
        except OSError as error:
            self.close()
            raise UnreadableError(f"instructions: {_reason(error)}") from None

    def read(self) -> float:
        """Returns what has been counted so far. If counters took turns, it is scaled to the whole time."""
        total = 0.0
        for file in self._files:
            count, wanted, counted = _READING.unpack(os.read(file, _READING.size))
            total += count * wanted / counted if counted else 0.0
        return total

    def close(self) -> None:
        """Stops counting."""
        while self._files:
            os.close(self._files.pop())

    def _open(self, event: tuple[int, int], thread: int) -> None:
        kind, number = event
        flags = _INHERITED | _WITHOUT_KERNEL | _WITHOUT_HYPERVISOR
        wanted = _ATTRIBUTES.pack(kind, _ATTRIBUTES.size, number, 0, 0, _WITH_TIMES, flags, 0, 0, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        any_core, no_group, close_on_exec = -1, -1, 1 << 3
        file = libc.syscall(
            _SYSTEM_CALL[platform.machine()],
            wanted,
            thread,
            any_core,
            no_group,
            ctypes.c_ulong(close_on_exec),
        )
        if file >= 0:
            self._files.append(file)
        elif ctypes.get_errno() != errno.ESRCH:  # such a thread has ended meanwhile
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return "this machine has no hardware counters (most virtual machines have none)"
    if error.errno in (errno.EACCES, errno.EPERM):
        level = "unknown"
        with contextlib.suppress(OSError):
            level = _PARANOID.read_text(encoding="ascii").strip()
        return (
            f"the system does not let this process count (kernel.perf_event_paranoid is {level}, 2 or less "
            "is needed; a container may forbid it anyway)"
        )
    return str(error.strerror)

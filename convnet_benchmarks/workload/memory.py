"""Memory: what a process or a GPU takes, and recognising that it ran out."""

import re
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    import torch

# Of the main memory that is available, what studies take unless told otherwise.
SHARE_OF_MEMORY = 0.9


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether PyTorch (CPU or GPU) or Python raised ``error`` for lack of memory."""
    import torch

    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def resident_bytes(process: int | None = None, *, peak: bool = False) -> int | None:
    """Returns main memory that a process takes now, or its ``peak``; None if the system does not say.

    The peak of a child process is its own, unlike getrusage's, which starts from its parent's.
    """
    if peak:
        return _bytes_in(f"/proc/{process or 'self'}/status", "VmHWM")
    try:
        return int(psutil.Process(process).memory_info().rss)
    except psutil.Error:  # it has ended
        return None


def available_bytes() -> int | None:
    """Returns main memory that can still be had; None if the system does not say."""
    try:
        return int(psutil.virtual_memory().available)
    except (OSError, RuntimeError):
        return None


def device_memory(device: "torch.device") -> int | None:
    """Returns bytes of main memory that can still be had, or of a GPU's that this process holds or can have;
    None if the system does not say.
    """
    if device.type == "cpu":
        return available_bytes()
    import torch

    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device)


def memory_budget(asked: int | None, shares: int = 1) -> int | None:
    """Returns the bytes that each of ``shares`` processes may take: as ``asked``, or an equal part of what is
    available; None if the system does not say.
    """
    available = available_bytes() if asked is None else None
    return asked if available is None else int(available * SHARE_OF_MEMORY / shares)


def _bytes_in(path: str, field: str) -> int | None:
    try:
        with open(path, encoding="ascii", errors="replace") as info:
            found = re.search(rf"^{field}:\s*(\d+) kB", info.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found.group(1)) * 1024 if found else None

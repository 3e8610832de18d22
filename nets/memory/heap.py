"""The heap of the C library, from which PyTorch takes the memory of tensors."""

import ctypes
import functools
from typing import Any


class _State(ctypes.Structure):
    """Holds the answer of glibc's mallinfo2: https://man7.org/linux/man-pages/man3/mallinfo.3.html"""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
            "keepcost",
        )
    ]  # fmt: skip


@functools.cache
def _function(name: str) -> Any:
    """Returns a function of the C library; None if it has none of that name (C libraries other than
    glibc)."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None


def free_and_used() -> tuple[int, int] | None:
    """Returns how many freed bytes the C library keeps, and how many are in use; None if it does not report
    them."""
    state = _function("mallinfo2")
    if state is None:
        return None
    state.restype = _State
    now = state()
    return now.fordblks, now.uordblks + now.hblkhd


def return_free_memory() -> None:
    """Returns freed memory that the C library keeps to the system, if the library supports it."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(ctypes.c_size_t(0))


# mallopt's parameters, from malloc.h: how much free memory glibc keeps at the heap's end, and from which size
# on a piece is requested from the system.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_PIECE = 32 << 20  # the most that glibc allows


def keep_freed_memory(most: int) -> None:
    """Makes the C library keep up to ``most`` freed bytes at the heap's end, if it supports that.

    Memory returned to the system is cleared, page by page, before it is used again. By default glibc keeps
    twice the largest piece freed so far, which is little for a program that frees many pieces at once.
    """
    set_option = _function("mallopt")
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, most)
        set_option(_MMAP_THRESHOLD, _LARGEST_PIECE)

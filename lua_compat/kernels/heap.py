"""The heap of the C library, from which PyTorch takes the memory of tensors."""

import ctypes
import functools
from collections.abc import Callable

__all__ = ["trim_heap"]
SANDBOXED = __all__

# Memory that is used again costs nothing; what the system gives anew, it clears first.
_KEPT_FREE = 256 << 20


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
def _functions() -> tuple[Callable[[], _State], Callable[[int], int]] | None:
    """Returns the C library's mallinfo2 and malloc_trim, or None where it lacks them."""
    try:
        library = ctypes.CDLL(None)
        state, trim = library.mallinfo2, library.malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    state.restype, trim.argtypes = _State, (ctypes.c_size_t,)
    return state, trim


def trim_heap() -> None:
    """Gives freed memory back to the system where the C library keeps much of it: more than is in use.

    glibc keeps freed pieces of up to 32 MB, and cannot use them again for larger ones once something small
    lies between them.
    """
    functions = _functions()
    if functions is None:
        return
    state, trim = functions
    now = state()
    if now.fordblks > max(_KEPT_FREE, now.uordblks + now.hblkhd):
        trim(0)

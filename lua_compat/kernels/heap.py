"""Returns memory freed by tensors to the system."""

from convnet_benchmarks.nets.memory.heap import free_and_used, return_free_memory

__all__ = ["trim_heap"]
SANDBOXED = __all__

# Reusing freed memory costs nothing, but the system clears what it hands out again. So this much is kept.
MOST_KEPT = 256 << 20


def trim_heap() -> None:
    """Returns freed memory to the system if the C library keeps much of it, more than is in use.

    glibc keeps freed pieces of up to 32 MB, and cannot use them for larger ones once something small lies
    between them.
    """
    found = free_and_used()
    if found is not None and found[0] > max(MOST_KEPT, found[1]):
        return_free_memory()

"""Memory that tensors have left."""

from convnet_benchmarks.nets.heap import free_and_used, return_free_memory

__all__ = ["trim_heap"]
SANDBOXED = __all__

# Memory that is used again costs nothing; what the system gives again, it clears first.
_KEPT_FREE = 256 << 20


def trim_heap() -> None:
    """Gives freed memory back to the system where the C library keeps much of it: more than is in use.

    glibc keeps freed pieces of up to 32 MB, and cannot use them again for larger ones once something small
    lies between them.
    """
    found = free_and_used()
    if found is not None and found[0] > max(_KEPT_FREE, found[1]):
        return_free_memory()

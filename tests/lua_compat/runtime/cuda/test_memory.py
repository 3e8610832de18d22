"""What cutorch.getMemoryUsage tells of a device."""

from types import SimpleNamespace

from lua_compat.runtime.cuda import Cuda


def test_memory_that_the_allocator_keeps_unused_is_free() -> None:
    """So cutorch counts it, too: a script that sizes its batches by it would shrink them otherwise."""
    cuda = Cuda("cpu")
    cuda._gpu = SimpleNamespace(
        device_count=lambda: 2,
        mem_get_info=lambda device: ((900, 1000), (100, 1000))[device],
        memory_reserved=lambda device: (0, 700)[device],
        memory_allocated=lambda device: (0, 450)[device],
    )
    assert cuda.memory(1) == (900, 1000) and cuda.memory(2) == (350, 1000)

"""Memory on huge pages, where the kernel offers them: it maps and zeroes them faster than small ones."""

import mmap
from pathlib import Path

import torch
from torch import Tensor

HUGE_PAGE = 2 << 20
_TRANSPARENT_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def huge_page_policy() -> str:
    """Returns the kernel's policy for transparent huge pages: "always", "madvise", "never" or "unknown"."""
    try:
        words = _TRANSPARENT_HUGE_PAGES.read_text().split()
    except OSError:
        return "unknown"
    return next((word.strip("[]") for word in words if word.startswith("[")), "unknown")


def huge_page_bytes(count: int) -> Tensor | None:
    """Returns ``count`` untouched bytes, zeros, on a mapping advised for huge pages; None if there are
    none."""
    if not hasattr(mmap, "MADV_HUGEPAGE") or huge_page_policy() in ("never", "unknown"):
        return None
    size = (count + 2 * HUGE_PAGE - 1) // HUGE_PAGE * HUGE_PAGE
    try:
        mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        mapping.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return None
    memory = torch.frombuffer(mapping, dtype=torch.uint8)  # keeps the mapping alive
    start = -memory.data_ptr() % HUGE_PAGE
    return memory[start : start + count]


def touched(block: Tensor) -> Tensor:
    """Has the kernel map every page of a fresh ``block``, which is then zero. Uses all threads, because
    memory that a virtual machine has not used for a while is slow to get."""
    return block.zero_()

"""Long-lived buffers: made once per plan, on huge pages where the kernel offers them.

Fresh memory is the first cost of a phase on a CPU: the kernel zeroes and maps it page by page on first touch.
A buffer from here is touched when it is made, so that no phase pays for it.
"""

import math
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

HUGE_PAGE = 2 << 20
_CHUNK = 64 << 20
_ALIGNMENT = 64  # bytes: one cache line, one AVX-512 register
_TRANSPARENT_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@dataclass(frozen=True)
class MemoryReport:
    """The size of a plan's buffers.

    ``bytes``: all buffers; ``huge_page_bytes``: those the kernel accepted a huge-page advice for;
    ``huge_pages``: the kernel's policy ("madvise", "always", "never", or "unknown" off Linux).
    """

    bytes: int
    huge_page_bytes: int
    huge_pages: str


def huge_page_policy() -> str:
    """Returns the kernel's policy for transparent huge pages: "always", "madvise", "never" or "unknown"."""
    try:
        words = _TRANSPARENT_HUGE_PAGES.read_text().split()
    except OSError:
        return "unknown"
    return next((word.strip("[]") for word in words if word.startswith("[")), "unknown")


def _huge_page_bytes(count: int) -> Tensor | None:
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


def _touched(block: Tensor) -> Tensor:
    """Has the kernel map every page of a fresh ``block``, which is zeros then. (To fill it all the same takes
    six times as long or more.)"""
    block[:: mmap.PAGESIZE].zero_()
    return block


class Memory:
    """Hands out the buffers of one plan and counts them. They start zeroed and are freed with their
    tensors."""

    def __init__(self) -> None:
        self._bytes = 0
        self._huge_page_bytes = 0
        self._scratch = torch.empty(0, dtype=torch.uint8)
        self._chunk = torch.empty(0, dtype=torch.uint8)  # what is left of the last one

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Returns a contiguous, zeroed tensor. Those of one plan may share a mapping, which goes with the
        last."""
        return self._tensor(shape, dtype, self._part_of_chunk)

    def lasting(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Returns the same as :meth:`empty`, on a mapping of its own: for what may outlive the plan."""
        return self._tensor(shape, dtype, self._block)

    def _tensor(self, shape: Sequence[int], dtype: torch.dtype, allocate: Callable[[int], Tensor]) -> Tensor:
        count = math.prod(shape) * dtype.itemsize
        self._bytes += count
        return allocate(count).view(dtype).view(*shape)

    def _block(self, count: int) -> Tensor:
        if count >= HUGE_PAGE:
            block = _huge_page_bytes(count)
            if block is not None:
                self._huge_page_bytes += count
                return _touched(block)
        return torch.zeros(count, dtype=torch.uint8)

    def _part_of_chunk(self, count: int) -> Tensor:
        """Puts medium blocks side by side: each on huge pages of its own would waste one on average."""
        if not HUGE_PAGE <= count < _CHUNK:
            return self._block(count)
        size = -(-count // _ALIGNMENT) * _ALIGNMENT
        if self._chunk.numel() < size:
            chunk = _huge_page_bytes(_CHUNK)
            if chunk is None:
                return self._block(count)
            self._chunk = chunk
        block, self._chunk = self._chunk[:count], self._chunk[size:]
        self._huge_page_bytes += count
        return _touched(block)

    def scratch(self, dtype: torch.dtype, *shapes: Sequence[int]) -> list[Tensor]:
        """Tensors of the given shapes, uninitialised, for use until the next call of ``scratch``.

        All steps of a plan share one block, as large as the largest request: a step must not keep what it
        got, and must ask once for all it needs.
        """
        sizes = [-(-math.prod(shape) * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT for shape in shapes]
        total = sum(sizes)
        if self._scratch.numel() < total:
            self._bytes += total - self._scratch.numel()
            self._scratch = torch.empty(0, dtype=torch.uint8)  # free the old block before making the new one
            self._scratch = self._block(total)
        tensors, start = [], 0
        for shape, size in zip(shapes, sizes, strict=True):
            count = math.prod(shape) * dtype.itemsize
            tensors.append(self._scratch[start : start + count].view(dtype).view(*shape))
            start += size
        return tensors

    def scratch_address(self) -> int:
        """Returns where the block for :meth:`scratch` is, until a larger one takes its place."""
        return self._scratch.data_ptr()

    def report(self) -> MemoryReport:
        return MemoryReport(self._bytes, min(self._huge_page_bytes, self._bytes), huge_page_policy())

"""Long-lived buffers: allocated once per plan, on huge pages where the kernel offers them.

Fresh memory is the largest startup cost of a phase on a CPU: the kernel zeroes and maps it page by page on
first touch. Buffers from here are touched when they are allocated, so that no phase pays for it.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from convnet_benchmarks.nets.memory.huge_pages import HUGE_PAGE, huge_page_bytes, huge_page_policy, touched

_CHUNK = 64 << 20
_ALIGNMENT = 64  # bytes: one cache line, one AVX-512 register


@dataclass(frozen=True)
class MemoryReport:
    """The size of a plan's buffers.

    ``bytes``: all buffers; ``huge_page_bytes``: those the kernel accepted a huge-page advice for;
    ``huge_pages``: the kernel's policy ("madvise", "always", "never", or "unknown" off Linux).
    """

    bytes: int
    huge_page_bytes: int
    huge_pages: str


class Memory:
    """Allocates and counts the buffers of one plan. They are zeroed at first, and freed with their
    tensors."""

    def __init__(self) -> None:
        self._bytes = 0
        self._huge_page_bytes = 0
        self._scratch = torch.empty(0, dtype=torch.uint8)
        self._chunk = torch.empty(0, dtype=torch.uint8)  # unused part of the last chunk
        self._provided: dict[int, list[Tensor]] = defaultdict(list)  # by their size in bytes

    def empty(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Returns a contiguous, zeroed tensor. Those of one plan may share a mapping, which is freed with the
        last."""
        return self._tensor(shape, dtype, self._part_of_chunk)

    def lasting(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Returns the same as :meth:`empty`, on a separate mapping: for tensors that may outlive the plan."""
        provided = self._provided[math.prod(shape) * dtype.itemsize]
        return self._tensor(shape, dtype, lambda count: provided.pop() if provided else self._block(count))

    def provide(self, tensors: Iterable[Tensor]) -> None:
        """Allocates in advance for :meth:`lasting`: memory for the large ones among ``tensors``."""
        for tensor in tensors:
            if tensor.nbytes >= HUGE_PAGE:
                self._provided[tensor.nbytes].append(self._block(tensor.nbytes))

    def _tensor(self, shape: Sequence[int], dtype: torch.dtype, allocate: Callable[[int], Tensor]) -> Tensor:
        count = math.prod(shape) * dtype.itemsize
        self._bytes += count
        return allocate(count).view(dtype).view(*shape)

    def _block(self, count: int) -> Tensor:
        if count >= HUGE_PAGE:
            block = huge_page_bytes(count)
            if block is not None:
                self._huge_page_bytes += count
                return touched(block)
        return torch.zeros(count, dtype=torch.uint8)

    def _part_of_chunk(self, count: int) -> Tensor:
        """Packs medium blocks together: each on separate huge pages would waste one on average."""
        if not HUGE_PAGE <= count < _CHUNK:
            return self._block(count)
        size = -(-count // _ALIGNMENT) * _ALIGNMENT
        if self._chunk.numel() < size:
            chunk = huge_page_bytes(_CHUNK)
            if chunk is None:
                return self._block(count)
            self._chunk = chunk
        block, self._chunk = self._chunk[:count], self._chunk[size:]
        self._huge_page_bytes += count
        return touched(block)

    def scratch(self, dtype: torch.dtype, *shapes: Sequence[int]) -> list[Tensor]:
        """Returns uninitialised tensors of the given shapes, for use until the next call of ``scratch``.

        All steps of a plan share one block, as large as the largest request: a step must not keep its
        tensors, and must request everything in one call.
        """
        sizes = [-(-math.prod(shape) * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT for shape in shapes]
        total = sum(sizes)
        if self._scratch.numel() < total:
            self._bytes += total - self._scratch.numel()
            self._scratch = torch.empty(0, dtype=torch.uint8)  # frees the old block before allocating
            self._scratch = self._block(total)
        tensors, start = [], 0
        for shape, size in zip(shapes, sizes, strict=True):
            count = math.prod(shape) * dtype.itemsize
            tensors.append(self._scratch[start : start + count].view(dtype).view(*shape))
            start += size
        return tensors

    def scratch_address(self) -> int:
        """Returns the address of the block of :meth:`scratch`, until a larger one replaces it."""
        return self._scratch.data_ptr()

    def report(self) -> MemoryReport:
        return MemoryReport(self._bytes, min(self._huge_page_bytes, self._bytes), huge_page_policy())

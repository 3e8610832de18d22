"""Memory: what a process or a GPU takes, recognising that it ran out, and what batch would fit."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from convnet_benchmarks.legacy.workload import Workload

# The allocator's rounding and cuDNN's workspaces take some of what the model below calls free.
_USABLE = 0.95
# Of the main memory that is available, what studies take unless told otherwise.
SHARE_OF_MEMORY = 0.9


def is_out_of_memory(error: BaseException) -> bool:
    """Whether PyTorch (CPU or GPU) or Python raised ``error`` for lack of memory."""
    import torch

    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def resident_bytes(process: int | str = "self", *, peak: bool = False) -> int | None:
    """Main memory that a process takes now, or its ``peak``; None where the system does not say.

    The peak of a child process is its own, unlike getrusage's, which starts from its parent's.
    """
    field = "VmHWM" if peak else "VmRSS"
    return _bytes_in(f"/proc/{process}/status", field)


def available_bytes() -> int | None:
    """Main memory that can still be had; None where the system does not say."""
    return _bytes_in("/proc/meminfo", "MemAvailable")


def _bytes_in(path: str, field: str) -> int | None:
    try:
        with open(path, encoding="ascii", errors="replace") as info:
            found = re.search(rf"^{field}:\s*(\d+) kB", info.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found.group(1)) * 1024 if found else None


def largest_batch_to_try(workload: "Workload") -> int:
    """A batch size that should fit where ``workload``'s did not; 0 when not even one sample fits.

    On a GPU from the memory that one and two samples take; on a CPU, which does not count its memory, half
    of what failed.
    """
    if workload.device.type != "cuda":
        return workload.batch_size // 2
    import torch

    sample_shape = workload.input.shape[-len(workload.net.input_size) :]
    del workload.input
    peaks = []
    for batch in (1, 2):
        torch.cuda.empty_cache()
        try:
            peaks.append(_peak_memory(workload.module, (batch, *sample_shape), workload))
        except torch.cuda.OutOfMemoryError:
            return len(peaks)
    free, _ = torch.cuda.mem_get_info(workload.device)
    capacity = free + torch.cuda.memory_reserved(workload.device)
    return fitting_batch(peaks[0], peaks[1], int(capacity * _USABLE))


def fitting_batch(peak_of_one: int, peak_of_two: int, capacity: int) -> int:
    """The batch whose peak, linear in the batch, just fits into ``capacity`` (all in bytes)."""
    per_sample = max(1, peak_of_two - peak_of_one)
    fixed = peak_of_one - per_sample
    return max(1, (capacity - fixed) // per_sample)


def _peak_memory(module: "torch.nn.Module", shape: tuple[int, ...], workload: "Workload") -> int:
    import torch

    from nets.phases import AutogradPhases

    torch.cuda.reset_peak_memory_stats(workload.device)
    input = torch.zeros(shape, dtype=next(module.parameters()).dtype, device=workload.device)
    with AutogradPhases(module) as phases:
        output = phases.updateOutput(input)
        phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
    return torch.cuda.max_memory_allocated(workload.device)

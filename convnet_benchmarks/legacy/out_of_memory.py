"""The batch size to try where one did not fit into memory."""

from typing import TYPE_CHECKING

from convnet_benchmarks.legacy.workload import Workload

if TYPE_CHECKING:
    import torch

# The allocator's rounding and cuDNN's workspaces take some of what the model below calls free.
_USABLE = 0.95


def largest_batch_to_try(workload: Workload) -> int:
    """Returns a batch size that should fit where ``workload``'s did not; 0 when not even one sample fits.

    On a GPU from the memory that one and two samples take; on a CPU, which does not count its memory, half
    of what failed.
    """
    if workload.device.type != "cuda":
        return workload.ran.batch_size // 2
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
    """Returns the batch whose peak, linear in the batch, just fits into ``capacity`` (all in bytes)."""
    per_sample = max(1, peak_of_two - peak_of_one)
    fixed = peak_of_one - per_sample
    return max(1, (capacity - fixed) // per_sample)


def _peak_memory(module: "torch.nn.Module", shape: tuple[int, ...], workload: Workload) -> int:
    import torch

    from nets.phases import AutogradPhases

    torch.cuda.reset_peak_memory_stats(workload.device)
    input = torch.zeros(shape, dtype=next(module.parameters()).dtype, device=workload.device)
    with AutogradPhases(module) as phases:
        output = phases.updateOutput(input)
        phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
    return torch.cuda.max_memory_allocated(workload.device)

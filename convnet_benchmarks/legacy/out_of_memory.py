"""Batches that do not fit into memory, and the size to try instead."""

from typing import TYPE_CHECKING

from convnet_benchmarks.errors import OutOfDeviceMemoryError
from convnet_benchmarks.legacy.request import Request
from convnet_benchmarks.workload.nets import by

if TYPE_CHECKING:
    import torch
    from torch import nn

# The allocator's rounding and cuDNN's workspaces take some of what the model below calls free.
_USABLE = 0.95


def too_large(request: Request, problem: str, largest: int) -> OutOfDeviceMemoryError:
    """Returns the error for a batch that does not fit: ``largest`` is the one to try, 0 where none fits."""
    if largest < 1:
        options = "-x, -y" if len(request.sample) == 3 else "--input-size"
        input = f"option {options}: input {by(request.sample)}"
        return OutOfDeviceMemoryError(f"{input}: {problem}; make the input smaller")
    given = f"option -batch_size {request.options.batch_size}"
    return OutOfDeviceMemoryError(f"{given}: {problem}; the largest batch to try is {largest}")


def largest_batch_to_try(request: Request, module: "nn.Module") -> int:
    """Returns a batch size of ``module`` that should fit on its GPU; 0 when not even one sample fits.

    The answer follows from what the phases take for one and for two samples, so no other tensor of the run
    may be alive.
    """
    import torch

    parameter = next(module.parameters())
    dtype = torch.int64 if request.net.tokens else parameter.dtype
    peaks = []
    for batch in (1, 2):
        torch.cuda.empty_cache()
        input = torch.zeros((batch, *request.sample), dtype=dtype, device=parameter.device)
        try:
            peaks.append(_peak_memory(module, input))
        except torch.cuda.OutOfMemoryError:
            return len(peaks)
    return fitting_batch(peaks[0], peaks[1], int(gpu_memory(parameter.device) * _USABLE))


def gpu_memory(device: "torch.device") -> int:
    """Returns bytes of a GPU's memory that this process holds or can still have."""
    import torch

    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device)


def fitting_batch(peak_of_one: int, peak_of_two: int, capacity: int) -> int:
    """Returns the batch whose peak, linear in the batch, just fits into ``capacity`` (all in bytes)."""
    per_sample = max(1, peak_of_two - peak_of_one)
    fixed = peak_of_one - per_sample
    return max(1, (capacity - fixed) // per_sample)


def _peak_memory(module: "nn.Module", input: "torch.Tensor") -> int:
    import torch

    from convnet_benchmarks.nets.phases import AutogradPhases

    torch.cuda.reset_peak_memory_stats(input.device)
    with AutogradPhases(module) as phases:
        output = phases.updateOutput(input)
        phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
    return torch.cuda.max_memory_allocated(input.device)

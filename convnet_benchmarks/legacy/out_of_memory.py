"""Batches that do not fit into memory, and the size to try instead."""

from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import OutOfDeviceMemoryError
from convnet_benchmarks.legacy.request import Request
from convnet_benchmarks.workload.inputs import batch_for
from convnet_benchmarks.workload.kernels import open_training, phase_steps
from convnet_benchmarks.workload.nets import by

if TYPE_CHECKING:
    import torch
    from torch import nn

# The share of the free memory that a batch may need: the allocator rounds; the next process may find less.
_USABLE = 0.95


def too_large(request: Request, problem: str, largest: int) -> OutOfDeviceMemoryError:
    """Returns the error for a batch that does not fit: ``largest`` is the one to try, 0 if none fits."""
    if largest < 1:
        options = "-x, -y" if len(request.sample) == 3 else "--input-size"
        input = f"option {options}: input {by(request.sample)}"
        return OutOfDeviceMemoryError(f"{input}: {problem}; make the input smaller")
    given = f"option -batch_size {request.options.batch_size}"
    return OutOfDeviceMemoryError(f"{given}: {problem}; the largest batch to try is {largest}")


def largest_batch_to_try(request: Request, module: "nn.Module") -> int:
    """Returns a batch size below the one asked for with which the phases of ``module`` have just run on its
    GPU; 0 when not even one sample fits.

    The first guess follows from what the phases take for one and for two samples, so no other tensor of the
    run may be alive. Kernels may take more for larger batches: the guess is lowered until it runs.
    """
    import torch

    device = next(module.parameters()).device
    capacity = gpu_memory(device)
    peaks: list[int] = []
    for batch in (1, 2):
        if not _runs(request, module, batch):
            return min(len(peaks), request.samples - 1)
        peaks.append(torch.cuda.max_memory_allocated(device))
    batch = min(fitting_batch(peaks[0], peaks[1], int(capacity * _USABLE)), request.samples - 1)
    # Another process may find a little less than this one: some is kept from the trial.
    reserve = torch.empty(int(capacity * (1 - _USABLE)), dtype=torch.uint8, device=device)
    while batch > 2 and not _runs(request, module, batch):
        batch = batch * 9 // 10
    del reserve
    return batch


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


def _runs(request: Request, module: "nn.Module", batch: int) -> bool:
    """Returns whether the phases of ``module`` run on so many samples; what they took is PyTorch's peak."""
    import torch

    parameter = next(module.parameters())
    dtype = torch.int64 if request.net.tokens else parameter.dtype
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(parameter.device)
    try:
        input: Any = torch.zeros((batch, *request.sample), dtype=dtype, device=parameter.device)
        if request.net.own_parameters:
            input = batch_for(request.net, module, batch, 1, parameter.device, parameter.dtype)
        with open_training(request.backend, module, input, tuning_seconds=0) as opened:
            assert opened.phases is not None
            for step in phase_steps(opened.phases, input).values():
                step()
        torch.cuda.synchronize(parameter.device)
    except torch.cuda.OutOfMemoryError:
        return False
    return True

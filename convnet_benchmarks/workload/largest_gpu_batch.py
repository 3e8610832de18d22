"""The largest batch that a net can be trained with in the memory of its GPU."""

from typing import TYPE_CHECKING

from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.workload.backends import Backend
from convnet_benchmarks.workload.inputs import blank_batch
from convnet_benchmarks.workload.kernels import open_training, phase_steps
from convnet_benchmarks.workload.memory import device_memory

if TYPE_CHECKING:
    from torch import nn

# The share of the free memory that a batch may need: the allocator rounds; the next process may find less.
_USABLE = 0.95


def largest_gpu_batch(
    net: Net, backend: Backend, module: "nn.Module", sample: tuple[int, ...], below: int
) -> int:
    """Returns a batch size less than ``below`` with which the three phases have just run; 0 if none did.

    ``module`` is ``net`` on its GPU, ``sample`` the shape of one sample. The first guess follows from what
    the phases take for one and for two samples, so no other tensor of the run may be alive. Kernels may take
    more for larger batches: the guess is lowered until it runs.
    """
    import torch

    device = next(module.parameters()).device
    capacity = device_memory(device)
    assert capacity is not None, "a GPU says it"
    peaks: list[int] = []
    for batch in (1, 2):
        if not _runs(net, backend, module, sample, batch):
            return min(len(peaks), below - 1)
        peaks.append(torch.cuda.max_memory_allocated(device))
    batch = min(fitting_batch(peaks[0], peaks[1], int(capacity * _USABLE)), below - 1)
    # Another process may find a little less than this one: some is kept from the trial.
    reserve = torch.empty(int(capacity * (1 - _USABLE)), dtype=torch.uint8, device=device)
    while batch > 2 and not _runs(net, backend, module, sample, batch):
        batch = batch * 9 // 10
    del reserve
    return batch


def fitting_batch(peak_of_one: int, peak_of_two: int, capacity: int) -> int:
    """Returns the batch whose peak, linear in the batch, just fits into ``capacity`` (all in bytes)."""
    per_sample = max(1, peak_of_two - peak_of_one)
    fixed = peak_of_one - per_sample
    return max(1, (capacity - fixed) // per_sample)


def _runs(net: Net, backend: Backend, module: "nn.Module", sample: tuple[int, ...], batch: int) -> bool:
    """Returns whether the phases of ``module`` run on so many samples; PyTorch's peak is what they took."""
    import torch

    parameter = next(module.parameters())
    device = parameter.device
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    try:
        input = blank_batch(net, module, batch, device, parameter.dtype, (batch, *sample))
        with open_training(backend, module, input, device, tuning_seconds=0) as opened:
            assert opened.phases is not None
            for step in phase_steps(opened.phases, input).values():
                step()
        torch.cuda.synchronize(device)
    except torch.cuda.OutOfMemoryError:
        return False
    return True

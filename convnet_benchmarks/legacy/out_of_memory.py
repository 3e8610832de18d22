"""Batches that do not fit into memory: found before they are made, and the size to try instead."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import OutOfDeviceMemoryError
from convnet_benchmarks.workload.nets import by
from convnet_benchmarks.workload.ran import batch_size
from nets.net import IMAGENET, Net
from nets.registry import parameter_count

if TYPE_CHECKING:
    import torch
    from torch import nn

# The allocator's rounding and cuDNN's workspaces take some of what the model below calls free.
_USABLE = 0.95


@dataclass(frozen=True)
class Shortage:
    """A batch that cannot fit. ``needed`` (at least) and ``available``: bytes; ``largest``: what may fit."""

    sample: tuple[int, ...]
    batch: int
    needed: int
    available: int
    largest: int

    def error(self, largest: int) -> OutOfDeviceMemoryError:
        """Returns the error that names ``largest`` as the batch to try, or the input where none fits."""
        memory = (
            f"at least {self.needed / 2**30:.1f} GiB of memory and "
            f"{self.available / 2**30:.1f} GiB are available"
        )
        if largest < 1:
            return too_large_a_sample(self.sample, f"one sample needs {memory}")
        return OutOfDeviceMemoryError(
            f"option -batch_size {self.batch}: needs {memory}; the largest batch to try is {largest}"
        )


def too_large_a_sample(sample: tuple[int, ...], problem: str) -> OutOfDeviceMemoryError:
    """Returns the error for an input of which not even one sample fits."""
    options = "-x, -y" if len(sample) == 3 else "--input-size"
    return OutOfDeviceMemoryError(f"option {options}: input {by(sample)}: {problem}; make the input smaller")


def shortage(
    net: Net, on_meta: "nn.Module", shape: tuple[int, ...], bytes_each: int, available: int | None
) -> Shortage | None:
    """Returns what is missing for an input of ``shape``, None where it may fit.

    ``on_meta``: the net on the meta device. ``bytes_each``: of a number. ``available``: bytes, None where
    the system does not say.
    """
    import torch

    from nets.input_size import activation_elements

    batch, sample = batch_size(net, shape), shape[-len(net.input_size) :]
    # No net keeps a thousand times an image, its own or ImageNet's; most batches need no closer look.
    if (
        available is None
        or 1000 * max(math.prod(shape), batch * math.prod(IMAGENET)) * bytes_each < available
    ):
        return None
    fixed = 2 * parameter_count(on_meta) * bytes_each  # the parameters and their gradients
    dtype = torch.int64 if net.tokens else torch.float32
    each = activation_elements(on_meta, (1, *sample), dtype) * bytes_each
    if fixed + batch * each <= available:
        return None
    largest = max(0, (available - fixed) // each)
    return Shortage(
        sample, batch if largest else 1, fixed + (batch if largest else 1) * each, available, largest
    )


def largest_batch_to_try(module: "nn.Module", like: "torch.Tensor", sample_dimensions: int) -> int:
    """Returns a batch size of ``module`` that should fit on its GPU; 0 when not even one sample fits.

    ``like``: an input, for its shape (but for the batch) and number format; it may lie on the meta device.
    The answer follows from what the phases take for one and for two samples, so no other tensor of the run
    may be alive.
    """
    import torch

    sample, device = like.shape[-sample_dimensions:], next(module.parameters()).device
    peaks = []
    for batch in (1, 2):
        torch.cuda.empty_cache()
        try:
            peaks.append(_peak_memory(module, torch.zeros((batch, *sample), dtype=like.dtype, device=device)))
        except torch.cuda.OutOfMemoryError:
            return len(peaks)
    return fitting_batch(peaks[0], peaks[1], int(gpu_memory(device) * _USABLE))


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

    from nets.phases import AutogradPhases

    torch.cuda.reset_peak_memory_stats(input.device)
    with AutogradPhases(module) as phases:
        output = phases.updateOutput(input)
        phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
    return torch.cuda.max_memory_allocated(input.device)

"""Whether an input fits the net and the memory, and the batch to try instead."""

import math
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from convnet_benchmarks.legacy.request import Request
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import IMAGENET
from convnet_benchmarks.nets.registry import parameter_count
from convnet_benchmarks.workload.devices import CPU
from convnet_benchmarks.workload.inputs import blank_batch
from convnet_benchmarks.workload.kernels import open_training, phase_steps
from convnet_benchmarks.workload.memory import available_bytes
from convnet_benchmarks.workload.nets import by

if TYPE_CHECKING:
    import torch
    from torch import nn

# No net keeps a thousand times an image, its own or ImageNet's; most batches need no closer look.
_MOST_KEPT = 1000
# The share of the free memory that a batch may need: the allocator rounds; the next process may find less.
_USABLE = 0.95


def memory_missing(request: Request, on_meta: "nn.Module", device: "torch.device") -> str:
    """Returns how much memory the input needs and there is; empty if it may fit.

    ``on_meta``: the net on the meta device. Raises UserError if it does not accept the input, and
    OutOfDeviceMemoryError for a batch that cannot fit on a CPU: the system would kill the process for it.
    """
    import torch

    net, shape = request.net, request.input_shape
    bytes_each = getattr(torch, request.options.dtype).itemsize
    available = available_bytes() if device.type == CPU else gpu_memory(device)
    most = _MOST_KEPT * max(math.prod(shape), request.samples * math.prod(IMAGENET)) * bytes_each
    small = available is None or most < available
    if small and request.sample == registry.NETS[net.name].input_size:
        return ""  # known to fit; a closer look loads a second of modules
    from convnet_benchmarks.nets.input_size import trial

    found = trial(on_meta, shape, torch.int64 if net.tokens else torch.float32)
    if found.refused is not None:
        raise _refused(request, on_meta, *found.refused)
    fixed = 2 * parameter_count(on_meta) * bytes_each  # the parameters and their gradients
    kept = found.kept * bytes_each
    if available is None or fixed + kept <= available:
        return ""
    each = kept // request.samples
    largest = max(0, (available - fixed) // each)
    needed = fixed + (kept if largest else each)
    missing = (
        f"needs at least {needed / 2**30:.1f} GiB of memory and {available / 2**30:.1f} GiB are available"
    )
    if device.type == CPU:
        raise too_large(request, missing, largest)
    return missing


def _refused(request: Request, on_meta: "nn.Module", name: str, got: tuple[int, ...]) -> UserError:
    """Returns the error for an input that makes layer ``name`` refuse what it ``got``."""
    from convnet_benchmarks.nets.torch7.printing import torch7_path, torch7_string

    net, shape = request.net, request.input_shape
    own = registry.NETS[net.name].input_size
    layer = torch7_string(on_meta.get_submodule(name)).partition(" {")[0]
    where = f"layer {torch7_path(name)} {layer} gets {by(got)}"
    if request.options.input_size is not None:
        problem = f"{net.name} does not accept {by(request.sample)}: {where}"
        return UserError(f"option --input-size: {problem}; the net's own size is {by(own)}")
    problem = f"{net.name} does not accept {shape[-2]}x{shape[-1]}: {where}"
    return UserError(f"option -x, -y: {problem}; {_advice(on_meta, shape, own)}")


def _advice(on_meta: "nn.Module", shape: tuple[int, ...], size: tuple[int, ...]) -> str:
    """Returns what -x and -y could be instead of those in ``shape``, for a net whose own size is ``size``."""
    from convnet_benchmarks.nets.input_size import smallest_accepted, trial

    # Each side is tried with the other at the net's own size, so that both are named when both are wrong.
    own = (*shape[:-2], *size[1:])
    advice = []
    for option, dimension in (("-x", len(shape) - 2), ("-y", len(shape) - 1)):
        given = (*own[:dimension], shape[dimension], *own[dimension + 1 :])
        if trial(on_meta, given).refused is None:
            continue
        smallest = smallest_accepted(on_meta, own, dimension, own[dimension])
        if smallest is not None and shape[dimension] < smallest:
            advice.append(f"the smallest {option} is {smallest}")
        else:
            advice.append(f"the net's own {option} is {own[dimension]}")
    return ", ".join(advice)


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
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(parameter.device)
    try:
        shape, device = (batch, *request.sample), parameter.device
        input = blank_batch(request.net, module, batch, device, parameter.dtype, shape)
        with open_training(request.backend, module, input, device, tuning_seconds=0) as opened:
            assert opened.phases is not None
            for step in phase_steps(opened.phases, input).values():
                step()
        torch.cuda.synchronize(parameter.device)
    except torch.cuda.OutOfMemoryError:
        return False
    return True

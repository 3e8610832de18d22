"""Whether an input fits the net and the memory, and the batch to try instead."""

import math
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from convnet_benchmarks.legacy.request import Request
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import IMAGENET
from convnet_benchmarks.nets.registry import parameter_count
from convnet_benchmarks.workload.devices import CPU
from convnet_benchmarks.workload.largest_gpu_batch import largest_gpu_batch
from convnet_benchmarks.workload.nets import by

if TYPE_CHECKING:
    from torch import nn

# No net keeps a thousand times an image, its own or ImageNet's; most batches need no closer look.
_MOST_KEPT = 1000


class LacksGpuMemoryError(Exception):
    """The input does not fit into the memory of the GPU that ``module`` is on; the message says how much it
    needs.
    """

    def __init__(self, message: str, module: "nn.Module") -> None:
        super().__init__(message)
        self.module = module


def memory_missing(request: Request, on_meta: "nn.Module", available: int | None) -> tuple[str, int]:
    """Returns how much memory the input needs and there is, in words, and the largest batch that may fit.

    The words are empty if the input may fit. ``on_meta``: the net on the meta device. ``available``: bytes;
    None if they are not known. Raises UserError if the net does not accept the input.
    """
    import torch

    net, shape = request.net, request.input_shape
    bytes_each = getattr(torch, request.options.dtype).itemsize
    most = _MOST_KEPT * max(math.prod(shape), request.samples * math.prod(IMAGENET)) * bytes_each
    small = available is None or most < available
    if small and request.sample == registry.NETS[net.name].input_size:
        return "", request.samples  # known to fit; a closer look loads a second of modules
    from convnet_benchmarks.nets.input_size import trial

    found = trial(on_meta, shape, torch.int64 if net.tokens else torch.float32)
    if found.refused is not None:
        raise _refused(request, on_meta, *found.refused)
    fixed = 2 * parameter_count(on_meta) * bytes_each  # the parameters and their gradients
    kept = found.kept * bytes_each
    if available is None or fixed + kept <= available:
        return "", request.samples
    each = kept // request.samples
    largest = max(0, (available - fixed) // each)
    needed = fixed + (kept if largest else each)
    missing = (
        f"needs at least {needed / 2**30:.1f} GiB of memory and {available / 2**30:.1f} GiB are available"
    )
    return missing, largest


def _refused(request: Request, on_meta: "nn.Module", name: str, got: tuple[int, ...]) -> UserError:
    """Returns the error for an input that makes layer ``name`` refuse what it ``got``."""
    from convnet_benchmarks.nets.torch7.printing import torch7_path, torch7_string

    net, shape = request.net, request.input_shape
    own = registry.NETS[net.name].input_size
    own_size = f"the net's own size is {by(own)}"
    layer = torch7_string(on_meta.get_submodule(name)).partition(" {")[0]
    where = f"layer {torch7_path(name)} {layer} gets {by(got)}" if name else "it has too many elements"
    if request.options.input_size is not None:
        problem = f"{net.name} does not accept {by(request.sample)}: {where}"
        return UserError(f"option --input-size: {problem}; {own_size}")
    problem = f"{net.name} does not accept {shape[-2]}x{shape[-1]}: {where}"
    return UserError(f"option -x, -y: {problem}; {_advice(on_meta, shape, own) or own_size}")


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
        by_sides = len(request.sample) == 3 and request.options.input_size is None
        options = "-x, -y" if by_sides else "--input-size"
        input = f"option {options}: input {by(request.sample)}"
        return OutOfDeviceMemoryError(f"{input}: {problem}; make the input smaller")
    given = f"option -batch_size {request.options.batch_size}"
    return OutOfDeviceMemoryError(f"{given}: {problem}; the largest batch to try is {largest}")


def largest_batch_to_try(request: Request, module: "nn.Module | None") -> int:
    """Returns a batch size below the one asked for, after that did not fit; 0 when not even one sample fits.

    ``module``: the net on its device, as far as it was made. On a GPU the phases have just run with the
    returned batch; no other tensor of the run may be alive.
    """
    if module is None or all(one.device.type == CPU for one in module.parameters()):
        return request.samples // 2  # a CPU does not count its memory
    return largest_gpu_batch(request.net, request.backend, module, request.sample, request.samples)

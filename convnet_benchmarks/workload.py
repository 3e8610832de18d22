"""From options to what is measured: the device, the net with its parameters, the input, the kernels."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from convnet_benchmarks import backends
from convnet_benchmarks.device_memory import available_bytes
from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from convnet_benchmarks.legacy_options import LegacyOptions
from nets import registry

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass
class Workload:
    """One net on one device with one input. ``notes`` are for stderr: what a user may not expect."""

    net: registry.Net
    module: "nn.Module"
    input: "torch.Tensor"
    batch_size: int
    device: "torch.device"
    backend: backends.Backend
    model_text: str
    notes: list[str] = field(default_factory=list)


def find_net(options: LegacyOptions) -> registry.Net:
    """The net that ``--net`` names. Raises UserError with the accepted names."""
    try:
        return registry.find(options.net)
    except KeyError as error:
        raise UserError(f"option --net: {error.args[0]}") from None


def input_shape(options: LegacyOptions, net: registry.Net) -> tuple[int, ...]:
    """The shape of the input: batch (when 4-D), planes, height, width."""
    given = (options.z, options.x, options.y)
    sample = tuple(own if size is None else size for size, own in zip(given, net.input_size, strict=True))
    batched = options.tensor_4d
    if batched is None:
        batched = options.batch_size > 1 or not net.unbatched
    elif not batched and not net.unbatched:
        raise UserError(
            f"option -4d_tensor false: {net.name} takes batches only (it normalises over the batch); "
            "leave the option away"
        )
    return (options.batch_size, *sample) if batched else sample


def prepare(options: LegacyOptions) -> Workload:
    """Builds everything a run needs, from cheap checks to costly memory.

    Raises UserError (bad options) and OutOfDeviceMemoryError (a batch that cannot fit).
    """
    net = find_net(options)
    backend = backends.choose(options)
    device = _device(options)
    shape = input_shape(options, net)
    on_meta = registry.on_meta(net)
    _check_shape(options, net, on_meta, shape)
    if options.ccn2:
        backends.check_ccn2(on_meta, shape)
    _check_memory(options, on_meta, shape, device)

    import torch

    from nets.torch7_init import normal_input
    from nets.torch7_print import torch7_string
    from nets.torch7_random import Generator

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    module = registry.build(net, options.seed)
    for child in module.modules():
        if isinstance(child, torch.nn.ReLU):
            child.inplace = options.relu_inplace
    return Workload(
        net=net,
        module=module.to(device, dtype),
        input=normal_input(shape, Generator(options.seed + 1)).to(device, dtype),
        batch_size=shape[0] if len(shape) == 4 else 1,
        device=device,
        backend=backend,
        model_text=torch7_string(module, backend.class_names(options.relu_cudnn)),
        notes=_notes(options),
    )


def _notes(options: LegacyOptions) -> list[str]:
    notes = []
    if options.tensor_4d is False and options.batch_size > 1:
        notes.append(
            f"-4d_tensor false: one sample, as in the original; -batch_size {options.batch_size} is ignored"
        )
    if options.relu_cudnn and not options.cudnn:
        notes.append("-relu_cudnn true has no effect without -cudnn true, as in the original")
    return notes


def _device(options: LegacyOptions) -> "torch.device":
    import torch

    if not options.cuda:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        why = "this build of PyTorch has no CUDA" if torch.version.cuda is None else "no CUDA GPU was found"
        raise UserError(f"option -cuda true: {why}; accepted here: -cuda false")
    count = torch.cuda.device_count()
    if options.device >= count:
        raise UserError(f"option --device: {options.device} is not one of the GPUs 0 to {count - 1}")
    device = torch.device("cuda", options.device)
    torch.cuda.set_device(device)
    return device


def _check_shape(
    options: LegacyOptions, net: registry.Net, on_meta: "nn.Module", shape: tuple[int, ...]
) -> None:
    from nets.input_size import failing_layer, smallest_accepted

    if shape[-3] != net.input_size[0]:
        raise UserError(f"option -z: {net.name} takes {net.input_size[0]} input planes, not {shape[-3]}")
    if shape[-3:] == net.input_size:  # known to fit; checking loads a second of modules
        return
    failure = failing_layer(on_meta, shape)
    if failure is None:
        return
    from nets.torch7_print import torch7_path, torch7_string

    name, layer_shape = failure
    layer = torch7_string(on_meta.get_submodule(name)).partition(" {")[0]
    sizes = "x".join(str(size) for size in layer_shape)
    where = f"layer {torch7_path(name)} {layer} gets {sizes}"
    problem = f"{net.name} does not accept {shape[-2]}x{shape[-1]}: {where}"
    # Each side is tried with the other at the net's own size, so that both are named when both are wrong.
    own = (*shape[:-2], *net.input_size[1:])
    advice = []
    for option, dimension in (("-x", len(shape) - 2), ("-y", len(shape) - 1)):
        given = (*own[:dimension], shape[dimension], *own[dimension + 1 :])
        if failing_layer(on_meta, given) is None:
            continue
        smallest = smallest_accepted(on_meta, own, dimension, own[dimension])
        if smallest is not None and shape[dimension] < smallest:
            advice.append(f"the smallest {option} is {smallest}")
        else:
            advice.append(f"the net's own {option} is {own[dimension]}")
    raise UserError(f"option -x, -y: {problem}; {', '.join(advice)}")


def _check_memory(
    options: LegacyOptions, on_meta: "nn.Module", shape: tuple[int, ...], device: "torch.device"
) -> None:
    """Refuses a batch on the CPU that cannot fit, before the system kills the process for it."""
    import torch

    from nets.input_size import activation_elements

    available = available_bytes()
    bytes_each = getattr(torch, options.dtype).itemsize
    # No net keeps a thousand times its input; most batches need no closer look.
    if device.type != "cpu" or available is None or 1000 * math.prod(shape) * bytes_each < available:
        return
    fixed = 2 * registry.parameter_count(on_meta) * bytes_each  # the parameters and their gradients
    batch = shape[0] if len(shape) == 4 else 1
    sample = activation_elements(on_meta, (1, *shape[-3:])) * bytes_each
    if fixed + batch * sample > available:
        largest = max(0, (available - fixed) // sample)
        needed = (fixed + batch * sample) / 2**30
        raise OutOfDeviceMemoryError(
            f"option -batch_size {batch}: needs at least {needed:.1f} GiB of memory and "
            f"{available / 2**30:.1f} GiB are available; the largest batch to try is {largest}"
        )

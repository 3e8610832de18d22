"""From options to what is measured: the device, the net with its parameters, the input, the kernels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from convnet_benchmarks.legacy import backends
from convnet_benchmarks.legacy.options import LegacyOptions
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.author_errors import check_runs
from convnet_benchmarks.workload.memory import available_bytes
from nets import registry
from nets.net import IMAGENET, Net

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass
class Workload:
    """One net on one device with one input. ``notes`` are for stderr: what a user may not expect."""

    net: Net
    module: "nn.Module"
    input: "torch.Tensor"
    batch_size: int
    device: "torch.device"
    backend: backends.Backend
    model_text: str
    notes: list[str] = field(default_factory=list)


def find_net(options: LegacyOptions) -> Net:
    """The net that ``--net`` names. Raises UserError with what is accepted."""
    net = options.net
    if options.input_size is not None:
        for option in ("x", "y", "z"):
            if getattr(options, option) is not None:
                raise UserError(f"option --input-size: already says what -{option} does; give one of them")
        return named_nets.find(net, options.input_size)
    if net not in registry.NETS and options.x is not None and options.y is not None:
        return named_nets.find(net, (options.z or 3, options.x, options.y))
    return named_nets.find(net)


def input_shape(options: LegacyOptions, net: Net) -> tuple[int, ...]:
    """The shape of the input: batch (when 4-D), planes, height, width; or batch and what else ``net`` takes.

    Raises UserError for what a net of the registry never takes; ``prepare`` checks the rest.
    """
    given = (options.z, options.x, options.y)
    sample = net.input_size
    if len(sample) == len(given):
        sample = tuple(own if size is None else size for size, own in zip(given, sample, strict=True))
    elif any(size is not None for size in given):
        takes = "x".join(map(str, sample))
        raise UserError(f"option -x, -y, -z: an input of {net.name} is {takes}; use --input-size")
    if net.name in registry.NETS:
        _check_planes(options, registry.NETS[net.name], sample)
    batched = options.tensor_4d
    if batched is None:
        batched = options.batch_size > 1 or not net.unbatched
    elif not batched and not net.unbatched:
        raise UserError(f"option -4d_tensor false: {net.name} takes batches only; leave the option away")
    return (options.batch_size, *sample) if batched else sample


def _check_planes(options: LegacyOptions, net: Net, sample: tuple[int, ...]) -> None:
    own = net.input_size
    option = "--input-size" if options.input_size is not None else "-z"
    if len(sample) != len(own):
        raise UserError(f"option {option}: an input of {net.name} is {_by(own)}, not {_by(sample)}")
    if len(own) == 3 and sample[0] != own[0]:
        raise UserError(f"option {option}: {net.name} takes {own[0]} input planes, not {sample[0]}")


def prepare(options: LegacyOptions) -> Workload:
    """Builds everything a run needs, from cheap checks to costly memory.

    Raises UserError (bad options) and OutOfDeviceMemoryError (a batch that cannot fit).
    """
    net = find_net(options)
    backend = backends.choose(options)
    device = _device(options)
    shape = input_shape(options, net)
    on_meta = registry.on_meta(net)
    if net.name in registry.NETS:
        _check_shape(options, net, on_meta, shape)
        _check_memory(options, net, on_meta, shape, device)
    if options.ccn2:
        backends.check_ccn2(on_meta, shape)

    import torch

    from nets.torch7.initialisation import normal_input
    from nets.torch7.printing import torch7_string
    from nets.torch7.random import Generator

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    module = registry.build(net, options.seed)
    for child in module.modules():
        # A net from outside may still need what a ReLU of its would overwrite.
        if isinstance(child, torch.nn.ReLU) and not (net.own_parameters and options.relu_inplace):
            child.inplace = options.relu_inplace
    module = module.to(device, dtype)
    if net.tokens:
        input = net.sample(shape, torch.Generator().manual_seed(options.seed + 1)).to(device)
    else:
        input = normal_input(shape, Generator(options.seed + 1)).to(device, dtype)
    if net.own_parameters:
        check_runs(net, module, input)
    return Workload(
        net=net,
        module=module,
        input=input,
        batch_size=_batch_size(net, shape),
        device=device,
        backend=backend,
        model_text=torch7_string(module, backend.class_names(options.relu_cudnn)),
        notes=_notes(options, net),
    )


def _batch_size(net: Net, shape: tuple[int, ...]) -> int:
    return shape[0] if len(shape) > len(net.input_size) else 1


def _notes(options: LegacyOptions, net: Net) -> list[str]:
    notes = []
    if net.tokens:
        notes.append(f"{net.name} takes token ids: updateGradInput stops at the embedding, gradInput is 0")
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


def _check_shape(options: LegacyOptions, net: Net, on_meta: "nn.Module", shape: tuple[int, ...]) -> None:
    """Whether a net of the registry accepts ``shape``, on shapes alone."""
    import torch

    from nets.input_size import failing_layer

    own = registry.NETS[net.name].input_size
    sample = shape[-len(net.input_size) :]
    if sample == own:  # known to fit; checking loads a second of modules
        return
    failure = failing_layer(on_meta, shape, torch.int64 if net.tokens else torch.float32)
    if failure is None:
        return
    from nets.torch7.printing import torch7_path, torch7_string

    name, layer_shape = failure
    layer = torch7_string(on_meta.get_submodule(name)).partition(" {")[0]
    where = f"layer {torch7_path(name)} {layer} gets {_by(layer_shape)}"
    if options.input_size is not None:
        problem = f"{net.name} does not accept {_by(sample)}: {where}"
        raise UserError(f"option --input-size: {problem}; the net's own size is {_by(own)}")
    problem = f"{net.name} does not accept {shape[-2]}x{shape[-1]}: {where}"
    raise UserError(f"option -x, -y: {problem}; {_advice(on_meta, shape, own)}")


def _advice(on_meta: "nn.Module", shape: tuple[int, ...], size: tuple[int, ...]) -> str:
    """What -x and -y could be instead of those in ``shape``, for a net whose own size is ``size``."""
    from nets.input_size import failing_layer, smallest_accepted

    # Each side is tried with the other at the net's own size, so that both are named when both are wrong.
    own = (*shape[:-2], *size[1:])
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
    return ", ".join(advice)


def _by(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _check_memory(
    options: LegacyOptions,
    net: Net,
    on_meta: "nn.Module",
    shape: tuple[int, ...],
    device: "torch.device",
) -> None:
    """Refuses a batch on the CPU that cannot fit, before the system kills the process for it."""
    import torch

    from nets.input_size import activation_elements

    available, batch = available_bytes(), _batch_size(net, shape)
    bytes_each = getattr(torch, options.dtype).itemsize
    if device.type != "cpu" or available is None:
        return
    # No net keeps a thousand times an image, its own or ImageNet's; most batches need no closer look.
    if 1000 * max(math.prod(shape), batch * math.prod(IMAGENET)) * bytes_each < available:
        return
    fixed = 2 * registry.parameter_count(on_meta) * bytes_each  # the parameters and their gradients
    sample_shape = (1, *shape[-len(net.input_size) :])
    dtype = torch.int64 if net.tokens else torch.float32
    sample = activation_elements(on_meta, sample_shape, dtype) * bytes_each
    if fixed + batch * sample > available:
        largest = max(0, (available - fixed) // sample)
        needed = (fixed + batch * sample) / 2**30
        raise OutOfDeviceMemoryError(
            f"option -batch_size {batch}: needs at least {needed:.1f} GiB of memory and "
            f"{available / 2**30:.1f} GiB are available; the largest batch to try is {largest}"
        )

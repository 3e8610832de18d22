"""From options to what is measured: the device, the net with its parameters, the input, the kernels."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy import backends
from convnet_benchmarks.legacy.options import LegacyOptions
from convnet_benchmarks.legacy.out_of_memory import Shortage, gpu_memory, largest_batch_to_try, shortage
from convnet_benchmarks.legacy.request import Request
from convnet_benchmarks.legacy.torchrun import own_gpu
from convnet_benchmarks.workload.backends import Backend
from convnet_benchmarks.workload.check_runs import check_runs
from convnet_benchmarks.workload.devices import CPU, open_device, open_gpu
from convnet_benchmarks.workload.inputs import sample_input, to_device
from convnet_benchmarks.workload.memory import available_bytes
from convnet_benchmarks.workload.nets import by
from convnet_benchmarks.workload.ran import Ran, ran_on
from nets import registry
from nets.net import Net

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass
class Workload:
    """One net on one device with one input. ``notes`` are for stderr: what a user may not expect."""

    net: Net
    module: "nn.Module"
    input: "torch.Tensor"
    device: "torch.device"
    backend: Backend
    ran: Ran
    model_text: str
    notes: list[str] = field(default_factory=list)


def prepare(request: Request) -> Workload:
    """Builds everything a run needs, from cheap checks to costly memory.

    Raises UserError (bad options) and OutOfDeviceMemoryError (a batch that cannot fit).
    """
    options, net, backend, shape = request.options, request.net, request.backend, request.input_shape
    device = _device(options)
    on_meta = registry.on_meta(net)
    missing = None
    if net.name in registry.NETS:
        _check_shape(request, on_meta)
        missing = _missing_memory(request, on_meta, device)
    if options.ccn2:
        backends.check_ccn2(on_meta, shape)

    import torch

    from nets.torch7.printing import torch7_string

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    if backend.engine and device.type == CPU:
        from nets.engine import compile_ahead

        compile_ahead(on_meta, backend.engine, dtype, shape)  # while the net is made
    module = registry.build(net, options.seed)
    for child in module.modules():
        # A net from outside may still need what a ReLU of its would overwrite.
        if isinstance(child, torch.nn.ReLU) and not (net.own_parameters and options.relu_inplace):
            child.inplace = options.relu_inplace
    module = module.to(device, dtype)
    if missing is not None:  # on a GPU; the input, which is drawn on the CPU, would take minutes
        like = torch.empty(shape, dtype=torch.int64 if net.tokens else dtype, device="meta")
        raise missing.error(largest_batch_to_try(module, like, len(net.input_size)))
    input = to_device(sample_input(net, shape, options.seed), device, dtype)
    if net.own_parameters:
        check_runs(net, module, input, "option --net")
    return Workload(
        net=net,
        module=module,
        input=input,
        device=device,
        backend=backend,
        ran=ran_on(net, shape, backend.name, options.dtype, device, cold_cache=options.cold_cache),
        model_text=torch7_string(module, backends.class_names(backend, options.relu_cudnn)),
        notes=_notes(options, net),
    )


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
    if not options.cuda:
        return open_device(CPU)
    return open_gpu(own_gpu(options.device), "option -cuda true", "option --device", "-cuda false")


def _check_shape(request: Request, on_meta: "nn.Module") -> None:
    """Checks on shapes alone that a net of the registry accepts the input."""
    import torch

    from nets.input_size import failing_layer

    net, shape = request.net, request.input_shape

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
    where = f"layer {torch7_path(name)} {layer} gets {by(layer_shape)}"
    if request.options.input_size is not None:
        problem = f"{net.name} does not accept {by(sample)}: {where}"
        raise UserError(f"option --input-size: {problem}; the net's own size is {by(own)}")
    problem = f"{net.name} does not accept {shape[-2]}x{shape[-1]}: {where}"
    raise UserError(f"option -x, -y: {problem}; {_advice(on_meta, shape, own)}")


def _advice(on_meta: "nn.Module", shape: tuple[int, ...], size: tuple[int, ...]) -> str:
    """Returns what -x and -y could be instead of those in ``shape``, for a net whose own size is ``size``."""
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


def _missing_memory(request: Request, on_meta: "nn.Module", device: "torch.device") -> Shortage | None:
    """Returns what a batch that cannot fit on a GPU lacks, None for one that may fit.

    On a CPU such a batch is refused at once, before the system kills the process for it.
    """
    import torch

    available = available_bytes() if device.type == CPU else gpu_memory(device)
    itemsize = getattr(torch, request.options.dtype).itemsize
    missing = shortage(request.net, on_meta, request.input_shape, itemsize, available)
    if missing is not None and device.type == CPU:
        raise missing.error(missing.largest)
    return missing

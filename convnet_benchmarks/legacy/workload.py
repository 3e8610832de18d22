"""From a request to what is measured: the device and its clock, the net with its parameters, the input."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy import backends
from convnet_benchmarks.legacy.fit import LacksGpuMemoryError, memory_missing, too_large
from convnet_benchmarks.legacy.options import LegacyOptions
from convnet_benchmarks.legacy.request import Request
from convnet_benchmarks.nets import engine, registry
from convnet_benchmarks.nets.engine.kernels.compiled import early
from convnet_benchmarks.timing.loops import Clock, device_clock
from convnet_benchmarks.workload.devices import CPU, open_device, open_gpu
from convnet_benchmarks.workload.inputs import batch_for, in_format
from convnet_benchmarks.workload.memory import device_memory

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass
class Workload:
    """The net and the input that a request asks for, on their device, and the clock that times them."""

    request: Request
    module: "nn.Module"
    input: Any  # a tensor, or several in a dict
    device: "torch.device"
    clock: Clock
    model_text: str
    note: str = ""  # of the net, for stderr


def prepare(request: Request, rank: int = 0) -> Workload:
    """Builds everything a run needs, cheap checks first. ``rank``: of the process on this
    machine, which takes the GPU after those of the others.

    Raises UserError (bad options), and OutOfDeviceMemoryError or LacksGpuMemoryError (a batch that cannot
    fit).
    """
    options, net, backend, shape = request.options, request.net, request.backend, request.input_shape
    on_engine = bool(backend.engine) and not options.cuda
    if on_engine:
        early.start(options.dtype)  # while PyTorch is loaded
    device = _device(options, rank)
    available = device_memory(device)
    clock = device_clock(device, cold_cache=options.cold_cache, synchronises=options.sync)
    on_meta = registry.on_meta(net)
    missing = ""
    if net.name in registry.NETS:
        missing, largest = memory_missing(request, on_meta, available)
        if missing and device.type == CPU:  # the system would kill the process for it
            raise too_large(request, missing, largest)
    if options.ccn2:
        backends.check_ccn2(on_meta, shape)

    import torch

    from convnet_benchmarks.nets.several_inputs import net_within
    from convnet_benchmarks.nets.torch7.printing import torch7_string

    names = backends.class_names(backend, options.relu_cudnn)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    if on_engine:
        usual = engine.EFFORTS[options.tuning].seconds
        timed = (usual if options.tuning_seconds is None else options.tuning_seconds) > 0
        engine.compile_ahead(on_meta, backend.engine, dtype, shape, timed)  # while the net is made
    module = registry.build(net, options.seed)
    for child in module.modules():
        # A net from outside may still need what its ReLU would overwrite.
        if isinstance(child, torch.nn.ReLU) and not (net.own_parameters and options.relu_inplace):
            child.inplace = options.relu_inplace
    text = torch7_string(net_within(module), names)
    note = _converted(module, options.dtype)
    module = in_format(module, device, dtype)
    if missing:  # on a GPU; the input, which is drawn on the CPU, would take minutes
        raise LacksGpuMemoryError(missing, module)
    try:
        input = batch_for(net, module, request.samples, options.seed, device, dtype, shape=shape)
    except UserError as error:
        raise UserError(f"{error}{note and f' ({note})'}") from None
    return Workload(
        request=request,
        module=module,
        input=input,
        device=device,
        clock=clock,
        model_text=text,
        note=note,
    )


def _converted(module: "nn.Module", dtype: str) -> str:
    """Returns the note that the net's numbers (bfloat16, say) become ``dtype``; empty if they do not."""
    own = {str(one.dtype).removeprefix("torch.") for one in module.parameters() if one.is_floating_point()}
    if len(own) != 1 or own & {dtype, "float32"}:
        return ""
    (kind,) = own
    return f"the net's {kind} numbers were converted to {dtype}; --dtype {kind} keeps them"


def _device(options: LegacyOptions, rank: int) -> "torch.device":
    if not options.cuda:
        return open_device(CPU)
    return open_gpu(options.device + rank, "option -cuda true", "option --device", "-cuda false")

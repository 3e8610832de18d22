"""From a point to what can be run and timed: the net, its input, the kernels, the clock."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks import named_nets, study_backends
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points import Point
from convnet_benchmarks.study_backends import Opened, UnsupportedError
from convnet_benchmarks.timing import Clock, CudaClock, HostClock
from nets import registry

# Images from which batch normalisation in a net that was never trained has its statistics.
_STATISTICS_BATCH = 4

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True)
class PointWorkload:
    """A point made ready. ``opened`` runs it, ``clock`` times it."""

    module: "nn.Module"
    inputs: "tuple[torch.Tensor, ...]"
    device: "torch.device"
    clock: Clock
    opened: Opened


@contextlib.contextmanager
def open_point(point: Point) -> Iterator[PointWorkload]:
    """Builds the net and its input and selects the kernels; leaves PyTorch's settings as they were.

    Raises UserError for an unknown net or device and UnsupportedError for what does not go together.
    """
    import torch

    backend = study_backends.find(point.backend)
    device = open_device(point.device)
    why = backend.why_not_on(device.type)
    if why:
        raise UnsupportedError(why)
    threads = torch.get_num_threads()
    if point.threads is not None:
        torch.set_num_threads(point.threads)
    try:
        dtype = getattr(torch, point.dtype)
        module, inputs = _net_and_inputs(point)
        module = module.to(device, dtype)
        inputs = tuple(x.to(device, dtype) if x.is_floating_point() else x.to(device) for x in inputs)
        clock: Clock = CudaClock(device, True) if device.type == "cuda" else HostClock()
        training = point.mode == "training"
        with study_backends.open_backend(backend, module, inputs, training) as opened:
            yield PointWorkload(module, inputs, device, clock, opened)
    finally:
        torch.set_num_threads(threads)


def open_device(name: str) -> "torch.device":
    """The device ``cpu``, ``cuda`` or ``cuda:N``; raises UserError where it is not there."""
    import torch

    if name == "cpu":
        return torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type != "cuda":
        raise UserError(f"device '{name}': accepted: cpu, cuda, cuda:0 and so on")
    if not torch.cuda.is_available():
        why = "this build of PyTorch has no CUDA" if torch.version.cuda is None else "no CUDA GPU was found"
        raise UserError(f"device '{name}': {why}; accepted here: cpu")
    index = device.index or 0
    if index >= torch.cuda.device_count():
        raise UserError(f"device '{name}': the GPUs here are 0 to {torch.cuda.device_count() - 1}")
    device = torch.device("cuda", index)
    torch.cuda.set_device(device)
    return device


def tensors_in(output: Any) -> "list[torch.Tensor]":
    """The tensors of a net's output, which may be a tensor, or a tuple, list or dictionary of them."""
    import torch

    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = list(output.values())
    return (
        [tensor for part in output for tensor in tensors_in(part)]
        if isinstance(output, (list, tuple))
        else []
    )


def _net_and_inputs(point: Point) -> "tuple[nn.Module, tuple[torch.Tensor, ...]]":
    """The net, float32 on the CPU, and inputs for it."""
    import torch

    from nets.batch_norm_statistics import set_running_statistics

    net = named_nets.find(point.net, point.input_size, "net")
    generator = torch.Generator().manual_seed(point.seed + 1)
    module = registry.build(net, point.seed)
    if point.mode == "inference" and not net.own_parameters:
        few = torch.Generator().manual_seed(point.seed + 2)
        set_running_statistics(module, net.sample((_STATISTICS_BATCH, *net.input_size), few))
    return module, (net.sample((point.batch_size, *net.input_size), generator),)

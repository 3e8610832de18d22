"""From a point to what can be run and timed: the net, its input, the kernels, the clock."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convnet_benchmarks import study_backends
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points import Point
from convnet_benchmarks.study_backends import Opened, UnsupportedError
from convnet_benchmarks.timing import Clock, CudaClock, HostClock
from nets import registry

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


def _net_and_inputs(point: Point) -> "tuple[nn.Module, tuple[torch.Tensor, ...]]":
    """The net, float32 on the CPU, and inputs for it."""
    import torch

    try:
        net = registry.find(point.net)
    except KeyError as error:
        raise UserError(error.args[0]) from None
    generator = torch.Generator().manual_seed(point.seed + 1)
    shape = (point.batch_size, *(point.input_size or net.input_size))
    return registry.build(net, point.seed), (net.sample(shape, generator),)

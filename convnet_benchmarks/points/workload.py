"""From a point to what can be run and timed: the net, its input, the kernels, the clock."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.timing.loops import Clock, device_clock
from convnet_benchmarks.workload import backends
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.author_errors import check_runs
from convnet_benchmarks.workload.backends import Opened, UnsupportedError
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

    backend = backends.find(point.backend)
    device = open_device(point.device)
    why = backend.why_not_on(device.type)
    if why:
        raise UnsupportedError(why)
    threads = torch.get_num_threads()
    if point.threads is not None:
        torch.set_num_threads(point.threads)
    try:
        dtype = getattr(torch, point.dtype)
        net = named_nets.find(point.net, point.input_size, "net")
        build = build_for_inference if point.mode == "inference" else registry.build
        module = build(net, point.seed).to(device, dtype)
        inputs = (to_device(sample_input(net, point.batch_size, point.seed), device, dtype),)
        if net.own_parameters:
            check_runs(net, module, inputs[0])
        training = point.mode == "training"
        with backends.open_backend(backend, module, inputs, training) as opened:
            yield PointWorkload(module, inputs, device, device_clock(device), opened)
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


def sample_input(net: registry.Net, batch_size: int, seed: int) -> "torch.Tensor":
    """A batch of inputs on the CPU; the same numbers for the same seed."""
    import torch

    return net.sample((batch_size, *net.input_size), torch.Generator().manual_seed(seed + 1))


def to_device(input: "torch.Tensor", device: "torch.device", dtype: "torch.dtype") -> "torch.Tensor":
    """``input`` on ``device`` as ``dtype``; whole numbers, such as words, keep their type."""
    return input.to(device, dtype if input.is_floating_point() else None)


def build_for_inference(net: registry.Net, seed: int) -> "nn.Module":
    """The net, float32 on the CPU; if it is untrained, with running statistics from a few inputs."""
    import torch

    from nets.batch_norm_statistics import set_running_statistics

    module = registry.build(net, seed)
    if not net.own_parameters:
        generator = torch.Generator().manual_seed(seed + 2)
        set_running_statistics(module, net.sample((_STATISTICS_BATCH, *net.input_size), generator))
    return module

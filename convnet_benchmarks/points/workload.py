"""From a point to what can be run and timed: the net, its input, the kernels, the clock."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.nets import registry
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.timing.loops import Clock, device_clock
from convnet_benchmarks.workload import backends
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.backends import UnsupportedError
from convnet_benchmarks.workload.devices import device_type, open_device
from convnet_benchmarks.workload.inputs import batch_for, blank_batch, build_for_inference, in_format
from convnet_benchmarks.workload.kernels import open_inference, open_training, phase_steps
from convnet_benchmarks.workload.ran import Ran, ran_on

if TYPE_CHECKING:
    import torch
    from torch import nn

    from convnet_benchmarks.nets.engine import Report


@dataclass(frozen=True)
class PointWorkload:
    """A point made ready. ``infer`` does a forward pass, ``clock`` times it.

    ``phases``: the steps of a training pass by name, in order; empty in inference. ``engine``: what the CPU
    engine chose, None if PyTorch runs the net.
    """

    module: "nn.Module"
    input: Any
    device: "torch.device"
    clock: Clock
    infer: Callable[[], Any]
    phases: dict[str, Callable[[], object]]
    engine: "Report | None"
    ran: Ran

    def run(self) -> None:
        """Does one pass: of inference, or in training of the three phases."""
        if not self.phases:
            self.infer()
        for phase in self.phases.values():
            phase()


@contextlib.contextmanager
def open_point(point: Point, *, drawn: bool = True) -> Iterator[PointWorkload]:
    """Builds the net and its input and selects the kernels; leaves PyTorch's settings as they were.

    Without ``drawn`` the input is zeros, for a pass whose numbers do not matter. Raises UserError for an
    unknown net or device and UnsupportedError for what does not go together.
    """
    import torch

    backend = backends.find(point.backend)
    why = backend.why_not_on(device_type(point.device))
    if why:
        raise UnsupportedError(why)
    device = open_device(point.device)
    training = point.mode == "training"
    threads = torch.get_num_threads()
    if point.threads is not None:
        torch.set_num_threads(point.threads)
    try:
        dtype = getattr(torch, point.dtype)
        net = named_nets.find(point.net, point.input_size, "--nets")
        build = registry.build if training else build_for_inference
        module = in_format(build(net, point.seed), device, dtype).train(training)
        if drawn or net.own_parameters:
            about = (point.batch_size, point.seed, device, dtype)
            input = batch_for(net, module, *about, "option --nets")
        else:
            input = blank_batch(net, module, point.batch_size, device, dtype)
        opener = open_training if training else open_inference
        with opener(backend, module, input, device) as opened:
            phases = phase_steps(opened.phases, input) if training and opened.phases else {}
            clock = device_clock(device, cold_cache=point.cold_cache)
            cold = point.cold_cache
            ran = ran_on(net, input, backend.name, point.dtype, device, cold_cache=cold)
            yield PointWorkload(module, input, device, clock, opened.infer, phases, opened.engine, ran)
    finally:
        torch.set_num_threads(threads)

"""Measures a module of the caller's."""

import copy
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from convnet_benchmarks import environment
from convnet_benchmarks.api.results import Results
from convnet_benchmarks.errors import UserError, unknown
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.points.fields import is_finite, is_whole
from convnet_benchmarks.points.measure import Outcome, figures, record_of
from convnet_benchmarks.points.point import MODES, OK, Point
from convnet_benchmarks.points.workload import PointWorkload
from convnet_benchmarks.timing.loops import Settling, device_clock
from convnet_benchmarks.workload.backends import BACKENDS, UnsupportedError
from convnet_benchmarks.workload.check_runs import check_runs
from convnet_benchmarks.workload.devices import DTYPES
from convnet_benchmarks.workload.kernels import open_inference, open_training, phase_steps
from convnet_benchmarks.workload.nets import an
from convnet_benchmarks.workload.ran import ran_on

if TYPE_CHECKING:
    import torch
    from torch import nn


def benchmark(
    module: "nn.Module",
    input: "Sequence[int] | torch.Tensor",
    *,
    mode: str = "inference",
    backend: str = "stock",
    seconds: float = 10.0,
    cold_cache: bool = False,
    name: str = "",
) -> Results:
    """Measures ``module`` on ``input``: a batch, or the shape of one, first the number of samples.

    ``mode``: "inference", or "training", which also measures updateOutput, updateGradInput and
    accGradParameters. ``backend``: a name that ``convnet-benchmarks backends --help`` lists, such as "auto".
    ``seconds``: how long each figure is sampled at most; less where its median is known to 1 % before.
    ``cold_cache``: the last-level cache is emptied before each timed pass.
    ``name``: what the results call the net; by default the module's class.

    A copy of the module runs, on its device and in its number format: parameters, gradients, running
    statistics and mode of the module stay as they are. Raises UserError for what cannot be measured.
    """
    import torch

    if not isinstance(module, torch.nn.Module):
        raise UserError(
            f"benchmark: the first argument is {an(type(module).__name__)}; accepted: a torch.nn.Module"
        )
    if mode not in MODES:
        raise UserError(f"benchmark: {unknown('mode', str(mode), MODES)}")
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise UserError(f"benchmark: {unknown('backend', str(backend), BACKENDS)}")
    if not is_finite(seconds) or seconds <= 0:
        raise UserError(f"benchmark: seconds is {seconds!r}; accepted: a number above 0")
    if not isinstance(name, str):
        raise UserError(f"benchmark: name is {name!r}; accepted: a text")
    begin = time.perf_counter()
    batch = _batch(module, input)
    dtype = str(batch.dtype).removeprefix("torch.")
    kernels, device = BACKENDS[backend], batch.device
    if why := kernels.why_not_on(device.type):
        raise UserError(f"benchmark: {why}")
    own = copy.deepcopy(module).train(mode == "training")
    net = Net(name or type(module).__name__, lambda: own, tuple(batch.shape[1:]), "", own_parameters=True)
    check_runs(net, own, batch, "benchmark")
    point = Point(
        net=net.name,
        batch_size=len(batch),
        device=str(device),
        dtype=dtype if dtype in DTYPES else "float32",
        backend=backend,
        mode=mode,
        threads=torch.get_num_threads(),
        input_size=net.input_size,
        cold_cache=cold_cache,
    )
    settling = Settling(most_seconds=seconds, least_seconds=min(0.5, seconds))
    try:
        opener = open_training if mode == "training" else open_inference
        with opener(kernels, own, batch) as opened:
            phases = phase_steps(opened.phases, batch) if mode == "training" and opened.phases else {}
            ran = ran_on(net, tuple(batch.shape), backend, dtype, device, cold_cache=cold_cache)
            clock = device_clock(device, cold_cache=cold_cache)
            workload = PointWorkload(own, batch, device, clock, opened.infer, phases, opened.engine, ran)
            found = figures(workload, settling)
    except UnsupportedError as error:
        raise UserError(f"benchmark: {error}") from None
    about = {"kind": "point", "machine": environment.machine(str(device))}
    return Results.of_records([about | record_of(point, Outcome(OK, "", found), begin)])


def _batch(module: "nn.Module", input: "Sequence[int] | torch.Tensor") -> "torch.Tensor":
    """Returns the batch itself, or one of normal numbers on the module's device in its number format."""
    import torch

    if isinstance(input, torch.Tensor):
        batch = input.detach()
    else:
        shape = tuple(input) if isinstance(input, (list, tuple)) else ()
        if len(shape) < 2 or not all(is_whole(size) for size in shape):
            raise UserError(
                f"benchmark: input is {input!r}; accepted: a tensor, or sizes such as (64, 3, 224, 224)"
            )
        like = next((p for p in module.parameters() if p.is_floating_point()), torch.empty(0))
        generator = torch.Generator().manual_seed(2)
        batch = torch.randn(shape, generator=generator).to(like.device, like.dtype)
    if batch.dim() < 2:
        raise UserError("benchmark: input has one dimension; accepted: a batch, samples along the first")
    return batch

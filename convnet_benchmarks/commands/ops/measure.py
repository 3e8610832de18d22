"""One run of the study: a net at every batch size on every device, in a process of its own."""

import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError
from convnet_benchmarks.options.nets import build_net, find_devices, find_net, one_line_errors
from convnet_benchmarks.timing.conditions import watched
from convnet_benchmarks.timing.loops import Clock, Watch, device_clock, run_loop, warm_up, watched_loop
from convnet_benchmarks.workload.backends import BACKENDS, Backend, UnsupportedError
from convnet_benchmarks.workload.inputs import batch_for
from convnet_benchmarks.workload.kernels import (
    first_inference,
    framework_switches,
    laid_out,
    open_inference,
)
from convnet_benchmarks.workload.ran import ran_on

if TYPE_CHECKING:
    import torch
    from torch import nn


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Measures what ``request`` says (the study's options).

    ``measured``: a list with one entry per device and batch. Of a batch that is out of memory, ``too_large``
    is its size and ``problem`` says so; larger ones are not tried.
    ``setup_ms``: the input drawn and put on the device. ``layers``: path, kind and milliseconds. In mode
    ``training`` a layer's milliseconds are by phase, and so is ``total_ms``. ``conditions``: of the
    machine in the passes of ``total_ms``. ``operators``: PyTorch's
    operators by name, with calls per pass and their own milliseconds. Raises UserError if the net
    does not run.
    """
    import torch

    if request["threads"] is not None:
        torch.set_num_threads(request["threads"])
    backend = BACKENDS[request["backend"]]
    with framework_switches(backend):
        try:
            return _measured(request, backend)
        except UnsupportedError as error:
            raise UserError(f"option --backend {error}") from None


def _measured(request: dict[str, Any], backend: Backend) -> dict[str, Any]:
    import torch

    from convnet_benchmarks.nets.state.kept_state import KeptState

    dtype = getattr(torch, request["dtype"])
    net = find_net(request)
    measure = _training if request["mode"] == "training" else _inference
    if backend.graph:
        measure = _as_graphs
    measured: list[dict[str, Any]] = []
    too_large, problem = None, ""
    for device in find_devices(request["devices"]):
        module = build_net(net, request["seed"], device, dtype)
        clock = device_clock(device, cold_cache=request["cold_cache"])
        for batch in request["batch_sizes"]:
            if too_large is not None and batch >= too_large:
                continue
            start = time.perf_counter()
            try:
                where = f"{request['net']}, batch {batch}, {request['dtype']}, {device}"
                with KeptState(module), one_line_errors(where):  # what it keeps may have a batch's size
                    input = batch_for(net, module, batch, request["seed"], device, dtype)
                    input = laid_out(backend, module, input, device)
                    clock.synchronise()
                    setup_ms = (time.perf_counter() - start) * 1e3
                    found = measure(module, input, device, clock, request)
            except OutOfDeviceMemoryError as error:
                too_large, problem = batch, str(error)
                continue
            cold = request["cold_cache"]
            ran = ran_on(net, input, backend.name, request["dtype"], device, cold_cache=cold).as_dict()
            about = {"device": str(device), "batch": ran["batch_size"], "ran": ran}
            measured.append({**about, "setup_ms": setup_ms, **found})
    return {"measured": measured, "too_large": too_large, "problem": problem}


def _inference(
    module: "nn.Module", input: Any, device: "torch.device", clock: Clock, request: dict[str, Any]
) -> dict[str, Any]:

    from convnet_benchmarks.timing.layers import empty_layer_ms, time_layers

    def forward() -> None:
        module(input)

    found: dict[str, Any] = {}
    _, mode = first_inference(lambda: warm_up(forward, clock))
    with mode():
        with watched(device, clock) as conditions:
            times = time_layers(module, input, clock, request["passes"], conditions)
        found["total_ms"] = times.plain_ms
        found["hooked_ms"] = times.hooked_ms
        found["outside_ms"] = times.outside_ms
        found["conditions"] = conditions.as_dict()
        found["empty_layer_ms"] = empty_layer_ms(clock, input)
        found["layers"] = [
            {"path": layer.path, "kind": layer.kind, "ms": ms}
            for layer, ms in zip(times.layers, times.layer_ms, strict=True)
        ]
        if "operators" in request["tables"]:
            found |= _operators(forward, device, request["passes"])
    return found


def _as_graphs(
    module: "nn.Module", input: Any, device: "torch.device", clock: Clock, request: dict[str, Any]
) -> dict[str, Any]:
    """Measures the whole net as one CUDA graph, and each layer alone as a graph of its own: inside the
    whole one a layer cannot be timed.
    """
    from convnet_benchmarks.timing.phases import layers_alone

    def graph_ms(module: "nn.Module", input: Any, watch: Watch | None = None) -> float:
        with open_inference(BACKENDS[request["backend"]], module, input, device) as opened:
            warm_up(opened.infer, clock)
            samples = [
                watched_loop(opened.infer, 1, clock, watch).samples_ms[0] for _ in range(request["passes"])
            ]
        return statistics.median(samples)

    layers: list[dict[str, Any]] = [
        {"path": layer.path, "kind": layer.kind, "ms": {} if own is None else graph_ms(alone, own)}
        for layer, alone, own in layers_alone(module, input)
    ]
    with watched(device, clock) as conditions:
        total_ms = graph_ms(module, input, conditions)
    return {"total_ms": total_ms, "conditions": conditions.as_dict(), "layers": layers}


def _training(
    module: "nn.Module", input: Any, device: "torch.device", clock: Clock, request: dict[str, Any]
) -> dict[str, Any]:
    from convnet_benchmarks.nets.phases import AutogradPhases
    from convnet_benchmarks.timing.phases import layer_phases, time_phases

    module.train()
    with watched(device, clock) as conditions:
        total_ms = time_phases(module, input, clock, request["passes"], conditions)
    found: dict[str, Any] = {"total_ms": total_ms, "conditions": conditions.as_dict()}
    found["layers"] = [
        {"path": layer.path, "kind": layer.kind, "ms": ms}
        for layer, ms in layer_phases(module, input, clock, request["passes"])
    ]
    if "operators" in request["tables"]:
        with AutogradPhases(module) as phases:

            def training_pass() -> None:
                output = phases.updateOutput(input)
                phases.updateGradInput(input, output)
                phases.accGradParameters(input, output)

            found |= _operators(training_pass, device, request["passes"])
    return found


def _operators(work: Callable[[], None], device: "torch.device", passes: int) -> dict[str, Any]:
    """Measures PyTorch's operators by its profiler: calls per pass and own time, without operators inside.

    Always with what is in the cache: the profiler would see how it is emptied.
    """
    from torch.profiler import ProfilerActivity, profile

    clock, device_type = device_clock(device), device.type
    activities = [ProfilerActivity.CPU]
    if device_type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities):  # the first profile also starts the profiler
        work()
    with profile(activities=activities) as profiler:
        profiled_ms = statistics.median(run_loop(work, passes, clock).samples_ms)
    operators = {
        event.key: {
            "calls": event.count / passes,
            "cpu_ms": event.self_cpu_time_total / 1e3 / passes,
            "device_ms": event.self_device_time_total / 1e3 / passes if device_type == "cuda" else None,
        }
        for event in profiler.key_averages()
        if event.device_type.name == "CPU"  # a kernel's time is that of the operator that launched it
    }
    return {"operators": operators, "profiled_ms": profiled_ms}

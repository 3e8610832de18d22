"""What cuDNN's choice of kernels costs and gives: OverFeat's convolutions, by how many kernels it may try.

PyTorch keeps what was chosen for a shape by thread, so each number of kernels gets a thread of its own.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.gpu.checks.command import run
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.phases import PHASES
from convnet_benchmarks.timing.loops import device_clock, run_loop
from convnet_benchmarks.workload.inputs import sample_batch

_NET, _BATCH = "overfeat_accurate", 64
_SMALL = ("recognize_digits", 2)
_PASSES = 5
# How many kernels may be tried; None: cuDNN's estimate decides, without trying any.
_TRIED = (None, 1, 2, 3, 4, 6, 10)
# Layout and number of samples; where one takes too long the others are there.
_SETTINGS = (("NCHW", 1.0), ("NHWC", 1.0), ("NCHW", 1 / 64))


def measure(small: bool) -> Iterator[dict[str, Any]]:
    """Yields for each layout, batch and number of kernels the seconds of choosing, and ms of each phase."""
    name, batch = _SMALL if small else (_NET, _BATCH)
    net = registry.NETS[name]
    module = registry.build(net, 1).to("cuda")
    found: dict[str, Any] = {}
    told: list[str] = []
    for layout, part in _SETTINGS:
        samples = max(1, round(batch * part))
        convolutions = _convolutions(module, sample_batch(net, samples, 1).to("cuda"), layout)
        for tried in _TRIED if layout == "NCHW" else _TRIED[:4]:
            with ThreadPoolExecutor(1) as thread:
                entry = thread.submit(_time, convolutions, tried).result()
            label = f"batch {samples}, {layout}, {'no' if tried is None else tried} kernels tried"
            found[label] = entry
            phases = " / ".join(f"{entry[phase]:.3g}" for phase in PHASES)
            told.append(f"{label}: {entry['seconds']:.2f} s; {phases} ms")
            yield {"autotuning": found, "told": told}


def _convolutions(module: nn.Module, input: Tensor, layout: str) -> list[tuple[nn.Conv2d, Tensor, Tensor]]:
    """Returns each convolution with its input and a gradient of its output."""
    found: list[tuple[nn.Conv2d, Tensor, Tensor]] = []
    order = torch.channels_last if layout == "NHWC" else torch.contiguous_format

    def keep(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(layer, nn.Conv2d)
        gradient = torch.randn_like(output).contiguous(memory_format=order)
        found.append((layer, inputs[0].detach().clone(memory_format=order), gradient))

    hooks = [one.register_forward_hook(keep) for one in module.modules() if isinstance(one, nn.Conv2d)]
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=False):
        module(input)
    for hook in hooks:
        hook.remove()
    return found


def _time(convolutions: list[tuple[nn.Conv2d, Tensor, Tensor]], tried: int | None) -> dict[str, float]:
    """Returns the ``seconds`` that the first pass took longer than one with its kernels chosen, and ms per
    pass of all convolutions by phase."""
    clock = device_clock(torch.device("cuda", 0))
    layout = (
        torch.channels_last if convolutions[0][1].is_contiguous(memory_format=torch.channels_last) else None
    )
    limit = 10 if tried is None else tried
    entry = {"seconds": 0.0}
    switches = torch.backends.cudnn.flags(True, tried is not None, limit, False, False)
    with torch.inference_mode(), switches:
        torch.nn.functional.conv2d(
            torch.ones(1, 1, 8, 8, device="cuda"), torch.ones(1, 1, 3, 3, device="cuda")
        )
        for phase in PHASES:
            work = _phase(phase, convolutions, layout)
            clock.synchronise()
            start = time.perf_counter()
            work()
            clock.synchronise()
            first = time.perf_counter() - start
            entry[phase] = run_loop(work, _PASSES, clock).ms_per_pass
            entry["seconds"] += max(0.0, first - entry[phase] / 1e3)
    return entry


def _phase(
    phase: str, convolutions: list[tuple[nn.Conv2d, Tensor, Tensor]], layout: Any
) -> Callable[[], None]:
    weights = [
        one.weight.detach() if layout is None else one.weight.detach().contiguous(memory_format=layout)
        for one, _, _ in convolutions
    ]
    gradients = [phase == PHASES[1], phase == PHASES[2], False]

    def forward() -> None:
        for (layer, x, _), weight in zip(convolutions, weights, strict=True):
            nn.functional.conv2d(x, weight, None, layer.stride, layer.padding, layer.dilation, layer.groups)

    def backward() -> None:
        for (layer, x, gradient), weight in zip(convolutions, weights, strict=True):
            sizes = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups)
            torch.ops.aten.convolution_backward(gradient, x, weight, None, *sizes, gradients)

    return forward if phase == PHASES[0] else backward


if __name__ == "__main__":
    run(measure)

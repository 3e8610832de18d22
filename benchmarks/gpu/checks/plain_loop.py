"""The three phases against the loop that one would write: channels-last, cudnn.benchmark, backward().

Both compute the same: the gradients of the input and of every parameter. They take turns in one process, and
cuDNN tries as many kernels for either (nets/cudnn.py): with PyTorch's ten it chooses for minutes.
"""

import contextlib
import copy
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from benchmarks.gpu.checks.command import run
from convnet_benchmarks.nets import registry
from convnet_benchmarks.timing.loops import device_clock, run_loop, warm_up
from convnet_benchmarks.workload.backends import BACKENDS, GPU_SWITCHES
from convnet_benchmarks.workload.inputs import sample_batch
from convnet_benchmarks.workload.kernels import framework_switches, open_training

_NETS = {"alexnet_owt": 128, "overfeat_fast": 128, "vgg_a": 64, "googlenet": 128}
_SMALL = {"recognize_digits": 2}
_MOST = 1.02  # what the port's passes may take, relative to the plain loop's
_ROUNDS, _PASSES = 9, 3


def measure(small: bool) -> Iterator[dict[str, Any]]:
    """Yields for each net the milliseconds of a pass, and the phases' over the plain loop's: the median of
    the rounds' quotients.
    """
    found: dict[str, Any] = {}
    missed: list[str] = []
    told: list[str] = []
    for name, batch in (_SMALL if small else _NETS).items():
        entry = found[f"{name}, batch {batch}"] = _compare(name, batch)
        best = min(entry[way]["over plain"] for way in ("cudnn", "channels-last"))
        if best > _MOST and not small:
            missed.append(f"{name}: the phases take {best:.3f} of the plain loop's time; at most {_MOST}")
        for way, one in entry.items():
            told.append(
                f"{name}, batch {batch}, {way}: {one['ms']:.2f} ms, {one['over plain']:.3f} of plain's"
            )
        yield {"plain_loop": found, "told": told, "missed": missed}


def _compare(name: str, batch: int) -> dict[str, Any]:
    net = registry.NETS[name]
    input = sample_batch(net, batch, 1).to("cuda")
    made = registry.build(net, 1)
    ways = {"cudnn": GPU_SWITCHES["cudnn"], "channels-last": BACKENDS["channels-last"]}
    ms: dict[str, list[float]] = {}
    for way, backend in ways.items():
        ours = copy.deepcopy(made).to("cuda")
        theirs = copy.deepcopy(made).to("cuda").to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        plain = _plain_pass(theirs, input.contiguous(memory_format=torch.channels_last))
        clock = device_clock(input.device)
        with _three_phases(backend, ours, input) as phases, framework_switches(replace(backend, cudnn=True)):
            for work in (phases, plain):
                warm_up(work, clock)
            for _ in range(_ROUNDS):
                for label, work in ((way, phases), (f"plain beside {way}", plain)):
                    ms.setdefault(label, []).append(run_loop(work, _PASSES, clock).ms_per_pass)
    return {
        way: {
            "ms": statistics.median(ms[way]),
            "plain ms": statistics.median(ms[f"plain beside {way}"]),
            "over plain": statistics.median(
                a / b for a, b in zip(ms[way], ms[f"plain beside {way}"], strict=True)
            ),
        }
        for way in ways
    }


@contextlib.contextmanager
def _three_phases(backend: Any, module: nn.Module, input: torch.Tensor) -> Iterator[Callable[[], None]]:
    with open_training(backend, module, input, input.device) as opened:
        phases = opened.phases
        assert phases is not None
        phases.zeroGradParameters()
        if backend.channels_last:
            input = input.contiguous(memory_format=torch.channels_last)

        def one_pass() -> None:
            output = phases.updateOutput(input)
            phases.updateGradInput(input, output)
            phases.accGradParameters(input, output)

        yield one_pass


def _plain_pass(module: nn.Module, input: torch.Tensor) -> Callable[[], None]:
    input = input.requires_grad_()

    def one_pass() -> None:
        input.grad = None
        output = module(input)
        output.backward(output.detach())

    return one_pass


if __name__ == "__main__":
    run(measure)

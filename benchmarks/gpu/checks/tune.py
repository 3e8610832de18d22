"""``--backend auto`` on a GPU: a net's layers by each way, and its passes beside a plain loop's.

The plain loop is what one would write: channels-last, cudnn.benchmark, backward(). Both compute the gradients
of the input and of every parameter, and take turns. In float32 neither may be farther than the other
from float64, near ties in ReLUs and maxima being decided alike (decisions.py).
"""

import copy
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.gpu.checks.command import run
from benchmarks.gpu.checks.decisions import decided, differing, norms_apart, recorded
from convnet_benchmarks.nets import gpu_engine, registry
from convnet_benchmarks.nets.gpu_engine.choice import Chosen
from convnet_benchmarks.nets.gpu_engine.compilation import GpuPhases
from convnet_benchmarks.nets.phases import PHASES, AutogradPhases, Phases
from convnet_benchmarks.timing.loops import device_clock, run_loop, warm_up
from convnet_benchmarks.workload.backends import GPU_SWITCHES
from convnet_benchmarks.workload.inputs import sample_batch, to_device
from convnet_benchmarks.workload.kernels import framework_switches

_BATCHES = {"overfeat_fast": 128, "vgg_a": 64, "alexnet_owt": 128, "googlenet": 128, "resnet50_v1": 32}
_ONE_SAMPLE, _FORMATS = "one sample", "TF32 and bfloat16"
CHOICES = (*_BATCHES, _ONE_SAMPLE, _FORMATS)
_SMALL = ("recognize_digits", 2)
_TRIED = 4  # kernels by cuDNN's autotuner, for the plain loop: with all of them it takes minutes
_ROUNDS, _PASSES = 5, 3
# Of norms, from float64; or so many times what PyTorch's own kernels differ by: where batch normalization has
# few images, that is more than 1e-4 (ResNet-50 with two of them on a CPU: 7e-4).
_MOST_DIFFERENCE, _MOST_TIMES = 1e-4, 2.0


def measure(small: bool, choice: str) -> Iterator[dict[str, Any]]:
    """Yields for each net the ms of a pass by each program, of each layer by each way, and what agrees."""
    found: dict[str, Any] = {}
    told: list[str] = []
    missed: list[str] = []
    for name, batch, tf32, dtype in _settings(small, choice):
        label = f"{name}, batch {batch}{', TF32' if tf32 else ''}, {str(dtype).removeprefix('torch.')}"
        switches = replace(GPU_SWITCHES["cudnn"], tf32=tf32)
        with framework_switches(switches):
            torch.backends.cudnn.benchmark_limit = _TRIED
            for found[label] in _compare(name, batch, dtype, len(_settings(small, choice)) == 1):
                yield {"tune": found, "told": told, "missed": missed}
        told += _lines(label, found[label])
        if dtype is torch.float32 and not tf32:
            missed += [f"{label}: {problem}" for problem in _problems(found[label])]
        yield {"tune": found, "told": told, "missed": missed}
        torch.cuda.empty_cache()


def _settings(small: bool, choice: str) -> list[tuple[str, int, bool, torch.dtype]]:
    every = {_SMALL[0]: _SMALL[1]} if small else _BATCHES
    if choice == _ONE_SAMPLE:
        return [(name, 1, False, torch.float32) for name in every]
    if choice == _FORMATS:
        formats = ((True, torch.float32), (False, torch.bfloat16))
        return [(name, batch, *one) for one in formats for name, batch in every.items()]
    return [(*_SMALL, False, torch.float32)] if small else [(choice, _BATCHES[choice], False, torch.float32)]


def _compare(name: str, batch: int, dtype: torch.dtype, with_layers: bool) -> Iterator[dict[str, Any]]:
    """Yields the figures of a net, more of them each time."""
    net, device = registry.NETS[name], torch.device("cuda", 0)
    x = to_device(sample_batch(net, batch, 1), device, dtype)
    last = x.contiguous(memory_format=torch.channels_last)
    drawn = registry.build(net, 1)

    def module() -> nn.Module:
        return copy.deepcopy(drawn).to(device, dtype)

    entry: dict[str, Any] = {"seconds": {}, "differences": {}, "ms": {}}
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times.json"
        for label in ("choosing", "with the times kept"):
            started = time.perf_counter()
            auto = gpu_engine.compile(module(), x, experimental=True, tuning_file=times)
            entry["seconds"][label] = time.perf_counter() - started
            entry["captured"] = auto.captured
            if with_layers and "layers" not in entry:
                entry["layers"] = [_layer(one) for layer in auto.layers for one in layer.chosen.values()]
            yield entry
            if not with_layers:
                break
    theirs = module().to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def by_ways(on: bool, one_pass: Callable[[], None]) -> Callable[[], None]:
        def work() -> None:
            auto.by_calls.by_pytorch(not on)
            one_pass()

        return work

    works: dict[str, Callable[[], object]] = {
        "auto": by_ways(not auto.on_pytorch, _pass(auto, x)),
        "auto by calls": by_ways(True, _pass(auto.by_calls, last)),
        "plain loop": _plain_pass(theirs, last),
    }
    clock = device_clock(device)
    torch.backends.cudnn.benchmark = True
    started = time.perf_counter()
    for work in works.values():
        warm_up(work, clock)
    entry["seconds"]["warming up"] = time.perf_counter() - started
    ms: dict[str, list[float]] = {label: [] for label in works}
    for _ in range(_ROUNDS):
        for label, work in works.items():
            ms[label].append(run_loop(work, _PASSES, clock).ms_per_pass)
    entry["ms"] = {label: statistics.median(of_label) for label, of_label in ms.items()}
    auto.by_calls.by_pytorch(auto.on_pytorch)
    for phase, step in _steps(auto, x).items():
        entry["ms"][phase] = run_loop(step, _PASSES, clock).ms_per_pass
    yield entry
    # Last, as kernels of double precision may take long: none is tried for them.
    torch.backends.cudnn.benchmark = False
    entry |= _differences(auto, theirs, module().double(), x, last)
    yield entry
    auto.close()


def _layer(one: Chosen) -> dict[str, Any]:
    """Returns each phase's ways: ms, or why one is out."""
    return {
        "shape": str(one.shape),
        "GFLOP": 2e-9 * one.shape.multiply_adds,
        "chosen": one.names,
        "ways": {
            phase: {name: way.why_not or round(way.ms, 4) for name, way in ways.items()}
            for phase, ways in one.tried.items()
        },
    }


def _steps(phases: Phases, x: Tensor) -> dict[str, Callable[[], object]]:
    output = phases.updateOutput(x)
    return {
        "updateOutput": lambda: phases.updateOutput(x),
        "updateGradInput": lambda: phases.updateGradInput(x, output),
        "accGradParameters": lambda: phases.accGradParameters(x, output),
    }


def _pass(phases: Phases, x: Tensor) -> Callable[[], None]:
    def one_pass() -> None:
        output = phases.updateOutput(x)
        phases.updateGradInput(x, output)
        phases.accGradParameters(x, output)

    return one_pass


def _plain_pass(module: nn.Module, input: Tensor) -> Callable[[], None]:
    input = input.detach().requires_grad_()

    def one_pass() -> None:
        input.grad = None
        output = module(input)
        output.backward(output.detach())

    return one_pass


def _differences(
    auto: GpuPhases, theirs: nn.Module, exactly: nn.Module, x: Tensor, last: Tensor
) -> dict[str, Any]:
    """Returns how far norms are from float64's, decisions being those of the ways: of the ways by calls, as
    the net runs, and of PyTorch's own kernels; how many decisions differ by a near tie, and otherwise.
    """
    ways = auto.by_calls
    ways.by_pytorch(False)
    with recorded(auto.module) as ours:
        fixed = ways.updateOutput(last).clone()
    with AutogradPhases(theirs) as stock:
        with recorded(theirs) as own:
            stock.updateOutput(last)
        ties, others = differing(ours, own)
        with decided(theirs, ours):
            usual = _parts(stock, theirs, last, fixed)
    with AutogradPhases(exactly) as stock, decided(exactly, ours):
        expected = _parts(stock, exactly, last.double(), fixed.double())
    of_pytorch = norms_apart(usual, expected)
    gaps = norms_apart(_parts(ways, auto.module, last, fixed), expected)
    ways.by_pytorch(auto.on_pytorch)
    # PyTorch's own kernels would decide near ties by themselves.
    whole = norms_apart(_parts(auto, auto.module, x, fixed), expected) if not auto.on_pytorch else gaps
    inner = {part: gap for part, gap in gaps.items() if part not in ("output", "gradInput")}
    worst = max(inner, key=lambda part: inner[part])
    return {
        "differences": {part: gaps[part] for part in ("output", "gradInput", worst)},
        "as it runs": max(whole.values()),
        "of PyTorch": max(of_pytorch.values()),
        "near ties": ties,
        "other decisions": others,
    }


def _parts(phases: Phases, module: nn.Module, input: Tensor, gradient: Tensor) -> dict[str, Tensor]:
    phases.zeroGradParameters()
    parts = {"output": phases.updateOutput(input).clone()}
    parts["gradInput"] = phases.updateGradInput(input, gradient).clone()
    phases.accGradParameters(input, gradient)
    of_module = {name: one.grad.clone() for name, one in module.named_parameters() if one.grad is not None}
    return {**parts, **of_module}


def _problems(entry: dict[str, Any]) -> list[str]:
    gaps = {**entry["differences"], "what runs": entry["as it runs"]}
    most = max(_MOST_DIFFERENCE, _MOST_TIMES * entry["of PyTorch"])
    found = [f"{part} differs by {gap:.1e}, at most {most:.1e}" for part, gap in gaps.items() if gap > most]
    return found + ([f"{entry['other decisions']} decisions differ"] if entry["other decisions"] else [])


def _lines(label: str, entry: dict[str, Any]) -> list[str]:
    """Returns the summary's lines of a net."""
    ms = entry["ms"]
    gain, phases = ms["plain loop"] / ms["auto"], " / ".join(f"{ms[phase]:.4g}" for phase in PHASES)
    programs = ", ".join(f"{name} {one:.4g}" for name, one in ms.items() if name not in PHASES)
    seconds = ", ".join(f"{name} {one:.1f} s" for name, one in entry["seconds"].items())
    differences = ", ".join(f"{part} {gap:.0e}" for part, gap in entry["differences"].items())
    found = [
        f"{label}: {gain:.2f} times as fast as a plain loop; ms: {programs}; phases {phases}",
        f"  {seconds}; {entry['captured']}",
        f"  from float64: {differences}; PyTorch's own {entry['of PyTorch']:.0e}; "
        f"{entry['near ties']} near ties fell otherwise",
    ]
    ranked = sorted(entry.get("layers", ()), key=lambda layer: -layer["GFLOP"])
    out: dict[str, str] = {}
    for layer in ranked:
        words = []
        for phase, ways in layer["ways"].items():
            best, plainest = layer["chosen"][phase], next(iter(ways))
            words.append(f"{best} {ways[best]} ({ways[plainest]})")
            out.update({f"{name} {phase}": why for name, why in ways.items() if isinstance(why, str)})
        if layer in ranked[:9]:
            found.append(f"  {layer['shape'].removesuffix(', float32')}: {' | '.join(words)}")
    return [*found, *(f"  out: {name}: {' '.join(why.split())[:100]}" for name, why in list(out.items())[:6])]


if __name__ == "__main__":
    run(measure, *CHOICES)

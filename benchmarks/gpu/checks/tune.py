"""``--backend auto`` on a GPU: a net's layers by each way, and its passes beside a plain loop's.

The plain loop is what one would write: channels-last, cudnn.benchmark, backward(). Both compute the gradients
of the input and of every parameter, and take turns.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import nets.gpu_engine
from benchmarks.gpu.checks.command import run
from convnet_benchmarks.timing.loops import device_clock, run_loop, warm_up
from convnet_benchmarks.workload.backends import GPU_SWITCHES
from convnet_benchmarks.workload.inputs import sample_batch, to_device
from convnet_benchmarks.workload.kernels import framework_switches
from nets import registry
from nets.gpu_engine.choice import Chosen
from nets.phases import PHASES, AutogradPhases, Phases

_BATCHES = {"overfeat_fast": 128, "vgg_a": 64, "alexnet_owt": 128, "googlenet": 128, "resnet50_v1": 32}
_ONE_SAMPLE, _FORMATS = "one sample", "TF32 and bfloat16"
CHOICES = (*_BATCHES, _ONE_SAMPLE, _FORMATS)
_SMALL = ("recognize_digits", 2)
_TRIED = 4  # kernels by cuDNN's autotuner, for the plain loop: with all of them it takes minutes
_ROUNDS, _PASSES = 5, 3
_MOST_DIFFERENCE = 1e-2  # of norms, from PyTorch's own kernels


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
        missed += [
            f"{label}: {part} differs by {gap:.1e}"
            for part, gap in found[label]["differences"].items()
            if gap > _MOST_DIFFERENCE and dtype is torch.float32 and not tf32
        ]
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

    def module() -> nn.Module:
        return registry.build(net, 1).to(device, dtype)

    entry: dict[str, Any] = {"seconds": {}, "differences": {}, "ms": {}}
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times.json"
        for label in ("choosing", "with the times kept"):
            started = time.perf_counter()
            auto = nets.gpu_engine.compile(module(), x, experimental=True, tuning_file=times)
            entry["seconds"][label] = time.perf_counter() - started
            entry["captured"] = auto.captured
            if with_layers and "layers" not in entry:
                entry["layers"] = [_layer(one) for layer in auto.layers for one in layer.chosen.values()]
            yield entry
            if not with_layers:
                break
    theirs = module().to(memory_format=torch.channels_last)
    with AutogradPhases(theirs) as stock:
        entry["differences"] = _differences(auto, auto.module, stock, theirs, x, last)
    yield entry
    works: dict[str, Callable[[], object]] = {
        "auto": _pass(auto, x),
        "auto by calls": _pass(auto.by_calls, last),
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
    for phase, step in _steps(auto, x).items():
        entry["ms"][phase] = run_loop(step, _PASSES, clock).ms_per_pass
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
    ours: Phases, our_module: nn.Module, theirs: Phases, their_module: nn.Module, x: Tensor, last: Tensor
) -> dict[str, float]:
    """Returns the norm of each difference as a part of the norm of theirs, for the same gradient."""
    found: list[dict[str, Tensor]] = []
    fixed: Tensor | None = None
    for phases, module, input in ((theirs, their_module, last), (ours, our_module, x)):
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        fixed = output.clone() if fixed is None else fixed
        parts = {"output": output.clone(), "gradInput": phases.updateGradInput(input, fixed).clone()}
        phases.accGradParameters(input, fixed)
        gradients = {name: one.grad for name, one in module.named_parameters() if one.grad is not None}
        found.append({**parts, **gradients})
    expected, result = found
    gaps = {
        part: float((result[part].double() - one.double()).norm() / one.double().norm().clamp(min=1e-30))
        for part, one in expected.items()
    }
    inner = {part: gap for part, gap in gaps.items() if part not in ("output", "gradInput")}
    worst = max(inner, key=lambda part: inner[part])
    return {part: gaps[part] for part in ("output", "gradInput", worst)}


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
        f"  differences: {differences}",
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

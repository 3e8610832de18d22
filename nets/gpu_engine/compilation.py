"""Makes a module ready to run on a GPU, each layer and phase by the fastest way that was found right."""

import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from nets.engine.choice.times_file import cache_file
from nets.engine.report import LayerReport, Report
from nets.gpu_engine.choice import Chooser, free_memory
from nets.gpu_engine.graphs import GraphPhases
from nets.gpu_engine.phases import ChosenPhases, Layer
from nets.gpu_engine.state import all_kept
from nets.gpu_engine.ways import COMPILED, PYTORCHS, has_triton, rounds_to_tf32
from nets.hooks import hook_within, needs_whole_backward
from nets.phases import Phases

# What a run on a card has shown to be right and faster (docs/gpu.md): the kernels compiled by Triton on cards
# of these compute capabilities, and CUDA graphs of the phases. With "experimental" they need not be proven.
_PROVEN_CAPABILITIES = ((9, 0),)
_GRAPHS_ARE_PROVEN = False
_LEAST_CAPABILITY = (8, 0)  # of a card with tensor cores that take what the kernels need
_PASSES = 5  # that compare graphs with calls


class GpuPhases:
    """The three phases on a GPU. Made by :func:`compile`.

    ``updateOutput`` and ``updateGradInput`` may return memory that the next call overwrites. ``captured``
    says whether the phases are issued as CUDA graphs.
    """

    def __init__(self, module: nn.Module, chosen: ChosenPhases, layout: torch.memory_format) -> None:
        self.module = module
        self.captured = ""
        self._chosen = chosen
        self._graphs: GraphPhases | None = None
        self._runs: Phases = chosen
        self._layout = layout
        self._input: Tensor | None = None  # the caller's, and in the phases' layout
        self._own: Tensor | None = None

    @property
    def by_calls(self) -> ChosenPhases:
        """Returns the phases as they run where they are not graphs."""
        return self._chosen

    @property
    def layers(self) -> list[Layer]:
        return self._chosen.layers

    def laid_out(self, input: Tensor) -> Tensor:
        return input.contiguous(memory_format=self._layout) if input.dim() == 4 else input

    def capture(self, input: Tensor) -> None:
        """Captures the phases for inputs like ``input``, and keeps the graphs if passes take less time so."""
        own = self.laid_out(input)
        try:
            with all_kept(self.module):
                graphs = GraphPhases(self._chosen, self.module, own)
                by_graphs = _pass_ms(graphs, own)
                by_calls = _pass_ms(self._chosen, own)
        except RuntimeError as error:
            self.captured = f"no phase is a CUDA graph: {str(error).partition(chr(10))[0]}"
            return
        faster = by_graphs < by_calls
        if faster:
            self._runs = self._graphs = graphs
        told = f"{by_graphs:.3g} ms a pass, {by_calls:.3g} by calls"
        self.captured = f"{'each' if faster else 'no'} phase is a CUDA graph: {told}"

    def updateOutput(self, input: Tensor) -> Tensor:
        if self._graphs is not None and self._graphs.outdated():
            self._graphs, self._runs = None, self._chosen
            self.captured = "no phase is a CUDA graph: the module's memory or mode has changed"
        self._input = input
        self._own = self.laid_out(input) if self._graphs is None else input  # they copy it anyway
        output: Tensor = self._runs.updateOutput(self._own)
        return output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        return self._runs.updateGradInput(self._same(input, "updateGradInput"), gradOutput)

    def accGradParameters(self, input: Tensor, gradOutput: Tensor) -> None:
        self._runs.accGradParameters(self._same(input, "accGradParameters"), gradOutput)

    def zeroGradParameters(self) -> None:
        self._runs.zeroGradParameters()

    def infer(self, input: Tensor) -> Tensor:
        with torch.inference_mode():
            output: Tensor = self.module(self.laid_out(input))
        return output

    def close(self) -> None:
        self._runs.close()
        self._input = self._own = None

    def __enter__(self) -> "GpuPhases":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def report(self) -> Report:
        """Returns the way of each layer in each phase."""
        names = {module: name for name, module in self.module.named_modules()}
        layers = tuple(
            LayerReport(names[layer.module], type(layer.module).__name__, dict(chosen.names))
            for layer in self._chosen.layers
            for chosen in layer.chosen.values()
        )
        dtype = next((str(one.dtype) for one in self.module.parameters()), "").removeprefix("torch.")
        return Report("auto", dtype, torch.get_num_threads(), layers, None, self.captured)

    def _same(self, input: Tensor, phase: str) -> Tensor:
        if input is not self._input or self._own is None:
            raise RuntimeError(f"{phase} needs updateOutput of the same input first")
        return self._own


def compile(
    module: nn.Module,
    input: Tensor,
    *,
    experimental: bool = False,
    inference: bool = False,
    tuning_file: Path | None = None,
    tuning_seconds: float | None = None,
    told: Callable[[int, int], None] | None = None,
) -> GpuPhases:
    """Prepares the three phases of ``module``, on a GPU as its ``input``, for inputs of that shape.

    Ways are tried on ``input`` and on what the layers make of it, and their times kept in ``tuning_file`` (by
    default in the user's cache folder). ``experimental``: also by what no run on a card has shown to be right
    and faster. ``inference``: updateOutput alone. ``tuning_seconds``: for how long ways are tried.
    ``told(layer, layers)`` is called before a layer's are, counted from 1. The module's parameters may be
    laid out channels-last.
    """
    # A graph would not run them: they are the user's.
    hooked = bool(hook_within(module)) or needs_whole_backward(module)
    families = families_on(torch.cuda.get_device_capability(), experimental)
    exact = input.dtype in (torch.float32, torch.float64) and not rounds_to_tf32()
    compiles = "halves" in families and input.dtype is torch.float32
    last = input.dim() == 4 and (compiles or not exact)
    layout = torch.channels_last if last else torch.contiguous_format
    if last:
        module.to(memory_format=layout)  # type: ignore[call-overload]
    seconds = math.inf if tuning_seconds is None else tuning_seconds
    chooser = Chooser(last, families, tuning_file or cache_file(), seconds)
    chosen = ChosenPhases(module, chooser)
    found = GpuPhases(module, chosen, layout)
    with all_kept(module):
        if inference:
            found.infer(input)
            chooser.save()
        else:
            chosen.choose(found.laid_out(input), told)
    free_memory()
    if (experimental or _GRAPHS_ARE_PROVEN) and not inference and not hooked:
        found.capture(input)
    return found


def families_on(capability: tuple[int, int], experimental: bool) -> tuple[str, ...]:
    """Returns the families of ways that may be taken on a card."""
    compiles = capability in _PROVEN_CAPABILITIES or (experimental and capability >= _LEAST_CAPABILITY)
    return (*PYTORCHS, *COMPILED) if compiles and has_triton() else PYTORCHS


def _pass_ms(phases: Phases, input: Tensor) -> float:
    """Returns the median time of a pass, the output its own gradient."""
    times = []
    phases.zeroGradParameters()
    for _ in range(_PASSES):
        started = time.perf_counter()
        output = phases.updateOutput(input)
        phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)

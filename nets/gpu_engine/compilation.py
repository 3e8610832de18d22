"""Makes a module ready to run on a GPU, each layer and phase by the fastest correct way."""

import contextlib
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine.choice.times_file import cache_file
from convnet_benchmarks.nets.engine.report import LayerReport, Report
from convnet_benchmarks.nets.gpu_engine.choice import Chooser, free_memory
from convnet_benchmarks.nets.gpu_engine.graphs import GraphPhases
from convnet_benchmarks.nets.gpu_engine.phases import ChosenPhases, Layer
from convnet_benchmarks.nets.gpu_engine.state import all_kept
from convnet_benchmarks.nets.gpu_engine.ways import COMPILED, PYTORCHS, has_triton, rounds_to_tf32
from convnet_benchmarks.nets.hooks import hook_within, needs_whole_backward
from convnet_benchmarks.nets.phases import Phases

# On cards of these compute capabilities the kernels compiled by Triton have been shown to be correct and
# faster
# (docs/gpu.md). With "experimental" they need not be proven.
_PROVEN_CAPABILITIES = ((9, 0),)
_STOCK = "stock"  # in the report: PyTorch's own kernels
_LEAST_CAPABILITY = (8, 0)  # of a card whose tensor cores support the kernels' types
_PASSES = 3  # that compare graphs, calls and PyTorch's own kernels


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
        self._calls_pytorch = False  # whether PyTorch's own kernels run where there are no graphs
        self._layout = layout
        self._input: Tensor | None = None  # the caller's input, and the same in the phases' layout
        self._own: Tensor | None = None

    @property
    def by_calls(self) -> ChosenPhases:
        """Returns the phases as run without graphs."""
        return self._chosen

    @property
    def on_pytorch(self) -> bool:
        """Returns whether PyTorch's own kernels run, because they were the fastest."""
        return self._calls_pytorch and self._graphs is None

    @property
    def layers(self) -> list[Layer]:
        return self._chosen.layers

    def laid_out(self, input: Tensor) -> Tensor:
        return input.contiguous(memory_format=self._layout) if input.dim() == 4 else input

    def pick(self, input: Tensor) -> None:
        """Chooses what takes the least time for a pass over ``input``: CUDA graphs of the phases, calls of
        the ways, or PyTorch's own kernels.
        """
        with all_kept(self.module):
            by_calls = _median_ms(self._passing(input))
            graphs: GraphPhases | None = None
            by_graphs, why_not = math.inf, ""
            try:
                self._graphs = graphs = GraphPhases(self._chosen, self.module, self.laid_out(input))
                by_graphs = _median_ms(self._passing(input))
            except RuntimeError as error:
                why_not = str(error).partition("\n")[0]
            self._graphs = None
            self._chosen.by_pytorch(True)
            by_pytorch = math.inf
            with contextlib.suppress(torch.OutOfMemoryError):  # the graphs' memory is also in use
                by_pytorch = _median_ms(self._passing(input))
        self._prefer(by_calls, by_pytorch)  # also for when the graphs are outdated
        told = f"{by_calls:.3g} ms a pass by calls, {by_pytorch:.3g} by PyTorch's own kernels"
        if by_graphs < min(by_calls, by_pytorch):
            self._graphs = graphs
            self.captured = f"each phase is a CUDA graph: {by_graphs:.3g} ms a pass, {told}"
        else:
            self.captured = f"no phase is a CUDA graph: {why_not or f'{by_graphs:.3g} ms a pass'}, {told}"
            graphs = None
            torch.cuda.empty_cache()

    def pick_for_inference(self, input: Tensor) -> None:
        """Chooses the ways for updateOutput alone, unless PyTorch's own kernels take less time."""
        by_ways = _median_ms(lambda: self.infer(input))
        self._chosen.by_pytorch(True)
        self._prefer(by_ways, _median_ms(lambda: self.infer(input)))

    def _prefer(self, by_calls: float, by_pytorch: float) -> None:
        self._calls_pytorch = by_pytorch < by_calls
        self._chosen.by_pytorch(self._calls_pytorch)

    def _passing(self, input: Tensor) -> Callable[[], None]:
        """Returns a function that runs the three phases on ``input``, with the output as its own gradient."""

        def one_pass() -> None:
            output = self.updateOutput(input)
            self.updateGradInput(input, output)
            self.accGradParameters(input, output)

        self.zeroGradParameters()
        return one_pass

    def updateOutput(self, input: Tensor) -> Any:
        if self._graphs is not None and self._graphs.outdated():
            self._graphs = None
            self.captured = "no phase is a CUDA graph: the module's memory or mode has changed"
        graphs = self._graphs if self._graphs is not None and self._graphs.takes(input) else None
        self._runs = graphs or self._chosen
        self._input = input
        self._own = self.laid_out(input) if graphs is None else input  # they copy it anyway
        return self._runs.updateOutput(self._own)

    def updateGradInput(self, input: Tensor, gradOutput: Any) -> Any:
        return self._runs.updateGradInput(self._same(input, "updateGradInput"), gradOutput)

    def accGradParameters(self, input: Tensor, gradOutput: Any) -> None:
        self._runs.accGradParameters(self._same(input, "accGradParameters"), gradOutput)

    def zeroGradParameters(self) -> None:
        (self._graphs or self._chosen).zeroGradParameters()

    def infer(self, input: Tensor) -> Any:
        with torch.inference_mode():
            return self.module(self.laid_out(input))

    def close(self) -> None:
        self._chosen.close()
        self._input = self._own = None

    def __enter__(self) -> "GpuPhases":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def report(self) -> Report:
        """Returns the report: the way of each layer in each phase."""
        names = {module: name for name, module in self.module.named_modules()}
        layers = tuple(
            LayerReport(
                names[layer.module],
                type(layer.module).__name__,
                dict.fromkeys(chosen.names, _STOCK) if self.on_pytorch else dict(chosen.names),
            )
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
    """Prepares the three phases of ``module``, which is on a GPU like ``input``, for inputs of that shape.

    Ways are tried on ``input`` and on the layers' intermediate results, and their times kept in
    ``tuning_file`` (by default in the user's cache folder). ``experimental``: also tries ways that have not
    been shown to be correct and faster on this kind of card. ``inference``: updateOutput alone.
    ``tuning_seconds``: for how long ways are tried. ``told(layer, layers)`` is called before a layer's ways
    are tried, counted from 1. The module's parameters may be converted to channels-last layout.
    """
    # Hooks are user code: a graph would not run them, and timing would run them too often.
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
            if not hooked:
                found.pick_for_inference(input)
        else:
            chosen.choose(found.laid_out(input), told)
    free_memory()
    if not inference and not hooked:
        found.pick(input)
    return found


def families_on(capability: tuple[int, int], experimental: bool) -> tuple[str, ...]:
    """Returns the families of ways allowed on a card."""
    compiles = capability in _PROVEN_CAPABILITIES or (experimental and capability >= _LEAST_CAPABILITY)
    return (*PYTORCHS, *COMPILED) if compiles and has_triton() else PYTORCHS


def _median_ms(run: Callable[[], object]) -> float:
    """Returns the median time of a few runs after the first, as the host sees it."""
    run()
    times = []
    for _ in range(_PASSES):
        torch.cuda.synchronize()
        started = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)

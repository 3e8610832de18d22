"""Compiles a module for one input shape: from its trace to a plan."""

import hashlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn
from torch.nn import Parameter

from convnet_benchmarks.nets.engine import ahead
from convnet_benchmarks.nets.engine.choice.effort import EFFORTS
from convnet_benchmarks.nets.engine.choice.options import Options, takes
from convnet_benchmarks.nets.engine.choice.pieces import IMAGES_OF_PIECE, are_pieces, faster
from convnet_benchmarks.nets.engine.choice.selection import Selection
from convnet_benchmarks.nets.engine.choice.times_file import cache_file
from convnet_benchmarks.nets.engine.choice.tuning import Tuner
from convnet_benchmarks.nets.engine.fusion import Fused, fuse, without_identities
from convnet_benchmarks.nets.engine.kernels.compiled import images
from convnet_benchmarks.nets.engine.kernels.compiled import products as compiled_products
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import compiler
from convnet_benchmarks.nets.engine.kernels.compiled.library import ARITHMETIC
from convnet_benchmarks.nets.engine.layers.layer import Layer, Step
from convnet_benchmarks.nets.engine.layers.stock import StockLayer
from convnet_benchmarks.nets.engine.memory import Memory, MemoryReport
from convnet_benchmarks.nets.engine.module_state import Contents, Gradients, Threads
from convnet_benchmarks.nets.engine.placement import place_data, place_gradients
from convnet_benchmarks.nets.engine.plan import EnginePhases, Phases
from convnet_benchmarks.nets.engine.recognise import recognise
from convnet_benchmarks.nets.engine.replay import Replay, Watch
from convnet_benchmarks.nets.engine.report import LayerReport, Report
from convnet_benchmarks.nets.engine.trace import CompileError, Trace, check_same, trace
from convnet_benchmarks.nets.engine.values import ReusedMemory, Value
from convnet_benchmarks.nets.memory.heap import return_free_memory
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, PHASES, WEIGHT_GRADIENT
from convnet_benchmarks.nets.state.kept_state import KeptState

DTYPES = (torch.float32, torch.bfloat16, torch.float64)


@takes(Options)
def compile(module: nn.Module, input_shape: tuple[int, ...], options: Options) -> EnginePhases:
    """Prepares the three phases of ``module`` for inputs of ``input_shape``: (C, H, W), perhaps with a batch.

    Instead of ``options`` it takes the arguments of :class:`Options`.

    The module is not changed; its parameters are read on every call, and gradients go to their ``.grad``.
    Its mode (training or not) is fixed with the plan, and so are its hooks: a module with a hook of any kind
    (see ``nets/hooks.py``) runs on PyTorch's autograd, as the report says; one registered later is not seen.

    Raises :class:`CompileError` for a module that the engine cannot run, and ValueError for a bad argument.
    """
    maker = PlanMaker(module, options)
    with KeptState(module, parameters=True):
        return maker.plan(module, input_shape)


class PlanMaker:
    """Makes plans for a module, or for parts of it, with one choice of options."""

    def __init__(self, module: nn.Module, options: Options) -> None:
        effort, seconds, told = EFFORTS[options.tuning], options.tuning_seconds, options.told
        self.dtype = _number_type(module, options.dtype)
        _check_place(module)
        self.options = options
        self._place = _Place()
        self._refines = seconds is None
        self._tuner = Tuner(
            (options.tuning_file or cache_file()) if options.backend != "stock" else None,
            effort,
            effort.seconds if seconds is None else seconds,
            lambda: told(self._place.layer, self._place.layers) if told else None,
        )

    def plan(self, module: nn.Module, input_shape: tuple[int, ...]) -> EnginePhases:
        """Returns a plan; raises :class:`CompileError` where the engine cannot run the module."""
        if len(input_shape) not in (2, 3, 4) or min(input_shape) < 1:
            raise ValueError(
                f"input shape {input_shape}: needs (C, H, W), (N, C, H, W) or (N, features), all positive"
            )
        _check_numbers(module, self.dtype)
        with KeptState(module):  # some compute their weights, and count, where these are read
            return self._plan(module, input_shape)

    def _plan(self, module: nn.Module, input_shape: tuple[int, ...]) -> EnginePhases:
        traced = trace(module, torch.zeros(input_shape, dtype=self.dtype))
        options = self.options
        if traced.checkpointed and not options.inference:
            raise CompileError(f"{type(module).__name__}: a part of its forward is checkpointed")
        check_same(module, traced, self.dtype)
        self._refine(traced)
        timed = self._tuner.until > time.monotonic()
        ahead.compile_ahead(module, options.backend, self.dtype, input_shape, timed, traced)
        memory = Memory()
        if not options.inference:  # gradients are made while compilers are at work
            memory.provide(p for p in module.parameters() if p.requires_grad and p.grad is None)
        ahead.wait(self._tuner.until if timed else math.inf)  # compilers would disturb the timings
        with torch.no_grad():
            whole = self._compiler(module, traced, memory)
            phases = whole.phases()
            pieces = options.inference and options.backend == "auto" and options.tuning == "thorough"
            if not (pieces and are_pieces(input_shape)):
                return phases
            try:
                traced = trace(module, torch.zeros((IMAGES_OF_PIECE, *input_shape[1:]), dtype=self.dtype))
            except CompileError:  # the plan is for this batch size only
                return phases
            piece = self._compiler(module, traced, Memory())
            if not whole.does_the_same_for(piece):
                return phases
            return faster(phases, piece.phases(input_shape[0]), torch.zeros(input_shape, dtype=self.dtype))

    def _compiler(self, module: nn.Module, traced: Trace, memory: Memory) -> "_Compiler":
        return _Compiler(module, traced, self.options, self.dtype, self._tuner, self._place, memory)

    def _refine(self, traced: Trace) -> None:
        """Has the tuner time some more if earlier processes have made the plan of this trace; once for all
        parts of a net."""
        if self._refines and self._tuner.met(_name_of_plan(traced, self.options, self.dtype)):
            self._tuner.until = time.monotonic() + EFFORTS[self.options.tuning].later_seconds
            self._refines = False

    def empty_report(self, note: str = "") -> Report:
        """Returns the report of no layers."""
        return _report(self.options, self.dtype, (), None, note)


def _name_of_plan(traced: Trace, options: Options, dtype: torch.dtype) -> str:
    """Returns what the plans of different nets, inputs or options differ in."""
    layers = [(operation.kind, traced.shapes[operation.result]) for operation in traced.operations]
    how = options.backend, dtype, options.inference, options.fuse_layers
    digest = hashlib.sha256(repr((traced.shapes[0], layers, how)).encode()).hexdigest()
    return f"plan {digest[:16]}"


def _number_type(module: nn.Module, dtype: torch.dtype | None) -> torch.dtype:
    """Returns the number type of plans: that asked for, or the parameters' if it is one of real numbers.
    Raises ValueError for others than the engine's."""
    found = {parameter.dtype for parameter in module.parameters()}
    only = next(iter(found)) if len(found) == 1 else torch.float32
    chosen = dtype or (only if only.is_floating_point else torch.float32)
    if chosen not in DTYPES:
        raise ValueError(f"dtype {chosen} is not supported; accepted: {', '.join(map(str, DTYPES))}")
    return chosen


def _check_place(module: nn.Module) -> None:
    """Raises :class:`CompileError` for tensors that are not on the CPU, or do not count their changes."""
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if tensor.device.type != "cpu":
            raise CompileError(f"{name}: on {tensor.device}; the engine needs it on cpu")
        if tensor.is_inference():
            raise CompileError(
                f"{name}: made in torch.inference_mode(), where PyTorch does not count changes; "
                "make the module outside it"
            )


def _check_numbers(module: nn.Module, dtype: torch.dtype) -> None:
    """Raises :class:`CompileError` where a parameter is not of the plan's number type."""
    for name, parameter in module.named_parameters():
        if parameter.dtype != dtype:
            raise CompileError(f"{name}: a parameter of {parameter.dtype}; a plan in {dtype} needs {dtype}")


@dataclass
class _Place:
    """The progress of the choice of kernels."""

    layer: int = 0
    layers: int = 0


class _Compiler:
    """Turns a trace into layers over values, and places the values in memory."""

    def __init__(
        self,
        module: nn.Module,
        traced: Trace,
        options: Options,
        dtype: torch.dtype,
        tuner: Tuner,
        place: "_Place",
        memory: Memory,
    ) -> None:
        self.module = module
        self.trace = without_identities(traced)
        self.options = options
        self.dtype = dtype
        self.phases_made = (FORWARD,) if options.inference else PHASES
        self.memory = memory
        self.tuner = tuner
        self.place = place
        self.selection = Selection(
            options.backend,
            dtype,
            self.tuner,
            self.memory,
            options.check_weights,
            self.phases_made,
        )
        image_dims = 3 if len(traced.shapes[0]) == 3 else 4
        self.values = [Value(shape, len(shape) == image_dims, dtype) for shape in traced.shapes]
        self.plan = self._layers()

    def does_the_same_for(self, piece: "_Compiler") -> bool:
        """Returns whether the images of the batch are independent, and a piece of it has the same layers."""
        batch, of_piece = self.values[0].shape[0], piece.values[0].shape[0]
        shapes = [(of_piece, *value.shape[1:]) for value in self.values if value.shape[:1] == (batch,)]
        return (
            shapes == [value.shape for value in piece.values]
            and [layer.name for layer in self.plan] == [layer.name for layer in piece.plan]
            and not any(layer.mixes_images for layer in self.plan)
        )

    def phases(self, batch: int | None = None) -> EnginePhases:
        """Returns the plan. ``batch``: the images of a call, of which the plan's own are a piece."""
        plan = self.plan
        self._choose_kernels(plan)
        return_free_memory()  # from the timed candidates
        input, output = self.values[0], self.values[self.trace.output]
        forward: list[Step] = [(layer, _forward) for layer in plan]
        report = partial(self._report, plan)
        if self.options.inference:
            reuse = ReusedMemory(self.memory, self.dtype)
            place_data(plan, input, output, self.memory, reuse)
            by_layer: dict[str, Sequence[Step]] = {FORWARD: forward}
            return EnginePhases(
                self.module,
                input,
                output,
                plan,
                self._replays(forward, [], [], []),
                self.memory,
                report,
                by_layer,
                images.copying(input),
                batch,
            )
        place_data(plan, input, output, self.memory)
        backward = place_gradients(plan, output, self.memory)
        if not input.has_grad:
            raise CompileError(f"{type(self.module).__name__}: its output does not depend on its input")
        trained = [layer for layer in plan if layer.has_parameters]
        gradients: list[Step] = [(layer, _weight_gradient) for layer in trained]
        phases = self._replays(
            forward,
            backward,
            gradients,
            [parameter for layer in trained for parameter in layer.parameters()],
        )
        by_layer = {
            FORWARD: forward,
            INPUT_GRADIENT: backward,
            WEIGHT_GRADIENT: gradients,
        }
        return EnginePhases(self.module, input, output, plan, phases, self.memory, report, by_layer)

    def _replays(
        self,
        forward: Sequence[Step],
        backward: Sequence[Step],
        weight_gradients: Sequence[Step],
        trained: Sequence[Parameter],
    ) -> Phases:
        held = (tensor for operation in self.trace.operations for tensor in operation.held)
        module = Watch(Contents(self.module, held).changed)
        threads = Watch(Threads().changed)
        gradients = Watch(Gradients(trained).changed)
        records = not self.options.check_weights  # their checks in Python cannot be recorded

        def replay(steps: Sequence[Step], *watched: Watch) -> Replay:
            actions = [partial(action, layer) for layer, action in steps]
            return Replay(actions, *watched, scratch=self.memory.scratch_address, records=records)

        return Phases(
            replay(forward, module, threads),
            replay(backward, module, threads),
            replay(weight_gradients, module, threads, gradients),
            module,
            threads,
            gradients,
        )

    def _layers(self) -> list[Layer]:
        """Makes the layers: one for each operation, or for several."""
        operations = self.trace.operations
        kinds = [
            recognise(
                operation,
                [self.values[index] for index in operation.inputs],
                self.values[operation.result],
            )
            if self.options.backend != "stock"
            else StockLayer
            for operation in operations
        ]
        fuses = self.options.fuse_layers

        def takes_sum(kind: type[Layer]) -> bool:
            return fuses and (kind.takes_sum if self.options.inference else kind.differentiates_sum)

        found = fuse(self.trace, kinds, fuses, fuses, takes_sum)
        return [self._layer(fused) for fused in found]

    def _layer(self, fused: Fused) -> Layer:
        inputs = [self.values[index] for index in fused.inputs]
        output = self.values[fused.result]
        layer = fused.kind(fused.operation, inputs, output, fused.relu, self.memory)
        if fused.norm is not None:
            layer.fold(fused.norm)
        if fused.addend is not None:
            layer.kind += "+add"
        return layer

    def _choose_kernels(self, plan: list[Layer]) -> None:
        """Has every layer choose its kernels."""
        self.place.layers = len(plan)
        by_work = sorted(plan, key=lambda layer: layer.work, reverse=True)  # if time is short
        try:
            for self.place.layer, layer in enumerate(by_work, 1):
                layer.choose_kernels(self.selection)
        finally:
            self.tuner.save()

    def _report(self, plan: list[Layer]) -> Report:
        layers = tuple(layer.report(self.phases_made) for layer in plan)
        return _report(self.options, self.dtype, layers, self.memory.report())


def _report(
    options: Options,
    dtype: torch.dtype,
    layers: tuple[LayerReport, ...],
    memory: MemoryReport | None,
    note: str = "",
) -> Report:
    compiled = ""
    if options.backend != "stock":
        why_not = compiled_products.why_not(ARITHMETIC[dtype])
        compiled = f"no compiled code: {why_not}" if why_not else f"compiled code by {compiler()}"
    number_type = str(dtype).removeprefix("torch.")
    return Report(options.backend, number_type, torch.get_num_threads(), layers, memory, compiled, note=note)


def _forward(layer: Layer) -> None:
    layer.forward()


def _weight_gradient(layer: Layer) -> None:
    layer.weight_gradient()

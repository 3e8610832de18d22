"""Compiles a module for one input shape, and runs its three phases."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import torch
from torch import Tensor, nn

from nets.engine import layers, recognise
from nets.engine.choice.algorithms import FORWARD, INPUT_GRADIENT, PHASES, WEIGHT_GRADIENT
from nets.engine.choice.selection import Selection
from nets.engine.choice.tuning import Tuner, cache_file
from nets.engine.division import Division, Step, weight_gradients
from nets.engine.kernels.compiled import products as compiled_products
from nets.engine.kernels.compiled.library import ELEMENTS, compiler
from nets.engine.memory import Memory, return_free_memory
from nets.engine.report import LayerReport, Report
from nets.engine.shapes import ConvolutionShape
from nets.engine.trace import CompileError, Operation, Trace, trace
from nets.engine.values import Block, GradientMemory, Value
from nets.engine.workers import Workers

BACKENDS = ("auto", "mm", "direct", "winograd", "fft", "stock")
DTYPES = (torch.float32, torch.bfloat16, torch.float64)

# What a worker thread can do for some of the images, whatever the others hold.
_DIVISIBLE = (
    layers.WeightedLayer,
    layers.ReLU,
    layers.Threshold,
    layers.Add,
    layers.Concat,
    layers.MaxPool2d,
    layers.AvgPool2d,
    layers.GlobalAvgPool,
)
# In one phase of a run of layers: some twenty times what changing between PyTorch's threads and ours costs.
_DIVIDED_MULTIPLY_ADDS = 16_000_000_000
# Of a convolution's output, for each worker: with fewer, reading the weight is most of the work, and every
# worker reads it.
_WORKERS_POSITIONS = 1024

PhaseSteps = tuple[list[Callable[[], None]], list[Callable[[], None]], list[Callable[[], None]]]


def compile(
    module: nn.Module,
    input_shape: tuple[int, ...],
    backend: str = "auto",
    dtype: torch.dtype | None = None,
    tuning_file: Path | None = None,
    check_weights: bool = False,
) -> "EnginePhases":
    """The three phases of ``module`` for inputs of ``input_shape``: (C, H, W), or with a batch in front.

    ``backend``: "auto" times every algorithm on every layer and phase once, and keeps the timings in
    ``tuning_file`` (by default in the user's cache folder); "mm", "direct", "winograd" or "fft" forces a
    family of algorithms, with matrix products where it does not apply; "stock" runs PyTorch's own operators.
    ``dtype`` is float32, bfloat16 or float64, and must be that of the parameters (the default).
    ``check_weights`` compares every kept copy of a weight with the weight on every use (slow; for debugging).

    The module stays as it is; its parameters are read on every call, and gradients go to their ``.grad``.
    Its mode (training or not) is fixed with the plan. Raises :class:`CompileError` for a module that the
    engine cannot run, and ValueError for a bad argument.
    """
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend '{backend}'; accepted: {', '.join(BACKENDS)}")
    found = {parameter.dtype for parameter in module.parameters()}
    chosen = dtype or (found.pop() if len(found) == 1 else torch.float32)
    if chosen not in DTYPES:
        raise ValueError(f"dtype {chosen} is not supported; accepted: {', '.join(map(str, DTYPES))}")
    for name, parameter in module.named_parameters():
        if parameter.dtype != chosen or parameter.device.type != "cpu":
            raise CompileError(
                f"{name}: a parameter of {parameter.dtype} on {parameter.device}; "
                f"a plan in {chosen} needs {chosen} on cpu"
            )
    if len(input_shape) not in (2, 3, 4) or min(input_shape) < 1:
        raise ValueError(
            f"input shape {input_shape}: needs (C, H, W), (N, C, H, W) or (N, features), all positive"
        )
    traced = trace(module, torch.zeros(input_shape, dtype=chosen))
    with torch.no_grad():
        return _Compiler(module, traced, backend, chosen, tuning_file or cache_file(), check_weights).phases()


class EnginePhases:
    """Torch7's three phases on fixed buffers. Made by :func:`compile`.

    ``updateOutput`` and ``updateGradInput`` return buffers that the next call overwrites.
    """

    def __init__(
        self,
        module: nn.Module,
        values: list[Value],
        output: Value,
        plan: list[layers.Layer],
        steps: PhaseSteps,
        memory: Memory,
        report: Callable[[], Report],
    ) -> None:
        self.module = module
        self._memory = memory
        self._layers = plan
        self._input_value, self._output_value = values[0], output
        self._forward, self._backward, self._weight_gradients = steps
        self._modes = [(part, part.training) for part in module.modules()]
        self._report = report
        self._input: Tensor | None = None
        self._gradients_kept = False

    def updateOutput(self, input: Tensor) -> Tensor:
        """The module's output, in the plan's buffer."""
        if tuple(input.shape) != self._input_value.shape or input.dtype != self._input_value.dtype:
            raise ValueError(
                f"this plan is for inputs of {self._input_value.shape} in {self._input_value.dtype}, "
                f"not {tuple(input.shape)} in {input.dtype}"
            )
        if any(part.training != training for part, training in self._modes):
            raise RuntimeError("the module has changed between training and evaluation: compile it again")
        with torch.no_grad():
            self._input_value.data.copy_(input)
            for step in self._forward:
                step()
        self._input, self._gradients_kept = input, False
        return self._output_value.data

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        """The input's gradient, in the plan's buffer. ``gradOutput`` is not changed; it may be the output
        itself."""
        if input is not self._input:
            raise RuntimeError("updateGradInput needs updateOutput of the same input first")
        if gradOutput.shape != self._output_value.shape:
            raise ValueError(
                f"gradOutput is {tuple(gradOutput.shape)}, the output {tuple(self._output_value.shape)}"
            )
        with torch.no_grad():
            self._output_value.grad.copy_(gradOutput)
            for step in self._backward:
                step()
        self._gradients_kept = True
        return self._input_value.grad

    def accGradParameters(self, input: Tensor, gradOutput: Tensor) -> None:
        """Adds every parameter's gradient to its ``.grad``, for the last updateGradInput's ``gradOutput``."""
        if input is not self._input or not self._gradients_kept:
            raise RuntimeError("accGradParameters needs updateGradInput of the same input first")
        with torch.no_grad():
            for step in self._weight_gradients:
                step()

    def zeroGradParameters(self) -> None:
        """Sets every parameter's ``.grad`` to zeros, making it where there is none."""
        for parameter in self.module.parameters():
            if parameter.grad is None:
                layers.gradient_of(parameter, self._memory)
            else:
                parameter.grad.zero_()

    def invalidate(self) -> None:
        """Call after changing a weight behind PyTorch's back: through ``.data``, numpy or a memory map."""
        for layer in self._layers:
            layer.invalidate()

    def report(self) -> Report:
        """What runs each layer in each phase, and the memory that was obtained."""
        return self._report()

    def close(self) -> None:
        """Lets go of all buffers; the module is as it was all along. The report can still be had."""
        final = self._report()
        self._report = lambda: final
        self._forward, self._backward, self._weight_gradients, self._layers = [], [], [], []
        self._input_value = self._output_value = Value((), False, self._input_value.dtype)
        self._memory = Memory()
        self._input, self._gradients_kept = None, False

    def __enter__(self) -> "EnginePhases":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Compiler:
    """Turns a trace into layers over values, and places the values in memory."""

    def __init__(
        self,
        module: nn.Module,
        traced: Trace,
        backend: str,
        dtype: torch.dtype,
        tuning_file: Path,
        check_weights: bool,
    ) -> None:
        self.module = module
        self.trace = traced
        self.backend = backend
        self.dtype = dtype
        self.memory = Memory()
        self.tuner = Tuner(tuning_file if backend != "stock" else None)
        self.workers = Workers(torch.get_num_threads())
        self.selection = Selection(backend, dtype, self.tuner, self.memory, self.workers, check_weights)
        self.image_dims = 3 if len(traced.shapes[0]) == 3 else 4
        self.values = [Value(shape, len(shape) == self.image_dims, dtype) for shape in traced.shapes]

    def phases(self) -> EnginePhases:
        plan, divided = self._layers()
        return_free_memory()  # of the candidates that were timed
        output = self.values[self.trace.output]
        self._place_data(plan)
        backward = self._place_gradients(plan, output, by_image=bool(divided))
        self.tuner.save()
        division = Division(self.workers, self.trace.shapes[0][0], divided)
        steps = (
            division.by_image([(layer, _forward) for layer in plan]),
            division.by_image(backward),
            weight_gradients(self.workers, [layer for layer in plan if layer.has_parameters]),
        )
        return EnginePhases(
            self.module, self.values, output, plan, steps, self.memory, partial(self._report, plan)
        )

    # Layers -------------------------------------------------------------------------------------------------

    def _layers(self) -> tuple[list[layers.Layer], list[layers.Layer]]:
        """One layer per operation, and those of them that are divided by image. A ReLU that is the only
        reader of a layer's output becomes part of it."""
        readers = Counter(index for operation in self.trace.operations for index in operation.inputs)
        readers[self.trace.output] += 1
        kinds = [self._kind(operation) for operation in self.trace.operations]
        producer = {operation.result: i for i, operation in enumerate(self.trace.operations)}
        fused: set[int] = set()  # operations that end in a ReLU
        absorbed: set[int] = set()
        for i, operation in enumerate(self.trace.operations):
            if kinds[i] is not layers.ReLU:
                continue
            source = operation.inputs[0]
            by = producer.get(source)
            if by is None or by in fused or readers[source] > 1 or not kinds[by].relu_in_place:
                continue
            fused.add(by)
            absorbed.add(i)
            producer[operation.result] = by
            self.values[operation.result] = self.values[source]  # the ReLU's result is the layer's output
        convolutions = [self._convolution(*pair) for pair in zip(self.trace.operations, kinds, strict=True)]
        by_image = self._by_image(kinds, convolutions)
        gradients = self._shares_weight_gradients(convolutions)
        plan, divided = [], []
        for i, operation in enumerate(self.trace.operations):
            if i not in absorbed:
                inputs = [self.values[index] for index in operation.inputs]
                output = self.values[operation.result]
                phases = [FORWARD, INPUT_GRADIENT] * (i in by_image) + [WEIGHT_GRADIENT] * gradients
                layer = self._layer(kinds[i], operation, inputs, output, i in fused, phases)
                plan.append(layer)
                if i in by_image:
                    divided.append(layer)
        return plan, divided

    def _convolution(self, operation: Operation, kind: type[layers.Layer]) -> ConvolutionShape | None:
        if kind is not layers.WeightedLayer:
            return None
        found = recognise.convolution(operation)
        return (
            None if found is None else found.shape(self.values[operation.inputs[0]].image_shape, self.dtype)
        )

    def _has_images_to_share(self) -> bool:
        return self.image_dims == 4 and self.trace.shapes[0][0] >= self.workers.count > 1

    def _shares_weight_gradients(self, convolutions: Sequence[ConvolutionShape | None]) -> bool:
        """Whether weight gradients may be divided among worker threads: if all together are enough work."""
        work = sum(shape.multiply_adds for shape in convolutions if shape)
        return self._has_images_to_share() and work >= _DIVIDED_MULTIPLY_ADDS

    def _by_image(
        self, kinds: Sequence[type[layers.Layer]], convolutions: Sequence[ConvolutionShape | None]
    ) -> set[int]:
        """The operations that worker threads go through by themselves, each with some of the images: runs of
        them that are long enough."""
        if not self._has_images_to_share():
            return set()
        found: set[int] = set()
        divisible = [
            self._is_divisible(*one) for one in zip(self.trace.operations, kinds, convolutions, strict=True)
        ]
        for together, run in groupby(range(len(divisible)), divisible.__getitem__):
            indices = list(run)
            work = sum(shape.multiply_adds for i in indices if (shape := convolutions[i]))
            if together and work >= _DIVIDED_MULTIPLY_ADDS:
                found.update(indices)
        return found

    def _is_divisible(
        self, operation: Operation, kind: type[layers.Layer], convolution: ConvolutionShape | None
    ) -> bool:
        """Whether it can be done by image, and is not better done for all images at once."""
        shapes = [self.trace.shapes[index] for index in (*operation.inputs, operation.result)]
        if not issubclass(kind, _DIVISIBLE) or any(
            len(shape) != 4 or shape[0] != self.trace.shapes[0][0] for shape in shapes
        ):
            return False
        if kind is not layers.WeightedLayer:
            return True
        return convolution is not None and convolution.positions >= self.workers.count * _WORKERS_POSITIONS

    def _kind(self, operation: Operation) -> type[layers.Layer]:
        if self.backend == "stock":
            return layers.StockLayer
        return recognise.recognise(operation, self.trace.shapes, self.image_dims)

    def _layer(
        self,
        kind: type[layers.Layer],
        operation: Operation,
        inputs: list[Value],
        output: Value,
        relu: bool,
        divided: Sequence[str],
    ) -> layers.Layer:
        common = (operation, inputs, output, relu)
        call = operation.call
        if kind is layers.WeightedLayer:
            return self._weighted(*common, divided)
        if kind is layers.Threshold:
            assert isinstance(call, nn.Threshold)
            return layers.Threshold(*common, call.threshold, call.value)
        if kind is layers.MaxPool2d:
            assert isinstance(call, nn.MaxPool2d)
            return layers.MaxPool2d(*common, call)
        if kind is layers.AvgPool2d:
            assert isinstance(call, nn.AvgPool2d)
            return layers.AvgPool2d(*common, call)
        if kind is layers.BatchNorm:
            assert isinstance(call, (nn.BatchNorm1d, nn.BatchNorm2d))
            return layers.BatchNorm(*common, call, self.memory)
        if kind is layers.Dropout:
            assert isinstance(call, nn.Dropout)
            return layers.Dropout(*common, call.p)
        if kind is layers.LogSoftmax:
            assert isinstance(call, nn.LogSoftmax)
            implicit = 0 if len(output.shape) in (1, 3) else 1  # PyTorch's choice when none is given
            return layers.LogSoftmax(*common, implicit if call.dim is None else call.dim)
        if kind is layers.StockLayer:
            return layers.StockLayer(*common, self.memory)
        return kind(*common)

    def _weighted(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, divided: Sequence[str]
    ) -> layers.WeightedLayer:
        """A convolution or Linear with the kernels chosen for it. ``divided``: phases that worker threads
        share."""
        found = recognise.convolution(operation)
        if found is not None:
            weight, bias = found.weight, found.bias
            kernels = self.selection.for_convolution(
                operation.name, found.shape(inputs[0].image_shape, self.dtype), divided
            )
        else:
            parameters = recognise.linear(operation)
            assert parameters is not None
            weight, bias = parameters
            outputs, features = weight.shape
            kernels = self.selection.for_linear(
                operation.name, inputs[0].numel // features, features, outputs
            )
        return layers.WeightedLayer(operation, inputs, output, relu, (weight, bias), kernels, self.memory)

    # Memory -------------------------------------------------------------------------------------------------

    def _place_data(self, plan: list[layers.Layer]) -> None:
        """Gives every value its buffer. What a Concat joins is written into its place in the result."""
        homes: dict[int, tuple[layers.Concat, int]] = {}
        direct = (layers.WeightedLayer, layers.MaxPool2d, layers.AvgPool2d, layers.Concat)
        written_by = {id(layer.output): layer for layer in plan}
        for layer in plan:
            if isinstance(layer, layers.Concat):
                for index, value in enumerate(layer.inputs):
                    if isinstance(written_by.get(id(value)), direct):
                        homes.setdefault(id(value), (layer, index))
        self._place(self.values[0], homes)
        for layer in plan:
            if isinstance(layer, layers.Reshape):
                shared = _same_memory(layer.inputs[0].data, layer.output)
                if shared is not None:
                    layer.output.data, layer.output.has_data = shared, True
            self._place(layer.output, homes)
            if isinstance(layer, (layers.MaxPool2d, layers.Dropout)):
                layer.allocate(self.memory)

    def _place(self, value: Value, homes: dict[int, tuple[layers.Concat, int]]) -> None:
        if value.has_data:
            return
        if id(value) in homes:
            concat, index = homes[id(value)]
            self._place(concat.output, homes)
            value.data = concat.part(concat.output.data, index)
        else:
            value.data = value.arrange(self.memory.empty((value.numel,), self.dtype))
        value.has_data = True

    def _place_gradients(self, plan: list[layers.Layer], output: Value, by_image: bool) -> list[Step]:
        """Gives every gradient its memory, and returns the steps of the input gradient, last layer first.

        A gradient is kept for as long as it is needed: for accGradParameters where the layer has parameters,
        else until its layer has run. The first reader of a value (from the end) writes its gradient, the
        others add.
        """
        pool = GradientMemory(self.memory, self.dtype, by_image)
        blocks: dict[int, Block] = {}
        readers = Counter(id(value) for layer in plan for value in layer.inputs)
        steps: list[Step] = []

        def give(value: Value, grad: Tensor, block: Block) -> None:
            value.grad, value.has_grad = grad, True
            blocks[id(value)] = block

        def fresh(value: Value) -> tuple[Tensor, Block]:
            block = pool.take(value.numel)
            return value.arrange(block.memory[: value.numel]), block

        give(output, *fresh(output))
        blocks[id(output)].users += 1  # for the next call's copy of gradOutput
        for layer in reversed(plan):
            result = layer.output
            if not result.has_grad:  # read by nothing that leads to the output
                continue
            added: list[tuple[int, Block]] = []
            shareable = True
            for index, value in enumerate(layer.inputs):
                if value.has_grad:
                    grad, block = fresh(value)
                    added.append((index, block))
                    layer.grad_inputs.append(grad)
                    continue
                shared = (
                    self._shared_gradient(layer, index) if shareable and readers[id(value)] == 1 else None
                )
                if shared is not None:
                    block = blocks[id(result)]
                    block.users += 1
                    give(value, shared, block)
                    shareable = isinstance(layer, layers.Concat)
                else:
                    give(value, *fresh(value))
                layer.grad_inputs.append(value.grad)
            if layer.relu and not layer.masks_gradient:
                steps.append((layer, _mask_output))
            steps.append((layer, _input_gradient))
            for index, block in added:
                steps.append((layer, partial(_add_to_input, index)))
                pool.release(block)
            if not layer.has_parameters:
                pool.release(blocks[id(result)])
        if not self.values[0].has_grad:
            raise CompileError(f"{type(self.module).__name__}: its output does not depend on its input")
        return steps

    def _shared_gradient(self, layer: layers.Layer, index: int) -> Tensor | None:
        """The input's gradient as a view of the output's, where the two are the same numbers."""
        grad, value = layer.output.grad, layer.inputs[index]
        if isinstance(layer, layers.Add):
            return grad
        if isinstance(layer, layers.Concat):
            return layer.part(grad, index)
        if isinstance(layer, layers.Reshape):
            return _same_memory(grad, value)
        return None

    def _report(self, plan: list[layers.Layer]) -> Report:
        found = []
        for layer in plan:
            ran = {phase: layer.algorithm(phase) for phase in PHASES}
            kind = f"{layer.kind}+ReLU" if layer.relu else layer.kind
            found.append(
                LayerReport(
                    layer.name,
                    kind,
                    {phase: name for phase, name in ran.items() if name},
                    self.selection.fallbacks.get(layer.name, ""),
                )
            )
        dtype = str(self.dtype).removeprefix("torch.")
        return Report(
            self.backend,
            dtype,
            torch.get_num_threads(),
            tuple(found),
            self.memory.report(),
            self._compiled(),
        )

    def _compiled(self) -> str:
        if self.backend == "stock" or self.dtype not in ELEMENTS:
            return ""
        why_not = compiled_products.why_not(self.dtype)
        return f"no compiled code: {why_not}" if why_not else f"compiled code by {compiler()}"


def _forward(layer: layers.Layer) -> None:
    layer.forward()


def _input_gradient(layer: layers.Layer) -> None:
    layer.input_gradient()


def _mask_output(layer: layers.Layer) -> None:
    """Applies the gradient of the ReLU that ends ``layer``."""
    value = layer.output
    torch.ops.aten.threshold_backward.grad_input(value.grad, value.data, 0, grad_input=value.grad)


def _add_to_input(index: int, layer: layers.Layer) -> None:
    """Adds an input's gradient to what other readers of it have given."""
    layer.inputs[index].grad.add_(layer.grad_inputs[index])


def _same_memory(tensor: Tensor, value: Value) -> Tensor | None:
    """``tensor`` in the shape of ``value`` without a copy, if that gives a layout the layers take."""
    try:
        shared = tensor.view(value.shape)
    except RuntimeError:
        return None
    plain = shared.permute(1, 2, 0) if shared.dim() == 3 else shared
    plain = shared.permute(0, 2, 3, 1) if shared.dim() == 4 else plain
    return shared if (plain if value.is_image else shared).is_contiguous() else None

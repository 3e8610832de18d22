"""A compiled module: its three phases on fixed buffers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine.layers.layer import Layer, Step, gradient_of
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.module_state import CountedBatches, Modes
from convnet_benchmarks.nets.engine.replay import Replay, Watch
from convnet_benchmarks.nets.engine.report import Report
from convnet_benchmarks.nets.engine.roof import measured_roof, shares_of_roof
from convnet_benchmarks.nets.engine.values import Value
from convnet_benchmarks.nets.phases import INPUT_GRADIENT
from convnet_benchmarks.nets.state.frozen import Frozen
from convnet_benchmarks.nets.state.kept_state import KeptState


@dataclass(frozen=True)
class Phases:
    """Runs each phase, and watches what it depends on: the module's parameters and buffers, the number of
    threads, and the parameters' gradients."""

    forward: Replay
    input_gradient: Replay
    weight_gradient: Replay
    module: Watch
    threads: Watch
    gradients: Watch

    def look(self) -> None:
        """Checks for changes of anything that all phases depend on."""
        self.module.look()
        self.threads.look()


class EnginePhases:
    """Torch7's three phases on fixed buffers. Made by ``compile`` in ``nets/engine/compilation.py``.

    ``updateOutput`` and ``updateGradInput`` return buffers that the next call overwrites.
    """

    def __init__(
        self,
        module: nn.Module,
        input: Value,
        output: Value,
        plan: list[Layer],
        phases: Phases,
        memory: Memory,
        report: Callable[[], Report],
        by_layer: dict[str, Sequence[Step]],
        copy: Callable[[Tensor, Tensor], object] = Tensor.copy_,
        batch: int | None = None,
    ) -> None:
        self.module = module
        self._memory = memory
        self._layers = plan
        self._input_value, self._output_value = input, output
        self._phases = phases
        self._modes = Modes(module)
        self._batches = CountedBatches(module)
        untrained = [layer for layer in plan if not layer.has_parameters]
        self._frozen = Frozen(module, [one for layer in untrained for one in layer.parameters()])
        self._report = report
        self._input: Tensor | None = None
        self._gradients_kept = False
        self._by_layer = by_layer  # the steps of every phase
        self._copy = copy  # to the plan's input, from a tensor of its shape and type
        # If the plan's batch is a piece of a call's (inference): the outputs of all pieces.
        self._outputs = None if batch is None else memory.empty((batch, *output.shape[1:]), output.dtype)

    @property
    def trains(self) -> bool:
        """Returns whether it has all three phases."""
        return INPUT_GRADIENT in self._by_layer

    def updateOutput(self, input: Tensor) -> Tensor:
        """Returns the module's output, in the plan's buffer."""
        own = self._input_value
        shape = own.shape if self._outputs is None else (self._outputs.shape[0], *own.shape[1:])
        if tuple(input.shape) != shape or input.dtype != own.dtype:
            raise ValueError(
                f"this plan is for inputs of {shape} in {own.dtype}, "
                f"not {tuple(input.shape)} in {input.dtype}"
            )
        if self._modes.changed():
            raise RuntimeError("the module has changed between training and evaluation: compile it again")
        if not self.trains and self._batches.changed():
            self.invalidate()
        self._phases.look()
        with torch.no_grad():
            if self._outputs is None:
                output = self._run(input)
            else:
                output, images = self._outputs, own.shape[0]
                for piece, of_output in zip(input.split(images), output.split(images), strict=True):
                    of_output.copy_(self._run(piece))
        if self.trains:  # they update running statistics
            self._phases.module.accept()
        self._input, self._gradients_kept = input, False
        return output

    def _run(self, input: Tensor) -> Tensor:
        self._copy(self._input_value.data, input)
        self._phases.forward.run()
        return self._output_value.data

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        """Returns the input's gradient, in the plan's buffer. ``gradOutput`` is not changed; it may be the
        output itself."""
        if not self.trains:
            raise RuntimeError("this plan is for inference: compile the module without inference=True")
        if input is not self._input:
            raise RuntimeError("updateGradInput needs updateOutput of the same input first")
        if gradOutput.shape != self._output_value.shape:
            raise ValueError(
                f"gradOutput is {tuple(gradOutput.shape)}, the output {tuple(self._output_value.shape)}"
            )
        self._phases.look()
        with torch.no_grad():
            self._output_value.grad.copy_(gradOutput)
            self._phases.input_gradient.run()
        self._gradients_kept = True
        return self._input_value.grad

    def accGradParameters(self, input: Tensor, gradOutput: Tensor) -> None:
        """Adds every parameter's gradient to its ``.grad``, for the last updateGradInput's ``gradOutput``."""
        if input is not self._input or not self._gradients_kept:
            raise RuntimeError("accGradParameters needs updateGradInput of the same input first")
        self._frozen.check()
        self._phases.look()
        self._phases.gradients.look()
        with torch.no_grad():
            self._phases.weight_gradient.run()
        self._phases.gradients.accept()  # those just allocated

    def zeroGradParameters(self) -> None:
        """Sets every parameter's ``.grad`` to zeros, making it where there is none."""
        for parameter in self.module.parameters():
            if parameter.grad is None:
                gradient_of(parameter, self._memory)
            else:
                parameter.grad.zero_()

    def invalidate(self) -> None:
        """Discards every copy of a weight: call it after changing one behind PyTorch's back: through
        ``.data``, numpy or a memory map."""
        for layer in self._layers:
            layer.invalidate()
        self._phases.module.forget()

    def report(self) -> Report:
        """Returns the algorithm of each layer in each phase, and the memory that was allocated."""
        return self._report()

    def timed_report(self) -> Report:
        """Returns the report with the fraction of the machine's roofline that each layer reaches in each
        phase.

        The phases run some more times for it, layer by layer, on the last input; the module keeps its state
        and its gradients. Raises RuntimeError before the first updateOutput.
        """
        if self._input is None:
            raise RuntimeError("timed_report needs updateOutput first")
        plain = self.report()
        self._phases.look()
        with KeptState(self.module, parameters=True), torch.no_grad():
            self._input_value.data.copy_(self._input[: self._input_value.shape[0]])
            if self._output_value.has_grad:
                self._output_value.grad.copy_(self._output_value.data)
            roof = measured_roof(self._input_value.dtype)
            shares = shares_of_roof(self._by_layer, roof)
        self._gradients_kept = False
        layers = []
        for layer, told in zip(self._layers, plain.layers, strict=True):
            found = {phase: shares.get((id(layer), phase)) for phase in told.algorithms}
            of_roof = {phase: share for phase, share in found.items() if share is not None}
            layers.append(replace(told, of_roof=of_roof))
        return replace(plain, layers=tuple(layers), roof=roof)

    def close(self) -> None:
        """Frees all buffers; the module is unchanged. The report remains available."""
        final = self._report()
        self._report = lambda: final
        nothing, unchanged = Replay(()), Watch(lambda: False)
        self._phases = Phases(nothing, nothing, nothing, unchanged, unchanged, unchanged)
        self._layers, self._by_layer = [], {}
        self._input_value = self._output_value = Value((), False, self._input_value.dtype)
        self._memory = Memory()
        self._input, self._outputs, self._gradients_kept = None, None, False

    def __enter__(self) -> "EnginePhases":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

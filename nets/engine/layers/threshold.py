"""Torch7's Threshold."""

from collections.abc import Sequence

import torch
from torch import nn

from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value

aten = torch.ops.aten


class Threshold(Layer):
    """Inputs up to ``threshold`` become ``value``."""

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        module = operation.call
        assert isinstance(module, nn.Threshold)
        self._threshold, self._value = module.threshold, module.value

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return operation.calls(nn.Threshold)

    def forward(self) -> None:
        aten.threshold.out(self.inputs[0].data, self._threshold, self._value, out=self.output.data)

    def input_gradient(self) -> None:
        aten.threshold_backward.grad_input(
            self.output.grad, self.inputs[0].data, self._threshold, grad_input=self.grad_inputs[0]
        )


LAYERS = (Threshold,)

"""Dropout in training mode."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from nets.engine.layers.layer import Layer
from nets.engine.memory import Memory
from nets.engine.trace import Operation
from nets.engine.values import Value


class Dropout(Layer):
    """Dropout in training mode: a new mask on every forward."""

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        assert isinstance(operation.call, nn.Dropout)
        self._kept = 1.0 - operation.call.p
        self._mask = torch.empty(0)

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        call: Any = operation.call
        return operation.calls(nn.Dropout) and call.training

    def allocate(self, memory: Memory) -> None:
        self._mask = self.output.arrange(memory.empty((self.output.numel,), self.output.dtype))

    def forward(self) -> None:
        self._mask.bernoulli_(self._kept)
        if self._kept > 0:
            self._mask.div_(self._kept)
        torch.mul(self.inputs[0].data, self._mask, out=self.output.data)

    def input_gradient(self) -> None:
        torch.mul(self.output.grad, self._mask, out=self.grad_inputs[0])


LAYERS = (Dropout,)

"""Dropout in training mode."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value

_BITS = 32  # of a random number


class Dropout(Layer):
    """Dropout in training mode: a new mask on every forward."""

    mixes_images = True  # by the order of the random numbers

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        assert isinstance(operation.call, nn.Dropout)
        self._kept = 1.0 - operation.call.p
        self._mask = self._drawn = torch.empty(0)

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        call: Any = operation.call
        return operation.calls(nn.Dropout) and call.training

    def allocate(self, memory: Memory) -> None:
        count = self.output.numel
        self._mask = memory.empty((count,), self.output.dtype)
        self._drawn = memory.empty((-(-count // 2),), torch.int64)

    def forward(self) -> None:
        """Draws half as many 64-bit integers, in a seventh of the time of ``bernoulli_``: each half of one is
        uniformly distributed."""
        least, values = torch.iinfo(torch.int32).min, 2**_BITS
        last = least + round(self._kept * values) - 1  # that keeps an element
        if last < least:
            self._mask.zero_()
        else:
            halves = self._drawn.random_(torch.iinfo(torch.int64).min, None).view(torch.int32)
            torch.le(halves[: len(self._mask)], last, out=self._mask)
            self._mask.div_(self._kept)
        torch.mul(self.inputs[0].data, self.output.arrange(self._mask), out=self.output.data)

    def input_gradient(self) -> None:
        torch.mul(self.output.grad, self.output.arrange(self._mask), out=self.grad_inputs[0])


LAYERS = (Dropout,)

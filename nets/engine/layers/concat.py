"""Images joined along their channels."""

from collections.abc import Sequence

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels import pointwise
from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value

_FUNCTIONS = {torch.cat, torch.concat, torch.concatenate}


class Concat(Layer):
    """Images joined along their channels. An input stored directly in its part of the output costs
    nothing."""

    writes_in_place = True
    joins_inputs = True
    lends_gradient = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        self._starts = [sum(value.image_shape[3] for value in inputs[:i]) for i in range(len(inputs))]

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        if operation.call not in _FUNCTIONS or not all(value.is_image for value in inputs):
            return False
        given = operation.arguments("tensors", "dim")
        parts, dim = given["tensors"], given.get("dim", given.get("axis", 0))
        dimensions = len(output.shape)
        return len(inputs) == len(parts) and dim % dimensions == dimensions - 3

    def part(self, of_output: Tensor, index: int) -> Tensor:
        return of_output.narrow(-3, self._starts[index], self.inputs[index].image_shape[3])

    def forward(self) -> None:
        for index, value in enumerate(self.inputs):
            part = self.part(self.output.data, index)
            if part.data_ptr() != value.data.data_ptr():
                pointwise.copy(value, value.data, part)

    def input_gradient(self) -> None:
        for index, grad in enumerate(self.grad_inputs):
            part = self.part(self.output.grad, index)
            if part.data_ptr() != grad.data_ptr():
                pointwise.copy(self.inputs[index], part, grad)


LAYERS = (Concat,)

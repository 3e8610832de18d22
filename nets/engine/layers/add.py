"""The sum of two values of the same shape."""

import operator
from collections.abc import Sequence

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels import pointwise
from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.trace import Operation, Slot
from convnet_benchmarks.nets.engine.values import Value

_FUNCTIONS = {torch.add, operator.add, Tensor.add}


class Add(Layer):
    """The sum of two values. Each input's gradient is the output's."""

    is_sum = True
    relu_in_place = True
    lends_gradient = True

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return (
            operation.call in _FUNCTIONS
            and len(inputs) == len(operation.args) == 2
            and all(isinstance(item, Slot) for item in operation.args)
            and not operation.kwargs
            and inputs[0].shape == inputs[1].shape
        )

    def shared_gradient(self, index: int) -> Tensor:
        return self.output.grad

    def forward(self) -> None:
        torch.add(self.inputs[0].data, self.inputs[1].data, out=self.output.data)
        if self.relu:
            self.output.data.clamp_min_(0)

    def input_gradient(self) -> None:
        for grad in self.grad_inputs:
            if grad.data_ptr() != self.output.grad.data_ptr():
                pointwise.copy(self.output, self.output.grad, grad)


LAYERS = (Add,)

"""A ReLU whose input has other users, too; all others are part of the layer before them."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value

_FUNCTIONS = {F.relu, torch.relu, Tensor.relu}


class ReLU(Layer):
    """The larger of input and 0."""

    is_relu = True

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return operation.call in _FUNCTIONS or operation.calls(nn.ReLU)

    def forward(self) -> None:
        torch.clamp_min(self.inputs[0].data, 0, out=self.output.data)

    def input_gradient(self) -> None:
        torch.ops.aten.threshold_backward.grad_input(
            self.output.grad, self.output.data, 0, grad_input=self.grad_inputs[0]
        )


LAYERS = (ReLU,)

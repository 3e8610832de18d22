"""Log-softmax."""

from collections.abc import Sequence

import torch
from torch import nn

from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value

aten = torch.ops.aten


class LogSoftmax(Layer):
    """Log-softmax of anything but images."""

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        assert isinstance(operation.call, nn.LogSoftmax)
        implicit = 0 if len(output.shape) in (1, 3) else 1  # PyTorch's choice when none is given
        self._dim = implicit if operation.call.dim is None else operation.call.dim
        self.mixes_images = self._dim % len(output.shape) == 0

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return operation.calls(nn.LogSoftmax) and not inputs[0].is_image

    def forward(self) -> None:
        aten._log_softmax.out(self.inputs[0].data, self._dim, False, out=self.output.data)

    def input_gradient(self) -> None:
        aten._log_softmax_backward_data.out(
            self.output.grad, self.output.data, self._dim, self.output.dtype, out=self.grad_inputs[0]
        )


LAYERS = (LogSoftmax,)

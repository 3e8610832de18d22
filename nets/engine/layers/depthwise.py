"""Depthwise convolution: one filter per channel."""

import math
from collections.abc import Sequence
from typing import Any

from torch import nn

from convnet_benchmarks.nets.engine.kernels.compiled.depthwise import depthwise
from convnet_benchmarks.nets.engine.kernels.depthwise import DepthwiseGeometry
from convnet_benchmarks.nets.engine.kernels.pointwise import add_channel_sums
from convnet_benchmarks.nets.engine.layers.folding_layer import FoldingLayer, usable
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value, to_images
from convnet_benchmarks.nets.pair import pair


class DepthwiseConvolution(FoldingLayer):
    """A convolution with as many groups as channels in and out, perhaps followed by a normalisation."""

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        conv: Any = operation.call
        super().__init__(operation, inputs, output, relu, memory, (conv.weight, conv.bias))
        sizes = (conv.kernel_size, conv.stride, conv.padding, conv.dilation)
        self._geometry = DepthwiseGeometry(*map(pair, sizes))
        self._kernel = depthwise(
            self._geometry, inputs[0].image_shape[1:3], output.image_shape[1:3], output.dtype
        )

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        call: Any = operation.call
        if not inputs or not inputs[0].is_image or not operation.calls(nn.Conv2d):
            return False
        plain = call.padding_mode == "zeros" and not isinstance(call.padding, str)
        depthwise_one = 1 < call.groups == call.in_channels == call.out_channels
        return plain and depthwise_one and usable(call.weight, call.bias)

    @classmethod
    def takes_norm(cls, operation: Operation) -> bool:
        return True

    @property
    def work(self) -> int:
        return self.output.numel * math.prod(self._geometry.kernel)

    def forward(self) -> None:
        weight, bias = self._constants()
        self._kernel.forward(self.inputs[0].data_images, weight, bias, self.output.data_images, self.relu)

    def input_gradient(self) -> None:
        grad_in = to_images(self.grad_inputs[0])
        self._kernel.input_gradient(self.output.grad_images, self._constants()[0], grad_in)

    def weight_gradient(self) -> None:
        x, grad_out = self.inputs[0].data_images, self.output.grad_images
        grad_weight, grad_bias = self._begin_gradients()
        if grad_weight is not None:
            self._kernel.weight_gradient(x, grad_out, grad_weight)
        if grad_bias is not None:
            add_channel_sums(grad_out, grad_bias)
        self._end_gradients(grad_weight, grad_bias)

    def invalidate(self) -> None:
        super().invalidate()
        self._kernel.invalidate()


LAYERS = (DepthwiseConvolution,)

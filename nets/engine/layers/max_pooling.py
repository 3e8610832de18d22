"""Max-pooling of images."""

from collections.abc import Sequence

import torch
from torch import nn

from convnet_benchmarks.nets.engine.kernels.compiled.pooling import max_pooling
from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value, to_images


class MaxPool2d(Layer):
    """The largest number of each window; its position is kept for the gradient."""

    relu_in_place = True
    writes_in_place = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        assert isinstance(operation.call, nn.MaxPool2d)
        self._pooling = max_pooling(
            operation.call, inputs[0].image_shape[1:3], output.image_shape[1:3], output.dtype
        )
        self.masks_gradient = self._pooling.masks_gradient
        self._places = torch.empty(0)
        self._relu_before = False

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        # One that also returns indices has two results, which plans do not support.
        return inputs[0].is_image and operation.calls(nn.MaxPool2d)

    def allocate(self, memory: Memory) -> None:
        self._places = memory.empty(self.output.image_shape, self._pooling.places_dtype)

    def mask_input(self) -> bool:
        self._relu_before = self._pooling.masks_gradient
        return self._relu_before

    def forward(self) -> None:
        # A ReLU before pooling is the same as one after it, whose gradient uses the positions.
        relu = self.relu or self._relu_before
        self._pooling.forward(self.inputs[0].data_images, self.output.data_images, self._places, relu)

    def input_gradient(self) -> None:
        self._pooling.input_gradient(
            self.output.grad_images,
            self.inputs[0].data_images,
            self._places,
            to_images(self.grad_inputs[0]),
        )


LAYERS = (MaxPool2d,)

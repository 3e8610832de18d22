"""Convolution and Linear: the layers with a choice of algorithms."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import Parameter

from convnet_benchmarks.nets.engine.choice.selection import Kernels, Selection
from convnet_benchmarks.nets.engine.kernels.pointwise import add_channel_sums
from convnet_benchmarks.nets.engine.layers.folding_layer import FoldingLayer, usable
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.engine.trace import Operation, Slot, Trace
from convnet_benchmarks.nets.engine.values import Value, to_images
from convnet_benchmarks.nets.pair import pair
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT


class WeightedLayer(FoldingLayer):
    """Convolution or Linear: a weight (out, in, ...), perhaps a bias, and one kernel per phase.

    It may include a batch normalisation with constant statistics after it, and a second input that is added
    to the output.
    """

    takes_sum = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        found = _convolution(operation) if inputs[0].is_image else None
        parameters = (found.weight, found.bias) if found else _linear(operation)
        assert parameters is not None
        super().__init__(operation, inputs, output, relu, memory, parameters)
        self._convolution = found.shape(inputs[0].image_shape, output.dtype) if found else None
        self._kernels: Kernels = {}
        self._apart = torch.empty(0)  # for the output before the sum, where the kernel cannot add to it

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        if inputs[0].is_image:  # channels last: their last dimension in memory is not Linear's
            return _convolution(operation) is not None
        return _linear(operation) is not None

    @classmethod
    def takes_norm(cls, operation: Operation) -> bool:
        return _convolution(operation) is not None

    @property
    def _addend(self) -> Value | None:
        """Returns the value that is added to the output."""
        return self.inputs[1] if len(self.inputs) > 1 else None

    def overwrites(self) -> Value | None:
        return self._addend

    def allocate(self, memory: Memory) -> None:
        if self._addend is not None and not self._kernels[FORWARD][1].adds:
            self._apart = self.output.arrange(memory.empty((self.output.numel,), self.output.dtype))

    @property
    def work(self) -> int:
        if self._convolution is not None:
            return self._convolution.multiply_adds
        return self.inputs[0].numel * len(self.weight)

    def choose_kernels(self, selection: Selection) -> None:
        super().choose_kernels(selection)
        after = self.bias is not None or self._folded is not None, self.relu
        if self._convolution is not None:
            self._kernels = selection.for_convolution(self.name, self._convolution, *after)
        else:
            outputs, features = self.weight.shape
            rows = self.inputs[0].numel // features
            self._kernels = selection.for_linear(self.name, rows, features, outputs, *after)
        self.fallback = selection.fallbacks.get(self.name, "")
        self.decided_by = selection.decided_by[self.name]

    def _rows(self, tensor: Tensor) -> Tensor:
        """Shows an activation as the kernels take it: channels last images, or (rows, features)."""
        if self.output.is_image:
            return to_images(tensor)
        return tensor.reshape(-1, tensor.shape[-1])

    def forward(self) -> None:
        kernel, addend, out = self._kernels[FORWARD][1], self._addend, self.output.data
        x, (weight, bias) = self._rows(self.inputs[0].data), self._constants()
        if addend is None:
            kernel.forward(x, weight, bias, self._rows(out), self.relu)
        elif kernel.adds:
            if out.data_ptr() != addend.data.data_ptr():
                out.copy_(addend.data)
            kernel.forward(x, weight, bias, self._rows(out), self.relu, add=True)
        else:
            kernel.forward(x, weight, bias, self._rows(self._apart), False)
            torch.add(addend.data, self._apart, out=out)
            if self.relu:
                out.clamp_min_(0)

    def adds_gradient(self, index: int) -> bool:
        return index == 0 and self._kernels[INPUT_GRADIENT][1].adds_gradient

    def input_gradient(self) -> None:
        kernel = self._kernels[INPUT_GRADIENT][1]
        run = kernel.add_input_gradient if 0 in self.adds_to else kernel.input_gradient
        run(self._rows(self.output.grad), self._constants()[0], self._rows(self.grad_inputs[0]))

    def weight_gradient(self) -> None:
        grad_weight, grad_bias = self._begin_gradients()
        x, grad_out = self._rows(self.inputs[0].data), self._rows(self.output.grad)
        if grad_weight is not None:
            self._kernels[WEIGHT_GRADIENT][1].weight_gradient(x, grad_out, grad_weight)
        if grad_bias is not None:
            add_channel_sums(grad_out, grad_bias)
        self._end_gradients(grad_weight, grad_bias)

    def algorithm(self, phase: str) -> str:
        if phase == WEIGHT_GRADIENT and not self.has_parameters:
            return ""
        return self._kernels[phase][0]

    def invalidate(self) -> None:
        super().invalidate()
        for _, kernel in self._kernels.values():
            kernel.invalidate()


LAYERS = (WeightedLayer,)


@dataclass(frozen=True)
class _Convolution:
    """A convolution's parameters and geometry, from a module or a function call."""

    weight: Parameter
    bias: Parameter | None
    stride: tuple[int, int]
    padding: tuple[int, int]

    def shape(self, image_shape: tuple[int, int, int, int], dtype: torch.dtype) -> ConvolutionShape:
        """Returns its shape on inputs of ``image_shape`` (batch, height, width, channel)."""
        batch, height, width, _ = image_shape
        out_channels, in_channels, *kernel = self.weight.shape
        return ConvolutionShape(
            batch,
            in_channels,
            out_channels,
            (height, width),
            (kernel[0], kernel[1]),
            self.stride,
            self.padding,
            dtype,
        )


def convolution_shapes(traced: Trace, dtype: torch.dtype) -> Iterator[ConvolutionShape]:
    """Yields the shapes of the convolutions among the operations of a trace that the engine has kernels
    for."""
    for operation in traced.operations:
        found = _convolution(operation)
        if found is not None:
            channels, height, width = traced.shapes[operation.inputs[0]][-3:]
            batch = math.prod(traced.shapes[operation.inputs[0]][:-3])
            yield found.shape((batch, height, width, channels), dtype)


def _convolution(operation: Operation) -> _Convolution | None:
    """Returns ``operation`` as a convolution, if it is one that the engine has kernels for."""
    call: Any = operation.call
    if operation.calls(nn.Conv2d):
        plain = call.padding_mode == "zeros" and not isinstance(call.padding, str)
        options = (call.weight, call.bias, call.stride, call.padding, call.dilation, call.groups)
    elif call in (F.conv2d, torch.conv2d):
        defaults = {"bias": None, "stride": 1, "padding": 0, "dilation": 1, "groups": 1}
        given = {**defaults, **operation.arguments("input", "weight", *defaults)}
        options = tuple(given[name] for name in ("weight", *defaults))
        plain = isinstance(given["input"], Slot) and not isinstance(given["padding"], str)
    else:
        return None
    weight, bias, stride, padding, dilation, groups = options
    if not plain or pair(dilation) != (1, 1) or groups != 1 or not usable(weight, bias):
        return None
    return _Convolution(weight, bias, pair(stride), pair(padding))


def _linear(operation: Operation) -> tuple[Parameter, Parameter | None] | None:
    """Returns the weight and bias of the Linear layer that ``operation`` is."""
    call: Any = operation.call
    if operation.calls(nn.Linear):
        weight, bias = call.weight, call.bias
    elif call is F.linear:
        given = operation.arguments("input", "weight", "bias")
        if not isinstance(given["input"], Slot):
            return None
        weight, bias = given["weight"], given.get("bias")
    else:
        return None
    return (weight, bias) if usable(weight, bias) else None

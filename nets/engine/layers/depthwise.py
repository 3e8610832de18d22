"""Depthwise convolution: every channel by a filter of its own."""

import math
from collections.abc import Collection, Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import Parameter

from nets.engine.choice.selection import Selection
from nets.engine.folding import FoldedNorm
from nets.engine.kernels.compiled.depthwise import depthwise
from nets.engine.kernels.depthwise import DepthwiseGeometry, depthwise_gradients
from nets.engine.layers.layer import Layer, gradient_of
from nets.engine.memory import Memory
from nets.engine.trace import Operation
from nets.engine.values import Value, to_images
from nets.pair import pair


class DepthwiseConvolution(Layer):
    """A convolution with as many groups as channels in and out, perhaps followed by a normalisation."""

    relu_in_place = True
    divisible = True
    writes_in_place = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        conv = operation.call
        assert isinstance(conv, nn.Conv2d) and not isinstance(conv.padding, str)
        weight, bias = conv.weight, conv.bias
        assert isinstance(weight, Parameter) and (bias is None or isinstance(bias, Parameter))
        self._weight, self._bias = weight, bias
        sizes = (conv.kernel_size, conv.stride, conv.padding, conv.dilation)
        self._geometry = DepthwiseGeometry(*map(pair, sizes))
        self._kernel = depthwise(self._geometry, output.dtype)
        self._folded: FoldedNorm | None = None

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        call: Any = operation.call
        if not inputs or not inputs[0].is_image or not operation.calls(nn.Conv2d):
            return False
        plain = call.padding_mode == "zeros" and not isinstance(call.padding, str)
        usable = isinstance(call.weight, Parameter) and call.weight.is_contiguous()
        usable = usable and (call.bias is None or isinstance(call.bias, Parameter))
        return plain and usable and 1 < call.groups == call.in_channels == call.out_channels

    @classmethod
    def takes_norm(cls, operation: Operation) -> bool:
        return True

    def fold(self, norm: nn.BatchNorm2d) -> None:
        self._folded = FoldedNorm(self._weight, self._bias, norm, self._memory)
        self.kind += "+BatchNorm"

    @property
    def work(self) -> int:
        return self.output.numel * math.prod(self._geometry.kernel)

    def choose_kernels(self, selection: Selection, divided: Collection[str]) -> None:
        if self._folded is not None:
            self._folded.checked = selection.check_weights

    def parameters(self) -> list[Parameter]:
        own = [self._weight] if self._bias is None else [self._weight, self._bias]
        return own if self._folded is None else own + self._folded.parameters()

    def _constants(self) -> tuple[Tensor, Tensor | None]:
        if self._folded is not None:
            return self._folded.get()
        return self._weight.detach(), None if self._bias is None else self._bias.detach()

    def forward(self) -> None:
        weight, bias = self._constants()
        self._kernel.forward(self.inputs[0].data_images, weight, bias, self.output.data_images, self.relu)

    def _gradient(self, wanted: str) -> Tensor:
        return depthwise_gradients(
            self._geometry,
            self.output.grad_images,
            self.inputs[0].data_images,
            self._constants()[0],
            wanted,
        )

    def input_gradient(self) -> None:
        to_images(self.grad_inputs[0]).copy_(self._gradient("input"))

    def weight_gradient(self) -> None:
        weight, bias = self._gradient("weight"), self.output.grad_images.sum((0, 1, 2))
        found: list[tuple[Parameter | None, Tensor]] = [(self._weight, weight), (self._bias, bias)]
        if self._folded is not None:
            found = self._folded.gradients(weight, bias)
        for parameter, gradient in found:
            if parameter is not None and parameter.requires_grad:
                gradient_of(parameter, self._memory).add_(gradient)

    def invalidate(self) -> None:
        self._kernel.invalidate()
        if self._folded is not None:
            self._folded.invalidate()


LAYERS = (DepthwiseConvolution,)

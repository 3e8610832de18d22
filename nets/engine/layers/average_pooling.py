"""Average pooling over windows, and over whole images."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine.kernels.compiled.averages import Averaging, CompiledAverages
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value
from convnet_benchmarks.nets.pair import pair

aten = torch.ops.aten


class AvgPool2d(Layer):
    """The mean of each window."""

    relu_in_place = True
    writes_in_place = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        pool = operation.call
        assert isinstance(pool, nn.AvgPool2d)
        self._options = (
            pair(pool.kernel_size),
            pair(pool.kernel_size if pool.stride is None else pool.stride),
            pair(pool.padding),
            pool.ceil_mode,
            pool.count_include_pad,
            pool.divisor_override,
        )
        kernel, stride, padding, _, counts_padding, divisor = self._options
        how = Averaging(kernel, stride, padding, counts_padding, divisor)
        self._compiled = _compiled(how, inputs[0], output)

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return inputs[0].is_image and operation.calls(nn.AvgPool2d)

    def forward(self) -> None:
        if self._compiled is not None:
            self._compiled.forward(self.inputs[0].data_images, self.output.data_images, self.relu)
            return
        out = _batched(self.output.data)
        aten.avg_pool2d.out(_batched(self.inputs[0].data), *self._options, out=out)
        if self.relu:
            out.clamp_min_(0)

    def input_gradient(self) -> None:
        aten.avg_pool2d_backward.grad_input(
            _batched(self.output.grad),
            _batched(self.inputs[0].data),
            *self._options,
            grad_input=_batched(self.grad_inputs[0]),
        )


class GlobalAvgPool(Layer):
    """The mean over each channel's whole image."""

    relu_in_place = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        _, height, width, _ = inputs[0].image_shape
        how = Averaging((height, width), (1, 1), (0, 0), False, None)
        self._compiled = _compiled(how, inputs[0], output)

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return inputs[0].is_image and operation.calls(nn.AdaptiveAvgPool2d) and output.shape[-2:] == (1, 1)

    def forward(self) -> None:
        if self._compiled is not None:
            self._compiled.forward(self.inputs[0].data_images, self.output.data_images, self.relu)
            return
        out = _batched(self.output.data)
        torch.mean(_batched(self.inputs[0].data), (2, 3), keepdim=True, out=out)
        if self.relu:
            out.clamp_min_(0)

    def input_gradient(self) -> None:
        grad_in = _batched(self.grad_inputs[0])
        torch.div(
            _batched(self.output.grad).expand_as(grad_in), grad_in.shape[2] * grad_in.shape[3], out=grad_in
        )


LAYERS = (AvgPool2d, GlobalAvgPool)


def _compiled(how: Averaging, input: Value, output: Value) -> CompiledAverages | None:
    try:
        return CompiledAverages(how, input.image_shape[1:3], output.image_shape[1:3], output.dtype)
    except NotCompiled:
        return None


def _batched(tensor: Tensor) -> Tensor:
    """Shows ``tensor`` with a batch dimension, for operators that need one; a view."""
    return tensor if tensor.dim() == 4 else tensor.unsqueeze(0)

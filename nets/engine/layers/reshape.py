"""The same elements in the same order under another shape."""

from collections.abc import Sequence

from torch import Tensor

from convnet_benchmarks.nets.engine.layers.layer import Layer
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value


class Reshape(Layer):
    """The same elements in the same order under another shape; without a copy where the layout allows it."""

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return operation.reshapes

    def shared_output(self) -> Tensor | None:
        return _same_memory(self.inputs[0].data, self.output)

    def shared_gradient(self, index: int) -> Tensor | None:
        return _same_memory(self.output.grad, self.inputs[index])

    def forward(self) -> None:
        _copy(self.inputs[0].data, self.output.data)

    def input_gradient(self) -> None:
        _copy(self.output.grad, self.grad_inputs[0])


LAYERS = (Reshape,)


def _copy(source: Tensor, target: Tensor) -> None:
    if source.data_ptr() == target.data_ptr():
        return
    if target.is_contiguous():
        target.view(source.shape).copy_(source)
    else:
        target.copy_(source.reshape(target.shape))


def _same_memory(tensor: Tensor, value: Value) -> Tensor | None:
    """Shows ``tensor`` in the shape of ``value`` without a copy, if that gives a layout the layers take."""
    try:
        shared = tensor.view(value.shape)
    except RuntimeError:
        return None
    plain = shared.permute(1, 2, 0) if shared.dim() == 3 else shared
    plain = shared.permute(0, 2, 3, 1) if shared.dim() == 4 else plain
    return shared if (plain if value.is_image else shared).is_contiguous() else None

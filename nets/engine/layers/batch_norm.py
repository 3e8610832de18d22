"""Batch normalisation of images or rows."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import Parameter

from convnet_benchmarks.nets.engine.kernels import pointwise
from convnet_benchmarks.nets.engine.kernels.batch_norm import Running
from convnet_benchmarks.nets.engine.kernels.compiled.batch_norm import batch_norm
from convnet_benchmarks.nets.engine.layers.layer import Layer, gradient_of
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value


class BatchNorm(Layer):
    """Batch normalisation of images or rows, in training mode or with running statistics; perhaps a second
    input is added."""

    relu_in_place = True
    takes_sum = True
    differentiates_sum = True
    lends_gradient = True
    reads_gradient_later = False
    overwrites_gradient = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        norm = operation.call
        assert isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d))
        self._norm = norm
        self._by_batch = self.mixes_images = norm.training or norm.running_mean is None
        self._kernel = batch_norm(norm.num_features, len(output.shape), relu, norm.eps, output.dtype)
        self.masks_gradient = self._kernel.masks_gradient

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        call: Any = operation.call
        by_norm = operation.calls(nn.BatchNorm1d, nn.BatchNorm2d)
        return by_norm and (call.training or call.running_mean is not None)

    @classmethod
    def constant_norm(cls, operation: Operation) -> nn.BatchNorm2d | None:
        call: Any = operation.call
        constant = isinstance(call, nn.BatchNorm2d) and not call.training and call.running_mean is not None
        return call if constant else None

    def parameters(self) -> list[Parameter]:
        return list(self._norm.parameters())

    def _affine(self) -> tuple[Tensor | None, Tensor | None]:
        weight, bias = self._norm.weight, self._norm.bias
        return (None, None) if weight is None else (weight.detach(), bias.detach())

    def _running(self) -> Running | None:
        """Returns the running statistics to update, if any."""
        norm = self._norm
        if not (norm.training and norm.track_running_stats):
            return None
        assert norm.running_mean is not None and norm.running_var is not None
        return Running(norm.running_mean, norm.running_var, norm.num_batches_tracked, norm.momentum)

    def forward(self) -> None:
        x, out = self.inputs[0].data, self.output.data
        addend = self.inputs[1].data if len(self.inputs) > 1 else None
        if self._by_batch:
            self._kernel.normalise_batch(x, self._running(), *self._affine(), out, addend)
            return
        mean, variance = self._norm.running_mean, self._norm.running_var
        assert mean is not None and variance is not None
        self._kernel.normalise(x, mean, variance, *self._affine(), out, addend)

    def shared_gradient(self, index: int) -> Tensor | None:
        return self.output.grad if index == 1 else None

    def adds_gradient(self, index: int) -> bool:
        return index == 0 and self._kernel.adds_gradient

    def input_gradient(self) -> None:
        has_addend = len(self.inputs) > 1
        self._kernel.input_gradient(
            self.inputs[0].data,
            self.output.grad,
            self._affine()[0],
            self.grad_inputs[0],
            self.output.data if has_addend else None,
            0 in self.adds_to,
        )
        if has_addend and self.grad_inputs[1].data_ptr() != self.output.grad.data_ptr():
            pointwise.copy(self.output, self.output.grad, self.grad_inputs[1])

    def weight_gradient(self) -> None:
        """Adds the sums that updateGradInput computed: they are the parameters' gradients."""
        of_weight, of_bias = (
            gradient_of(parameter, self._memory)
            if parameter is not None and parameter.requires_grad
            else None
            for parameter in (self._norm.weight, self._norm.bias)
        )
        self._kernel.add_parameter_gradients(of_weight, of_bias)


LAYERS = (BatchNorm,)

"""Batch normalisation of images or rows."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from nets.engine.kernels.compiled.batch_norm import batch_norm
from nets.engine.layers.layer import Layer, gradient_of
from nets.engine.memory import Memory
from nets.engine.trace import Operation
from nets.engine.values import Value


class BatchNorm(Layer):
    """Batch normalisation of images or rows, in training mode or with running statistics; perhaps a second
    input is added."""

    relu_in_place = True
    takes_sum = True
    differentiates_sum = True
    lends_gradient = True
    reads_gradient_later = False

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        norm = operation.call
        assert isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d))
        self._norm = norm
        self._by_batch = self.mixes_images = norm.training or norm.running_mean is None
        self._kernel = batch_norm(norm.num_features, len(output.shape), relu, norm.eps, output.dtype)
        self.masks_gradient = self._kernel.masks_gradient and len(inputs) == 1
        self._gradients: tuple[Tensor, Tensor] = (torch.empty(0), torch.empty(0))

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

    def _momentum(self) -> float:
        norm = self._norm
        if not (norm.training and norm.track_running_stats):
            return 0.0 if norm.momentum is None else norm.momentum
        assert norm.num_batches_tracked is not None
        norm.num_batches_tracked.add_(1)
        return 1.0 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum

    def _running(self) -> tuple[Tensor | None, Tensor | None]:
        tracked = not self._norm.training or self._norm.track_running_stats
        return (self._norm.running_mean, self._norm.running_var) if tracked else (None, None)

    def forward(self) -> None:
        x = self.inputs[0].data
        mean, variance = self._running()
        momentum = self._momentum()
        if self._by_batch:
            mean, variance = self._kernel.statistics(x, mean, variance, momentum)
        assert mean is not None and variance is not None
        addend = self.inputs[1].data if len(self.inputs) > 1 else None
        self._kernel.forward(x, mean, variance, self._by_batch, *self._affine(), self.output.data, addend)

    def shared_gradient(self, index: int) -> Tensor | None:
        return self.output.grad if index == 1 else None

    def input_gradient(self) -> None:
        if len(self.inputs) > 1 and self.grad_inputs[1].data_ptr() != self.output.grad.data_ptr():
            self.grad_inputs[1].copy_(self.output.grad)
        self._gradients = self._kernel.input_gradient(
            self.inputs[0].data, self.output.grad, self._affine()[0], self.grad_inputs[0]
        )

    def weight_gradient(self) -> None:
        """Adds the sums that updateGradInput computed: they are the parameters' gradients."""
        parameters = (self._norm.weight, self._norm.bias)
        for parameter, gradient in zip(parameters, self._gradients, strict=True):
            if parameter.requires_grad:
                gradient_of(parameter, self._memory).add_(gradient)


LAYERS = (BatchNorm,)

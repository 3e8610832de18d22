"""The common part of layers whose weight can absorb the batch normalisation after them."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from convnet_benchmarks.nets.engine.choice.selection import Selection
from convnet_benchmarks.nets.engine.folding import FoldedNorm
from convnet_benchmarks.nets.engine.layers.layer import Layer, gradient_of
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.trace import Operation
from convnet_benchmarks.nets.engine.values import Value


class FoldingLayer(Layer):
    """A layer with a weight (out, in, ...) and perhaps a bias, perhaps followed by a normalisation."""

    relu_in_place = True
    writes_in_place = True

    def __init__(
        self,
        operation: Operation,
        inputs: list[Value],
        output: Value,
        relu: bool,
        memory: Memory,
        parameters: tuple[Parameter, Parameter | None],
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        self.weight, self.bias = parameters
        self._folded: FoldedNorm | None = None

    def fold(self, norm: nn.BatchNorm2d) -> None:
        self._folded = FoldedNorm(self.weight, self.bias, norm, self._memory)
        self.kind += "+BatchNorm"

    def choose_kernels(self, selection: Selection) -> None:
        if self._folded is not None:
            self._folded.checked = selection.check_weights

    def parameters(self) -> list[Parameter]:
        own = [self.weight] if self.bias is None else [self.weight, self.bias]
        return own if self._folded is None else own + self._folded.parameters()

    def _constants(self) -> tuple[Tensor, Tensor | None]:
        """Returns the weight and bias that the kernels run with."""
        if self._folded is not None:
            return self._folded.get()
        return self.weight.detach(), None if self.bias is None else self.bias.detach()

    def _begin_gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """Returns the tensors to which kernels add the gradients of weight and bias, where needed: the
        parameters' ``.grad``, allocated if missing, or a contiguous tensor in its place."""
        if self._folded is not None:
            return torch.zeros_like(self.weight), self.weight.new_zeros(len(self.weight))
        grad_weight, grad_bias = (
            gradient_of(parameter, self._memory)
            if parameter is not None and parameter.requires_grad
            else None
            for parameter in (self.weight, self.bias)
        )
        if grad_weight is not None and not grad_weight.is_contiguous():
            grad_weight = torch.zeros_like(grad_weight, memory_format=torch.contiguous_format)
        return grad_weight, grad_bias

    def _end_gradients(self, grad_weight: Tensor | None, grad_bias: Tensor | None) -> None:
        """Adds gradients to ``.grad`` that kernels could not add to it directly."""
        if self._folded is not None:
            assert grad_weight is not None and grad_bias is not None
            for parameter, gradient in self._folded.gradients(grad_weight, grad_bias):
                if parameter is not None and parameter.requires_grad:
                    gradient_of(parameter, self._memory).add_(gradient)
        elif grad_weight is not None and grad_weight is not self.weight.grad:
            gradient_of(self.weight, self._memory).add_(grad_weight)

    def invalidate(self) -> None:
        if self._folded is not None:
            self._folded.invalidate()


def usable(weight: Any, bias: Any) -> bool:
    """Returns whether they are plain parameters in PyTorch's usual layout (a parametrised weight is computed,
    and not a Parameter)."""
    given = (weight,) if bias is None else (weight, bias)
    return all(isinstance(tensor, Parameter) and tensor.is_contiguous() for tensor in given)

"""Anything the engine has no better layer for, through PyTorch's operators."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from nets.engine.layers.layer import Layer, gradient_of
from nets.engine.memory import Memory
from nets.engine.trace import Operation, Slot, map_leaves
from nets.engine.values import Value
from nets.phases import WEIGHT_GRADIENT


class StockLayer(Layer):
    """Any operation, on a small autograd graph of its own.

    Where there is a hook, updateGradInput computes the parameters' gradients as well, as a full backward
    does: the hook runs once, and on the gradients that it would get there.
    """

    mixes_images = True

    def __init__(
        self, operation: Operation, inputs: list[Value], output: Value, relu: bool, memory: Memory
    ) -> None:
        super().__init__(operation, inputs, output, relu, memory)
        self._operation = operation
        self._leaves: list[Tensor] = []
        self._result = torch.empty(0)
        self._has_hook = bool(operation.hook)
        self._of_parameters: Sequence[Tensor | None] = ()  # their gradients, where there is a hook
        if self._has_hook:
            self.fallback = f"PyTorch's autograd, because of a {operation.hook}"

    @classmethod
    def recognises(cls, operation: Operation, inputs: Sequence[Value], output: Value) -> bool:
        return True

    def parameters(self) -> list[Parameter]:
        return self._operation.parameters

    @property
    def _trainable(self) -> list[Parameter]:
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def forward(self) -> None:
        operation = self._operation
        self._leaves = [value.data.detach().requires_grad_() for value in self.inputs]
        by_index = dict(zip(operation.inputs, self._leaves, strict=True))
        with torch.enable_grad():

            def fill(item: Any) -> Any:
                if not isinstance(item, Slot):
                    return item
                leaf = by_index[item.index]
                return leaf.clone() if operation.in_place else leaf

            result: Tensor = operation.call(
                *map_leaves(operation.args, fill), **map_leaves(operation.kwargs, fill)
            )
        self._result = result
        self.output.data.copy_(result.detach())

    def _gradients(self, wanted: Sequence[Tensor]) -> Sequence[Tensor | None]:
        if not self._result.requires_grad:
            return [None] * len(wanted)
        with torch.enable_grad():
            found: Sequence[Tensor | None] = torch.autograd.grad(
                self._result, wanted, self.output.grad, retain_graph=True, allow_unused=True
            )
        return found

    def input_gradient(self) -> None:
        inputs = len(self._leaves)
        found = self._gradients([*self._leaves, *(self._trainable if self._has_hook else [])])
        self._of_parameters = found[inputs:]
        for target, gradient in zip(self.grad_inputs, found[:inputs], strict=True):
            if gradient is None:
                target.zero_()
            else:
                target.copy_(gradient)

    def weight_gradient(self) -> None:
        trainable = self._trainable
        found = self._of_parameters if self._has_hook else self._gradients(trainable)
        for parameter, gradient in zip(trainable, found, strict=True):
            if gradient is not None:
                gradient_of(parameter, self._memory).add_(gradient)

    def algorithm(self, phase: str) -> str:
        return "stock" if phase != WEIGHT_GRADIENT or self.has_parameters else ""

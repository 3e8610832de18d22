"""Layers that take what Torch7's do not: softmax along any dimension, views of tensors in any layout."""

from typing import Any

from torch import Tensor

from lua_compat.legacy.modules import Module

__all__ = ["AlongDimension", "AnyLayout"]


class AlongDimension(Module):
    """A layer with the argument ``dim``: Lua computes rows, which lie along that dimension."""

    dim: Any

    def updateOutput(self, input: Any) -> Any:
        if self.__dict__.get("dim") is None:
            return super().updateOutput(input)
        rows = super().updateOutput(self._rows(input))
        self.output = self._back(rows, input)
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        if self.__dict__.get("dim") is None:
            return super().updateGradInput(input, gradOutput)
        output, self.output = self.output, self._rows(self.output)
        gradient = super().updateGradInput(self._rows(input), self._rows(gradOutput))
        self.output, self.gradInput = output, self._back(gradient, input)
        return self.gradInput

    def backward(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        return self.updateGradInput(input, gradOutput)

    def _rows(self, tensor: Tensor) -> Tensor:
        moved = tensor.movedim(self.dim, -1)
        return moved.reshape(-1, moved.shape[-1]).contiguous()

    def _back(self, rows: Tensor, like: Tensor) -> Tensor:
        return rows.reshape(like.movedim(self.dim, -1).shape).movedim(-1, self.dim).contiguous()


class AnyLayout(Module):
    """A layer whose Lua takes contiguous tensors only."""

    def updateOutput(self, input: Any) -> Any:
        return super().updateOutput(input.contiguous())

    def updateGradInput(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        return super().updateGradInput(input, gradOutput.contiguous())

    def backward(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        return self.updateGradInput(input, gradOutput)

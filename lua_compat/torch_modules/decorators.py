"""Modules around one module."""

from typing import Any

import torch
from torch import Tensor, nn

from lua_compat.torch_modules.base import Size, Torch7Module


class Bottle(Torch7Module):
    """Merges the leading dimensions of an input of more than ``nInputDim`` dimensions into one."""

    module: nn.Module
    nInputDim: int
    nOutputDim: int

    def forward(self, input: Tensor) -> Tensor:
        extra = input.dim() - self.nInputDim
        if extra <= 0:
            return self.module(input)
        outer: Size = tuple(input.shape[: extra + 1])
        output = self.module(input.reshape(-1, *input.shape[extra + 1 :]))
        return output.reshape(*outer[:-1], -1, *output.shape[1:])


class WeightNorm(Torch7Module):
    """A child whose weight is g * v / sqrt(|v|^2 + 1e-4), row by row of ``outputDim``.

    ``v``: (rows, the rest); ``g``: one for each row.
    """

    child: nn.Module
    v: nn.Parameter
    g: nn.Parameter
    outputDim: int

    def forward(self, input: Any) -> Any:
        return torch.func.functional_call(self.child, {"weight": self.weight()}, (input,))

    def weight(self) -> Tensor:
        """Returns the weight in the child's layout."""
        scale = self.g.reshape(-1) / (self.v.square().sum(1) + 10e-5).sqrt()
        rows = self.v * scale.unsqueeze(1)
        size = list(self.child.get_parameter("weight").shape)
        first = self.outputDim - 1
        moved = [size[first], *size[:first], *size[first + 1 :]]
        return rows.reshape(moved).movedim(0, first)

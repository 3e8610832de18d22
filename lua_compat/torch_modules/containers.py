"""Modules made of modules."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class ParallelTable(nn.ModuleList):
    """The i-th child on the i-th element of the table."""

    def forward(self, input: list[Any]) -> list[Any]:
        return [module(element) for module, element in zip(self, input, strict=False)]


class MapTable(nn.ModuleList):
    """The one child on each element of the table."""

    def forward(self, input: list[Any]) -> list[Any]:
        return [self[0](element) for element in input]


class Parallel(nn.ModuleList):
    """The i-th child on the i-th slice of ``inputDimension``; joined along ``outputDimension``."""

    def __init__(self, modules: list[nn.Module], inputDimension: int, outputDimension: int) -> None:
        super().__init__(modules)
        self.inputDimension = inputDimension
        self.outputDimension = outputDimension

    def forward(self, input: Tensor) -> Tensor:
        slices = input.unbind(self.inputDimension - 1)
        outputs = [module(part) for module, part in zip(self, slices, strict=False)]
        return torch.cat(outputs, self.outputDimension - 1)


class DepthConcat(nn.ModuleList):
    """As Concat along ``dimension``; smaller outputs are centred in the largest and padded with zeros."""

    def __init__(self, modules: list[nn.Module], dimension: int) -> None:
        super().__init__(modules)
        self.dimension = dimension

    def forward(self, input: Tensor) -> Tensor:
        outputs = [module(input) for module in self]
        largest = [max(sizes) for sizes in zip(*(output.shape for output in outputs), strict=True)]
        return torch.cat([self._centred(output, largest) for output in outputs], self.dimension - 1)

    def _centred(self, output: Tensor, largest: list[int]) -> Tensor:
        padding: list[int] = []
        for dim in reversed(range(output.dim())):
            missing = 0 if dim == self.dimension - 1 else largest[dim] - output.shape[dim]
            padding += [missing // 2, missing - missing // 2]
        return functional.pad(output, padding)

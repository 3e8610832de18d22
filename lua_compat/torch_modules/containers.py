"""Modules made of modules. Their children are numbered from 0 in a state_dict, as in nn.Sequential."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Size, Torch7Module


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


class Bottle(Torch7Module):
    """Folds the leading dimensions of an input of more than ``nInputDim`` into the first one it leaves."""

    module: nn.Module
    nInputDim: int = 2
    nOutputDim: int = 2

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
    outputDim: int = 1

    def forward(self, input: Any) -> Any:
        return torch.func.functional_call(self.child, {"weight": self.weight()}, (input,))

    def weight(self) -> Tensor:
        """In the child's layout."""
        scale = self.g.reshape(-1) / (self.v.square().sum(1) + 10e-5).sqrt()
        rows = self.v * scale.unsqueeze(1)
        size = list(self.child.get_parameter("weight").shape)
        first = self.outputDim - 1
        moved = [size[first], *size[:first], *size[first + 1 :]]
        return rows.reshape(moved).movedim(0, first)


class GraphModule(nn.Module):
    """nngraph's gModule: ``steps`` in an order in which every step's inputs are there before it.

    A step is (child, inputs, select): the index of its child or None for none, the indices of the steps whose
    outputs it takes in order, and the place it selects from a table or None. Step 0 is the input.
    """

    def __init__(
        self,
        modules: list[nn.Module],
        steps: list[tuple[int | None, tuple[int, ...], int | None]],
        outputs: tuple[int, ...],
        inputs: int,
    ) -> None:
        super().__init__()
        self.children_in_order = nn.ModuleList(modules)
        self.steps = steps
        self.outputs = outputs
        self.inputs = inputs

    def forward(self, input: Any) -> Any:
        values: list[Any] = []
        for child, sources, select in self.steps:
            taken = [values[source] for source in sources] if sources else [input]
            value: Any = taken[0] if len(taken) == 1 else taken
            if select is not None:
                value = value[select - 1]
            if child is not None:
                value = self.children_in_order[child](value)
            values.append(value)
        chosen = [values[place] for place in self.outputs]
        return chosen[0] if len(chosen) == 1 else chosen

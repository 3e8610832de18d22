"""Layers that take or return tables."""

import functools
import operator
from typing import Any

import torch
from torch import Tensor

from lua_compat.torch_modules.base import InPlace, Size, Torch7Module, axis


class JoinTable(Torch7Module):
    dimension: int
    nInputDims: int | None = None

    def forward(self, input: list[Tensor]) -> Tensor:
        return torch.cat(list(input), axis(self.dimension, input[0], self.nInputDims))


class SplitTable(Torch7Module):
    dimension: int
    nInputDims: int | None = None

    def forward(self, input: Tensor) -> list[Tensor]:
        return list(input.unbind(axis(self.dimension, input, self.nInputDims)))


class SelectTable(Torch7Module):
    """The element at ``index``: a position, negative from the end, or the name of a field."""

    index: int | str

    def forward(self, input: Any) -> Any:
        return input[self.index - (self.index > 0)] if isinstance(self.index, int) else input[self.index]


class NarrowTable(Torch7Module):
    offset: int
    length: int

    def forward(self, input: list[Any]) -> list[Any]:
        return list(input[self.offset - 1 : self.offset - 1 + self.length])


class FlattenTable(Torch7Module):
    def forward(self, input: Any) -> list[Tensor]:
        if isinstance(input, Tensor):
            return [input]
        return [tensor for item in input for tensor in self.forward(item)]


def _same_shape(input: list[Tensor]) -> list[Tensor]:
    """Returns the tensors in the first one's shape: Torch7 pairs elements in order, whatever the others'
    shapes."""
    first = input[0]
    return [tensor if tensor.shape == first.shape else tensor.reshape(first.shape) for tensor in input]


class CAddTable(InPlace, Torch7Module):
    inplace: bool

    def forward(self, input: list[Tensor]) -> Tensor:
        return functools.reduce(Tensor.add_ if self.inplace else operator.add, _same_shape(input))


class CSubTable(Torch7Module):
    def forward(self, input: list[Tensor]) -> Tensor:
        first, second = _same_shape(input)
        return first - second


class CMulTable(Torch7Module):
    def forward(self, input: list[Tensor]) -> Tensor:
        return functools.reduce(operator.mul, _same_shape(input))


class CDivTable(Torch7Module):
    def forward(self, input: list[Tensor]) -> Tensor:
        first, second = _same_shape(input)
        return first / second


class CMaxTable(Torch7Module):
    def forward(self, input: list[Tensor]) -> Tensor:
        return functools.reduce(torch.maximum, _same_shape(input))


class CMinTable(Torch7Module):
    def forward(self, input: list[Tensor]) -> Tensor:
        return functools.reduce(torch.minimum, _same_shape(input))


class CAddTensorTable(Torch7Module):
    """{tensor, table}: the tensor added to each element of the table."""

    def forward(self, input: list[Any]) -> list[Tensor]:
        tensor, table = input
        return [element + tensor for element in table]


class ZipTable(Torch7Module):
    """{{a1, a2}, {b1, b2}} -> {{a1, b1}, {a2, b2}}."""

    def forward(self, input: list[list[Any]]) -> list[list[Any]]:
        return [list(row) for row in zip(*input, strict=True)]


class ZipTableOneToMany(Torch7Module):
    """{a, {b1, b2}} -> {{a, b1}, {a, b2}}."""

    def forward(self, input: list[Any]) -> list[list[Any]]:
        one, many = input
        return [[one, element] for element in many]


class MixtureTable(Torch7Module):
    """{gates, experts}: the experts' outputs weighted by the gates and summed along ``dim``.

    gates: (batch, experts) or (experts,); experts: a table, or one tensor with the experts along ``dim``.
    """

    dim: int | None = None

    def forward(self, input: list[Any]) -> Tensor:
        gates, experts = input
        place = (self.dim or (1 if gates.dim() < 2 else 2)) - 1
        stacked = experts if isinstance(experts, Tensor) else torch.stack(list(experts), place)
        shape: Size = tuple(
            size if i == place or (i == 0 and gates.dim() > 1) else 1 for i, size in enumerate(stacked.shape)
        )
        return (gates.reshape(shape) * stacked).sum(place)

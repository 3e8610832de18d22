"""Views and selections of one tensor."""

import torch
from torch import Tensor

from lua_compat.torch_modules.base import Size, Torch7Module, axis


class Reshape(Torch7Module):
    """``size``; an input with a batch dimension before it keeps that one.

    Without ``batchMode`` it is a batch unless it has exactly the elements of ``size`` and not one row.
    """

    size: Size
    batchMode: bool | None = None

    def forward(self, input: Tensor) -> Tensor:
        one_sample = input.numel() == torch.Size(self.size).numel() and input.shape[0] != 1
        if self.batchMode is False or (self.batchMode is None and one_sample):
            return input.reshape(self.size)
        return input.reshape(input.shape[0], *self.size)


class Collapse(Torch7Module):
    """One dimension for a sample of ``nInputDim`` dimensions."""

    nInputDim: int

    def forward(self, input: Tensor) -> Tensor:
        return input.reshape(input.shape[0], -1) if input.dim() > self.nInputDim else input.reshape(-1)


class Contiguous(Torch7Module):
    def forward(self, input: Tensor) -> Tensor:
        return input.contiguous()


class Narrow(Torch7Module):
    """``length`` slices from ``index`` on; a negative length leaves that many (less one) off at the end."""

    dimension: int
    index: int
    length: int

    def forward(self, input: Tensor) -> Tensor:
        dim = axis(self.dimension, input)
        length, index = self.length, self.index
        if length < 0:
            length = input.shape[dim] - index + length + 2
        if index < 0:  # Torch7's rule: from the start, leaving the length off
            index, length = 1, input.shape[dim] - length
        return input.narrow(dim, index - 1, length)


class Select(Torch7Module):
    dimension: int
    index: int

    def forward(self, input: Tensor) -> Tensor:
        return input.select(axis(self.dimension, input), self.index - (self.index > 0))


class Transpose(Torch7Module):
    """Swaps each pair of dimensions in turn."""

    permutations: list[list[int]]
    numInputDims: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        offset = input.dim() - self.numInputDims if self.numInputDims else 0
        for one, other in self.permutations:
            input = input.transpose(one - 1 + offset, other - 1 + offset)
        return input


class Unsqueeze(Torch7Module):
    pos: int
    numInputDims: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        if self.numInputDims is None:  # Torch7 remembers the first input's
            self.numInputDims = input.dim()
        return input.unsqueeze(self.pos - 1 + input.dim() - self.numInputDims)


class Squeeze(Torch7Module):
    dim: int | None = None
    numInputDims: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        batched = self.numInputDims is not None and input.dim() == self.numInputDims + 1
        if self.dim is not None:
            return input.squeeze(self.dim - 1 + batched)
        output = input.squeeze()
        if batched and input.shape[0] == 1:
            output = output.unsqueeze(0)
        return output if output.dim() else output.reshape(1)


class Replicate(Torch7Module):
    """The input ``nfeatures`` times, along a new dimension ``dim`` of a sample of ``ndim`` dimensions."""

    nfeatures: int
    dim: int
    ndim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        place = self.dim - 1 + (self.ndim is not None and input.dim() > self.ndim)
        return input.unsqueeze(place).expand(*input.shape[:place], self.nfeatures, *input.shape[place:])


class Index(Torch7Module):
    """{tensor, 1-based indices}: the slices of ``dimension`` with these indices."""

    dimension: int

    def forward(self, input: list[Tensor]) -> Tensor:
        tensor, indices = input
        return tensor.index_select(axis(self.dimension, tensor), indices.long() - 1)


class MaskedSelect(Torch7Module):
    """{tensor, mask}: the elements where the mask is not 0."""

    def forward(self, input: list[Tensor]) -> Tensor:
        tensor, mask = input
        return tensor.masked_select(mask != 0)


class OneHot(Torch7Module):
    """1-based classes to vectors of ``outputSize`` zeros and a one, in ``value``'s number type."""

    outputSize: int
    like: Tensor

    def forward(self, input: Tensor) -> Tensor:
        zeros = self.like.new_zeros(*input.shape, self.outputSize)
        return zeros.scatter(-1, (input.long() - 1).unsqueeze(-1), 1)

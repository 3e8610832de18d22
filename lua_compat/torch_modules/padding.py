"""Padding of images, volumes and slices."""

import torch
from torch import Tensor

from lua_compat.torch_modules.base import Torch7Module


class Padding(Torch7Module):
    """``|pad|`` slices of ``value``, before (negative) or after (positive) the ``index``-th from that end."""

    dim: int
    pad: int
    nInputDim: int | None = None
    value: float
    index: int

    def forward(self, input: Tensor) -> Tensor:
        dim = self.dim - 1 + (self.nInputDim is not None and input.dim() != self.nInputDim)
        place = input.shape[dim] - self.index + 1 if self.pad > 0 else self.index - 1
        shape = list(input.shape)
        shape[dim] = abs(self.pad)
        padding = input.new_full(shape, self.value)
        rest = input.shape[dim] - place
        return torch.cat((input.narrow(dim, 0, place), padding, input.narrow(dim, place, rest)), dim)

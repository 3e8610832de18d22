"""One dimension reduced to its sum, mean, largest or smallest element."""

from torch import Tensor

from lua_compat.torch_modules.base import Torch7Module, axis


class _Reduction(Torch7Module):
    """Takes one dimension away; a vector becomes one element."""

    dimension: int
    nInputDims: int | None = None

    def reduce(self, input: Tensor, dim: int) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        reduced = self.reduce(input, axis(self.dimension, input, self.nInputDims))
        return reduced if reduced.dim() else reduced.reshape(1)


class Max(_Reduction):
    def reduce(self, input: Tensor, dim: int) -> Tensor:
        return input.max(dim).values


class Min(_Reduction):
    def reduce(self, input: Tensor, dim: int) -> Tensor:
        return input.min(dim).values


class Sum(_Reduction):
    sizeAverage: bool
    squeeze: bool

    def reduce(self, input: Tensor, dim: int) -> Tensor:
        keep = not self.squeeze
        return input.mean(dim, keep) if self.sizeAverage else input.sum(dim, keep)


class Mean(Sum):
    sizeAverage: bool

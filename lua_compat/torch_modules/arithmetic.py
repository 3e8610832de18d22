"""Additions and multiplications by constants, numbers and vectors, and products of matrices."""

from torch import Tensor, nn

from lua_compat.torch_modules.base import InPlace, Torch7Module


def _row_vector(parameter: Tensor, input: Tensor) -> Tensor:
    """Returns ``parameter`` in a shape that broadcasts over ``input``: as it is, or as each sample's
    elements."""
    if input.numel() == parameter.numel():
        return parameter.reshape(input.shape)
    if input.dim() == parameter.dim():
        return parameter
    return parameter.reshape(1, *input.shape[1:])


class Add(Torch7Module):
    """A bias for each element of a sample, or one (``scalar``)."""

    bias: nn.Parameter
    scalar: bool | int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return input + self.bias if self.scalar else input + _row_vector(self.bias, input)


class CAdd(Torch7Module):
    bias: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        return input + _row_vector(self.bias, input)


class Mul(Torch7Module):
    weight: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        return input * self.weight


class CMul(Torch7Module):
    weight: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        return input * _row_vector(self.weight, input)


class MM(Torch7Module):
    """The product of two matrices, or of two batches of them."""

    transA: bool
    transB: bool

    def forward(self, input: list[Tensor]) -> Tensor:
        a, b = input
        return (a.mT if self.transA else a) @ (b.mT if self.transB else b)


class MV(Torch7Module):
    """The product of a matrix and a vector, or of two batches of them."""

    trans: bool

    def forward(self, input: list[Tensor]) -> Tensor:
        matrix, vector = input
        return ((matrix.mT if self.trans else matrix) @ vector.unsqueeze(-1)).squeeze(-1)


class AddConstant(InPlace, Torch7Module):
    """Adds a number, or a vector to each row."""

    constant_scalar: float | Tensor
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return input.add_(self.constant_scalar) if self.inplace else input + self.constant_scalar


class MulConstant(InPlace, Torch7Module):
    constant_scalar: float
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        return input.mul_(self.constant_scalar) if self.inplace else input * self.constant_scalar

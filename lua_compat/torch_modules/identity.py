"""Layers that return their input, some with another gradient, and one that returns something else."""

from typing import Any

import torch
from torch import Tensor

from lua_compat.torch_modules.base import Torch7Module


class GradientReversal(Torch7Module):
    """The input; its gradient is -``lambda`` times the output's."""

    factor: float = 1

    def forward(self, input: Tensor) -> Tensor:
        return _Reversal.apply(input, self.factor)


class ZeroGrad(Torch7Module):
    """The input; its gradient is zero."""

    def forward(self, input: Tensor) -> Tensor:
        return _Reversal.apply(input, 0.0)


class L1Penalty(Torch7Module):
    """The input; l1weight * sign(input) is added to its gradient, or replaces it without provideOutput."""

    l1weight: float
    sizeAverage: bool
    provideOutput: bool

    def forward(self, input: Tensor) -> Tensor:
        weight = self.l1weight / input.numel() if self.sizeAverage else self.l1weight
        return _Penalty.apply(input, weight, self.provideOutput)


class Copy(Torch7Module):
    """The input in the number type of ``like``."""

    like: Tensor

    def forward(self, input: Tensor) -> Tensor:
        return input.to(self.like.dtype)


class Constant(Torch7Module):
    """``value`` whatever the input; for each sample where that has more than ``nInputDim`` dimensions."""

    value: Tensor
    nInputDim: int | None = None

    def forward(self, input: Any) -> Tensor:
        if self.nInputDim is not None and input.dim() > self.nInputDim:
            return self.value.expand(input.shape[0], *self.value.shape)
        return self.value


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return input.view_as(input)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.factor * gradient, None


class _Penalty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: float, keep: bool) -> Tensor:
        ctx.save_for_backward(input)
        ctx.weight, ctx.keep = weight, keep
        return input.view_as(input)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (input,) = ctx.saved_tensors
        penalty = input.sign() * ctx.weight
        return (penalty + gradient if ctx.keep else penalty), None, None

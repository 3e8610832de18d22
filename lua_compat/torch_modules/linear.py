"""Layers with a parameter for each feature or pair of features."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module


def _row_vector(parameter: Tensor, input: Tensor) -> Tensor:
    """``parameter`` in a shape that broadcasts over ``input``: as it is, or as each sample's elements."""
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


class Bilinear(Torch7Module):
    """{a, b}: a W_k b for each output k; weight (out, in1, in2)."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def forward(self, input: list[Tensor]) -> Tensor:
        return functional.bilinear(input[0], input[1], self.weight, self.bias)


class Cosine(Torch7Module):
    """The cosine between the input and each row of weight (out, in)."""

    weight: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        products = functional.linear(input, self.weight)
        norms = (input.norm(dim=-1, keepdim=True) + 1e-12) * (self.weight.norm(dim=1) + 1e-12)
        return products / norms


class Euclidean(Torch7Module):
    """The distance from the input to each column of weight (in, out)."""

    weight: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        return (input.unsqueeze(-1) - self.weight).norm(dim=-2)


class WeightedEuclidean(Torch7Module):
    """As Euclidean, with a factor diagCov (in, out) for each difference."""

    weight: nn.Parameter
    diagCov: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        return ((input.unsqueeze(-1) - self.weight) * self.diagCov).norm(dim=-2)


class LinearWeightNorm(Torch7Module):
    """Linear with weight g * v / max(|v|, eps), row by row; v (out, in), g (out, 1)."""

    v: nn.Parameter
    g: nn.Parameter
    bias: nn.Parameter | None
    eps: float = 1e-16

    def forward(self, input: Tensor) -> Tensor:
        norms = self.v.norm(dim=1, keepdim=True).clamp(min=self.eps)
        return functional.linear(input, self.v * (self.g / norms), self.bias)


class PartialLinear(Torch7Module):
    """Linear with only the outputs in ``partition``, 1-based; weight (out, in), bias (1, out)."""

    weight: nn.Parameter
    bias: nn.Parameter | None
    partition: Tensor

    def forward(self, input: Tensor) -> Tensor:
        rows = self.partition.long() - 1
        output = input @ self.weight[rows].T
        return output if self.bias is None else output + self.bias[:, rows]


class LookupTable(nn.Embedding):
    """nn.Embedding of 1-based indices in any number type."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.long() - 1)


class GradientReversal(Torch7Module):
    """The input; its gradient is -``lambda`` times the output's."""

    factor: float = 1

    def forward(self, input: Tensor) -> Tensor:
        return _Reversal.apply(input, self.factor)


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return input.view_as(input)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.factor * gradient, None


class ZeroGrad(Torch7Module):
    """The input; nothing behind it gets a gradient."""

    def forward(self, input: Tensor) -> Tensor:
        return _Reversal.apply(input, 0.0)


class L1Penalty(Torch7Module):
    """The input; l1weight * sign(input) is added to its gradient, or replaces it without provideOutput."""

    l1weight: float
    sizeAverage: bool = False
    provideOutput: bool = True

    def forward(self, input: Tensor) -> Tensor:
        weight = self.l1weight / input.numel() if self.sizeAverage else self.l1weight
        return _Penalty.apply(input, weight, self.provideOutput)


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


class Dropout(Torch7Module):
    """Zeros with probability ``p``; the rest is scaled by 1 / (1 - p) when training (``v2``), else it is
    everything that is scaled, by 1 - p, when evaluating."""

    p: float = 0.5
    v2: bool = True
    inplace: bool | None = None
    stochastic_inference: bool = False

    def noise_shape(self, input: Tensor) -> torch.Size:
        return input.shape

    def forward(self, input: Tensor) -> Tensor:
        if self.p <= 0:
            return input
        if self.training or self.stochastic_inference:
            factor = input.new_empty(self.noise_shape(input)).bernoulli_(1 - self.p)
            factor = factor / (1 - self.p) if self.v2 else factor
            return input.mul_(factor) if self.inplace else input * factor
        return input if self.v2 else input * (1 - self.p)


class SpatialDropout(Dropout):
    """Drops whole planes; Torch7's scales by 1 - p when evaluating."""

    v2: bool = False

    def noise_shape(self, input: Tensor) -> torch.Size:
        planes = 2 if input.dim() == self.sample_dims() + 1 else 1
        return torch.Size([*input.shape[:planes], *(1 for _ in input.shape[planes:])])

    def sample_dims(self) -> int:
        return 3


class VolumetricDropout(SpatialDropout):
    def sample_dims(self) -> int:
        return 4


class WhiteNoise(Torch7Module):
    """Adds normal noise when training, its mean when evaluating."""

    mean: float = 0
    std: float = 0.1

    def forward(self, input: Tensor) -> Tensor:
        if self.training:
            return input + torch.randn_like(input) * self.std + self.mean
        return input + self.mean

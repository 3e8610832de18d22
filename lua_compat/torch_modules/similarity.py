"""Comparisons of vectors with stored ones, or with each other."""

import math

from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module


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
    """Like Euclidean, with a factor diagCov (in, out) for each difference."""

    weight: nn.Parameter
    diagCov: nn.Parameter

    def forward(self, input: Tensor) -> Tensor:
        return ((input.unsqueeze(-1) - self.weight) * self.diagCov).norm(dim=-2)


def _rows(tensor: Tensor) -> Tensor:
    return tensor.unsqueeze(0) if tensor.dim() == 1 else tensor


class DotProduct(Torch7Module):
    """The product of the rows of two tensors; a vector is one row."""

    def forward(self, input: list[Tensor]) -> Tensor:
        a, b = map(_rows, input)
        return (a * b).sum(1)


class CosineDistance(Torch7Module):
    """The cosine of the angle between the rows of two tensors; 1e-12 keeps zero rows from dividing by 0."""

    def forward(self, input: list[Tensor]) -> Tensor:
        a, b = map(_rows, input)
        squares = (a.square().sum(1) + 1e-12) * (b.square().sum(1) + 1e-12)
        return (a * b).sum(1) * squares.rsqrt()


class PairwiseDistance(Torch7Module):
    """The ``norm``-distance of the rows of two tensors."""

    norm: float

    def forward(self, input: list[Tensor]) -> Tensor:
        a, b = map(_rows, input)
        root = 1 / self.norm if self.norm else math.inf
        return (a - b).abs().pow(self.norm).sum(1).pow(root)

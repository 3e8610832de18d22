"""Layers with a weight for each pair of features."""

from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module


class LinearWeightNorm(Torch7Module):
    """Linear with weight g * v / max(|v|, eps), row by row; v (out, in), g (out, 1)."""

    v: nn.Parameter
    g: nn.Parameter
    bias: nn.Parameter | None
    eps: float

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

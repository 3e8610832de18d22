"""Dropout and noise."""

import torch
from torch import Tensor, nn

from lua_compat.torch_modules.base import InPlace, Torch7Module


class InPlaceDropout(InPlace, nn.Dropout):
    """nn.Dropout that overwrites its input."""


class Dropout(InPlace, Torch7Module):
    """Zeros elements with probability ``p``; with ``v2`` the others are scaled by 1 / (1 - p) when training,
    otherwise all are scaled by 1 - p when evaluating."""

    p: float
    v2: bool = True
    inplace: bool
    stochastic_inference: bool

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
    """Drops whole planes; scales by 1 - p when evaluating, as in Torch7."""

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

    mean: float
    std: float

    def forward(self, input: Tensor) -> Tensor:
        if self.training:
            return input + torch.randn_like(input) * self.std + self.mean
        return input + self.mean

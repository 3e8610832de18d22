"""Layers that well-known repositories declared in Lua files of their own."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module


class InstanceNormalization(Torch7Module):
    """Normalization of the planes of images, of fast-neural-style, texture_nets and CycleGAN.

    They make one image of a batch's planes and leave it to batch normalization. Since 2017 nn's takes its
    running statistics where a batch has one image, and that is what this computes: ``planes_mean`` and
    ``planes_variance`` for a batch of ``images``, ``running_mean`` and ``running_var`` for any other. Set
    ``of_each_image`` to normalize each plane by its own mean and variance, as nn did before.
    """

    weight: nn.Parameter | None
    bias: nn.Parameter | None
    running_mean: Tensor
    running_var: Tensor
    planes_mean: Tensor
    planes_variance: Tensor
    nOutput: int
    eps: float = 1e-5
    images: int = -1
    of_each_image: bool = False

    def forward(self, input: Tensor) -> Tensor:
        if self.of_each_image:
            return functional.instance_norm(input, weight=self.weight, bias=self.bias, eps=self.eps)
        mean, variance = self.running_mean, self.running_var
        if len(input) == self.images:
            mean = self.planes_mean.view(self.images, self.nOutput)
            variance = self.planes_variance.view(self.images, self.nOutput)
        output = (input - mean[..., None, None]) / (variance[..., None, None] + self.eps).sqrt()
        if self.weight is None or self.bias is None:
            return output
        return output * self.weight[:, None, None] + self.bias[:, None, None]


class IndexRows(Torch7Module):
    """Each index becomes a vector that is 1 there, of char-rnn: a row of ``rows``."""

    rows: Tensor

    def forward(self, input: Tensor) -> Tensor:
        return self.rows[input.long() - 1]


class ShaveImage(Torch7Module):
    """Images without their ``size`` outermost rows and columns, of fast-neural-style."""

    size: int

    def forward(self, input: Tensor) -> Tensor:
        size = self.size
        return input[..., size : input.shape[-2] - size, size : input.shape[-1] - size]


class TotalVariation(Torch7Module):
    """The input; its gradient gains that of ``strength`` / 2 times the squared differences of neighbours.

    A pixel is compared with the one to its right and the one below, but for the last row and column.
    """

    typename = "nn.TotalVariation"
    strength: float

    def forward(self, input: Tensor) -> Tensor:
        return _Variation.apply(input, self.strength)


class TVLoss(TotalVariation):
    """TotalVariation under the name that neural-style gives it."""

    typename = "nn.TVLoss"


class KLDPenalty(Torch7Module):
    """{mean, log variance} as they are; their gradients gain those of ``myweight`` times the divergence from
    the standard normal distribution (VAE-Torch)."""

    myweight: float = 1

    def forward(self, input: list[Tensor]) -> list[Tensor]:
        mean, log_variance = input
        return list(_Divergence.apply(mean, log_variance, self.myweight))


class Sampler(Torch7Module):
    """{mean, log variance} become a sample of that normal distribution, of VAE-Torch."""

    def forward(self, input: list[Tensor]) -> Tensor:
        mean, log_variance = input
        return mean + (0.5 * log_variance).exp() * torch.randn_like(mean)


class GaussianSampler(Torch7Module):
    """Noise of the input's size: the input does not matter."""

    mean: float = 0
    std: float = 1

    def forward(self, input: Tensor) -> Tensor:
        return torch.empty_like(input).normal_(self.mean, self.std)


class Gaussian(Torch7Module):
    """As GaussianSampler, of Kaixhin's autoencoders."""

    mean: float = 0
    stdv: float = 1

    def forward(self, input: Tensor) -> Tensor:
        return torch.empty_like(input).normal_(self.mean, self.stdv)


class Uniform(Torch7Module):
    """Numbers from ``a`` to ``b`` in the input's size: the input does not matter (Kaixhin's autoencoders)."""

    a: float = 0
    b: float = 1

    def forward(self, input: Tensor) -> Tensor:
        return torch.empty_like(input).uniform_(self.a, self.b)


class GenNoise(Torch7Module):
    """``num_planes`` planes of normal noise in the size of the input's, of texture_nets."""

    num_planes: int
    mult: float = 1

    def forward(self, input: Tensor) -> Tensor:
        return input.new_empty(input.shape[0], self.num_planes, *input.shape[2:]).normal_() * self.mult


class NoiseFill(Torch7Module):
    """The input with its last planes replaced by noise from 0 to ``mult``; its gradient is the output's."""

    num_noise_channels: int
    mult: float = 1

    def forward(self, input: Tensor) -> Tensor:
        kept = input.shape[1] - self.num_noise_channels
        filled = input.detach().clone()
        filled[:, kept:].uniform_().mul_(self.mult)
        return _Replaced.apply(input, filled)


class Clip(Torch7Module):
    """The input within ``minval`` and ``maxval``; its gradient is the output's (dpnn)."""

    minval: float
    maxval: float

    def forward(self, input: Tensor) -> Tensor:
        return _Replaced.apply(input, input.detach().clamp(self.minval, self.maxval))


class InplaceClip01(Torch7Module):
    """The input within 0 and 1; its gradient is the output's (waifu2x)."""

    typename = "w2nn.InplaceClip01"

    def forward(self, input: Tensor) -> Tensor:
        return _Replaced.apply(input, input.detach().clamp(0, 1))


class AuxiliaryLossTable(Torch7Module):
    """A table when training, for as many losses; the ``i``-th of it when evaluating (waifu2x)."""

    typename = "w2nn.AuxiliaryLossTable"
    i: int = 1

    def forward(self, input: list[Tensor]) -> Any:
        return list(input) if self.training else input[self.i - 1]


class ArgMax(Torch7Module):
    """The places of maxima, counted from 1 (dpnn)."""

    dim: int = 1
    nInputDim: int = 9999
    asLong: bool = True

    def forward(self, input: Tensor) -> Tensor:
        dim = self.dim if input.dim() > self.nInputDim else self.dim - 1
        places = input.argmax(dim) + 1
        return places if self.asLong else places.to(input.dtype)


class SpatialFeatNormalization(Torch7Module):
    """Planes less their ``mean``, divided by their ``std`` (dpnn)."""

    mean: Tensor
    std: Tensor

    def forward(self, input: Tensor) -> Tensor:
        return (input - self.mean[:, None, None]) / self.std[:, None, None]


class TotalDropout(Torch7Module):
    """The whole input, or zeros with probability ``p`` when training (dpnn)."""

    p: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return input * input.new_empty(()).bernoulli_(1 - self.p) if self.training else input


class ScaleTable(Torch7Module):
    """{planes, one factor for each plane}, of waifu2x."""

    typename = "w2nn.ScaleTable"

    def forward(self, input: list[Tensor]) -> Tensor:
        planes, factors = input
        return planes * factors


class BinActiveZ(Torch7Module):
    """Signs, whose gradient passes where the input is within (-1, 1) (XNOR-Net)."""

    def forward(self, input: Tensor) -> Tensor:
        output: Tensor = _Replaced.apply(functional.hardtanh(input), input.sign())
        return output


class BatchTopK(Torch7Module):
    """When training, each feature's share ``k`` of a batch, its largest or smallest values; the others are 0
    (Kaixhin's autoencoders)."""

    k: float = 1
    flag: bool = False  # whether the largest

    def forward(self, input: Tensor) -> Tensor:
        if not self.training:
            return input
        values, indices = input.topk(math.ceil(self.k * len(input)), 0, largest=self.flag)
        return torch.zeros_like(input).scatter(0, indices, values)


class DenseConnectLayerCustom(Torch7Module):
    """A tensor, or a table, and what the two nets make of the joined planes, as a table, of DenseNet."""

    net1: nn.Module
    net2: nn.Module

    def forward(self, input: Any) -> list[Tensor]:
        planes = [input] if isinstance(input, Tensor) else list(input)
        return [*planes, self.net2(self.net1(torch.cat(planes, 1)))]


class SpatialConvolutionUpsample(nn.Conv2d):
    """A convolution whose planes are then read as images ``factor`` times as high and wide, of deepmask.

    The planes become ``planes``, one after the other in memory: no pixel shuffle.
    """

    def __init__(self, *args: Any, factor: int = 2, planes: int = 1, **options: Any) -> None:
        super().__init__(*args, **options)
        self.factor = factor
        self.planes = planes

    def forward(self, input: Tensor) -> Tensor:
        output = super().forward(input)
        height, width = input.shape[-2] * self.factor, input.shape[-1] * self.factor
        return output.reshape(*output.shape[:-3], self.planes, height, width)


class _Replaced(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, output: Tensor) -> Tensor:
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


class _Variation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, strength: float) -> Tensor:
        ctx.save_for_backward(input)
        ctx.strength = strength
        return input.view_as(input)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (input,) = ctx.saved_tensors
        with torch.enable_grad():
            pixels = input.detach().requires_grad_()
            inner = pixels[..., :-1, :-1]
            differences = inner - pixels[..., :-1, 1:], inner - pixels[..., 1:, :-1]
            penalty = sum(d.square().sum() for d in differences) * (ctx.strength / 2)
            (of_penalty,) = torch.autograd.grad(penalty, pixels)
        return gradient + of_penalty, None


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, log_variance: Tensor, weight: float) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(mean, log_variance)
        ctx.weight = weight
        return mean.view_as(mean), log_variance.view_as(log_variance)

    @staticmethod
    def backward(ctx: Any, of_mean: Tensor, of_log_variance: Tensor) -> tuple[Tensor, Tensor, None]:
        mean, log_variance = ctx.saved_tensors
        towards = 0.5 * (log_variance.exp() - 1)
        return of_mean + ctx.weight * mean, of_log_variance + ctx.weight * towards, None

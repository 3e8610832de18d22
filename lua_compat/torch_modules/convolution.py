"""Convolutions."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import Torch7Module


class _FullConvolution:
    """Takes {input, target} too: the output then has the target's size. Mixed into nn.ConvTranspose2d/3d."""

    def forward(self, input: Any, output_size: list[int] | None = None) -> Tensor:
        assert isinstance(self, nn.modules.conv._ConvTransposeNd)
        if isinstance(input, Tensor):
            return super().forward(input, output_size)  # type: ignore[misc]
        input, target = input
        sizes = list(target.shape[-len(self.kernel_size) :])
        return super().forward(input, output_size=sizes)  # type: ignore[misc]


class SpatialFullConvolution(_FullConvolution, nn.ConvTranspose2d):
    pass


class VolumetricFullConvolution(_FullConvolution, nn.ConvTranspose3d):
    pass


class SpatialConvolutionMap(Torch7Module):
    """A convolution with only the connections in ``connTable``: (connections, 2), 1-based planes in and out.

    weight: (connections, kH, kW); bias: (planes out,).
    """

    weight: nn.Parameter
    bias: nn.Parameter
    connTable: Tensor
    nInputPlane: int
    nOutputPlane: int
    dW: int
    dH: int

    def forward(self, input: Tensor) -> Tensor:
        planes_in, planes_out = (self.connTable.long() - 1).unbind(1)
        dense = self.weight.new_zeros(self.nOutputPlane, self.nInputPlane, *self.weight.shape[1:])
        dense = dense.index_put((planes_out, planes_in), self.weight, accumulate=True)
        return functional.conv2d(input, dense, self.bias, (self.dH, self.dW))


class SpatialConvolutionLocal(Torch7Module):
    """A convolution with separate weights at each position of an iH x iW image.

    weight: (oH, oW, planes out, planes in, kH, kW); bias: (planes out, oH, oW).
    """

    weight: nn.Parameter
    bias: nn.Parameter
    iW: int
    iH: int
    kW: int
    kH: int
    dW: int
    dH: int
    padW: int
    padH: int

    def forward(self, input: Tensor) -> Tensor:
        batch = input if input.dim() == 4 else input.unsqueeze(0)
        out_height, out_width, planes_out = self.weight.shape[:3]
        columns = functional.unfold(
            batch, (self.kH, self.kW), padding=(self.padH, self.padW), stride=(self.dH, self.dW)
        )
        weight = self.weight.reshape(out_height * out_width, planes_out, -1)
        output = torch.einsum("nkp,pok->nop", columns, weight)
        output = output.reshape(-1, planes_out, out_height, out_width) + self.bias
        return output if input.dim() == 4 else output.squeeze(0)


class SpatialSubSampling(Torch7Module):
    """The sum over each kW x kH window, times the plane's weight, plus its bias.

    In files of old versions the parameters have more dimensions; the first elements are the planes'.
    """

    weight: nn.Parameter
    bias: nn.Parameter
    kW: int
    kH: int
    dW: int
    dH: int

    def forward(self, input: Tensor) -> Tensor:
        sums = functional.avg_pool2d(input, (self.kH, self.kW), (self.dH, self.dW), divisor_override=1)
        weight, bias = (p.reshape(-1)[: input.shape[-3], None, None] for p in (self.weight, self.bias))
        return sums * weight + bias


class TemporalConvolution(nn.Conv1d):
    """nn.Conv1d of frames in rows: (frames, features) or (batch, frames, features)."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.mT).mT


class TemporalRowConvolution(nn.Conv1d):
    """A Conv1d of each feature separately; frames in rows unless ``featFirst``."""

    def __init__(self, *args: Any, featFirst: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.featFirst = featFirst

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input) if self.featFirst else super().forward(input.mT).mT


class TemporalSubSampling(Torch7Module):
    """The sum over each kW frames, times the feature's weight, plus its bias."""

    weight: nn.Parameter
    bias: nn.Parameter
    kW: int
    dW: int

    def forward(self, input: Tensor) -> Tensor:
        return input.unfold(-2, self.kW, self.dW).sum(-1) * self.weight + self.bias

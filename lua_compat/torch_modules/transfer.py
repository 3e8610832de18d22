"""Elementwise functions and softmax layers."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lua_compat.torch_modules.base import InPlace, Torch7Module


class Abs(Torch7Module):
    def forward(self, input: Tensor) -> Tensor:
        return input.abs()


class Exp(Torch7Module):
    def forward(self, input: Tensor) -> Tensor:
        return input.exp()


class Log(Torch7Module):
    def forward(self, input: Tensor) -> Tensor:
        return input.log()


class Square(Torch7Module):
    def forward(self, input: Tensor) -> Tensor:
        return input.square()


class Sqrt(Torch7Module):
    """The square root; its gradient at 0 is 0, as in Torch7, not infinite."""

    def forward(self, input: Tensor) -> Tensor:
        zero = input == 0
        return input.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)


class Power(Torch7Module):
    pow: float

    def forward(self, input: Tensor) -> Tensor:
        return input.pow(self.pow)


class TanhShrink(Torch7Module):
    def forward(self, input: Tensor) -> Tensor:
        return input - input.tanh()


class CReLU(Torch7Module):
    """relu(x) and relu(-x) joined along the first dimension of a sample of ``nInputDims`` dimensions."""

    nInputDims: int
    inplace: bool

    def forward(self, input: Tensor) -> Tensor:
        planes = 1 if input.dim() == self.nInputDims + 1 else 0
        return torch.cat((input, -input), planes).relu_()


class ReLU(InPlace, nn.ReLU):
    """nn.ReLU that overwrites its input."""


class ReLU6(InPlace, nn.ReLU6):
    """nn.ReLU6 that overwrites its input."""


class Threshold(InPlace, nn.Threshold):
    """nn.Threshold that overwrites its input."""


class Hardtanh(InPlace, nn.Hardtanh):
    """nn.Hardtanh that overwrites its input."""


class ELU(InPlace, nn.ELU):
    """nn.ELU that overwrites its input."""


class LeakyReLU(InPlace, nn.LeakyReLU):
    """nn.LeakyReLU that overwrites its input."""


class RReLU(InPlace, nn.RReLU):
    """nn.RReLU that overwrites its input."""


class PReLU(nn.PReLU):
    """nn.PReLU that treats one dimension as the features of one sample."""

    def forward(self, input: Tensor) -> Tensor:
        if self.num_parameters > 1 and input.dim() == 1:
            return super().forward(input.unsqueeze(0)).squeeze(0)
        return super().forward(input)


def softmax_axis(input: Tensor) -> int:
    """Returns the axis along which Torch7's softmax layers normalize: vectors, rows, planes of images."""
    if not 1 <= input.dim() <= 4:
        raise ValueError(f"1D, 2D, 3D or 4D input expected, not {input.dim()}D")
    return 0 if input.dim() in (1, 3) else 1


class SoftMax(nn.Softmax):
    """nn.Softmax whose dimension follows from the input's number of dimensions, as in Torch7."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.softmax(input, softmax_axis(input))


class LogSoftMax(nn.LogSoftmax):
    """nn.LogSoftmax whose dimension follows from the input's number of dimensions, as in Torch7."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.log_softmax(input, softmax_axis(input))


class SoftMin(nn.Softmin):
    """nn.Softmin whose dimension follows from the input's number of dimensions, as in Torch7."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.softmax(-input, softmax_axis(input))


class SampleSoftMax(Torch7Module):
    """The softmax (or its logarithm) over all elements of a sample of one, two or three dimensions, as in
    cudnn.
    """

    log: bool = False

    def forward(self, input: Tensor) -> Tensor:
        softmax_axis(input)  # refuses inputs of too many dimensions
        elements = input.flatten() if input.dim() in (1, 3) else input.flatten(1)
        function = functional.log_softmax if self.log else functional.softmax
        return function(elements, -1).view_as(input)


class VolumeSoftMax(Torch7Module):
    """The softmax (or its logarithm) over the planes of a volume, or of several, as in cudnn."""

    log: bool = False

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (4, 5):
            raise ValueError(f"4D or 5D input expected, not {input.dim()}D")
        function = functional.log_softmax if self.log else functional.softmax
        return function(input, input.dim() - 4)


class GatedLinearUnit(Torch7Module):
    """First half of ``dim`` (default: the last) times the sigmoid of its second half."""

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return functional.glu(input, -1 if self.dim is None else self.dim - 1)

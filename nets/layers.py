"""Torch7 layers that torch.nn lacks, under their Torch7 names and with Torch7's arithmetic."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class View(nn.Module):
    """``nn.View(sizes)``: gives each sample the shape ``sizes``; what is left over is the batch.

    An input of exactly one sample keeps no batch dimension, as in Torch7, unless ``num_input_dims`` says
    that the input had one. Raises ValueError when the sizes do not divide the input.
    """

    def __init__(self, *sizes: int, num_input_dims: int | None = None) -> None:
        super().__init__()
        self.sizes = sizes
        self.num_input_dims = num_input_dims
        self.num_elements = abs(math.prod(sizes))
        self.inferred = -1 in sizes

    def forward(self, input: Tensor) -> Tensor:
        batch = self._batch_size(input.shape)
        return input.reshape(self.sizes if batch is None else (batch, *self.sizes))

    def _batch_size(self, shape: Sequence[int]) -> int | None:
        sample_dims = self.num_input_dims or len(shape)
        outer = len(shape) - sample_dims
        elements = math.prod(shape[max(outer, 0) :])
        if elements % self.num_elements:
            raise ValueError(
                f"input view ({'x'.join(map(str, shape))}) and desired view "
                f"({'x'.join(map(str, self.sizes))}) do not match"
            )
        batch = 1 if self.inferred else elements // self.num_elements
        batch *= math.prod(shape[: max(outer, 0)])
        if batch == 1 and (self.num_input_dims is None or len(shape) <= self.num_input_dims):
            return None
        return batch

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.sizes))


class Concat(nn.Module):
    """``nn.Concat(dim)``: every branch gets the input; their outputs are joined along ``dim``.

    ``dim`` is negative and counts from the last dimension (channels are -3), so that a batched and an
    unbatched input both work.
    """

    def __init__(self, dim: int, *branches: nn.Module) -> None:
        super().__init__()
        self.dim = dim
        self.branches = nn.ModuleList(branches)

    def forward(self, input: Tensor) -> Tensor:
        return torch.cat([branch(input) for branch in self.branches], self.dim)


def conv_relu(n_in: int, n_out: int, kernel: int, stride: int = 1, padding: int = 0) -> list[nn.Module]:
    """A square convolution and its in-place ReLU, the pair most of these nets are made of."""
    return [nn.Conv2d(n_in, n_out, kernel, stride, padding), nn.ReLU(inplace=True)]


def fully_connected(n_in: int, *hidden: int) -> nn.Sequential:
    """The classifier of soumith/convnet-benchmarks: Linear and Threshold(0, 1e-6) layers to 1000 scores."""
    layers: list[nn.Module] = [View(n_in)]
    for width in hidden:
        layers += [nn.Linear(n_in, width), nn.Threshold(0, 1e-6)]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, 1000))

"""Activations and their gradients: their memory, shared by gradients that are not needed at the same time."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.memory import Memory


@dataclass
class Value:
    """One activation. ``data`` and ``grad`` have the module's own shape.

    An image (four dimensions, or three in a plan for one unbatched image) is kept channels last;
    ``images`` shows it as (batch, height, width, channel). Everything else is contiguous.
    """

    shape: tuple[int, ...]
    is_image: bool
    dtype: torch.dtype
    data: Tensor = torch.empty(0)
    grad: Tensor = torch.empty(0)
    has_data: bool = False
    has_grad: bool = False

    @property
    def image_shape(self) -> tuple[int, int, int, int]:
        """Returns (batch, height, width, channel) of an image."""
        *batch, channels, height, width = self.shape
        return (batch[0] if batch else 1), height, width, channels

    def arrange(self, memory: Tensor) -> Tensor:
        """Shows a contiguous block of this value's size in the module's shape."""
        if not self.is_image:
            return memory.view(self.shape)
        return from_images(memory.view(self.image_shape), len(self.shape))

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def data_images(self) -> Tensor:
        return to_images(self.data)

    @property
    def grad_images(self) -> Tensor:
        return to_images(self.grad)


def to_images(tensor: Tensor) -> Tensor:
    """Shows (batch, channel, height, width), batch perhaps missing, as (batch, height, width, channel); a
    view."""
    return (tensor if tensor.dim() == 4 else tensor.unsqueeze(0)).permute(0, 2, 3, 1)


def from_images(images: Tensor, dimensions: int) -> Tensor:
    """Reverses :func:`to_images` for a tensor of that many dimensions; a view."""
    tensor = images.permute(0, 3, 1, 2)
    return tensor if dimensions == 4 else tensor.squeeze(0)


class Block:
    """A block of gradient memory with the number of values that still need it."""

    def __init__(self, memory: Tensor) -> None:
        self.memory = memory
        self.users = 0


class ReusedMemory:
    """Places values in blocks. A block is free again when every value in it has been released."""

    def __init__(self, memory: Memory, dtype: torch.dtype) -> None:
        self._memory = memory
        self._dtype = dtype
        self._free: list[Block] = []

    def take(self, count: int) -> Block:
        """Returns a block of at least ``count`` elements with one user: the smallest free one that fits, or a
        new one."""
        fitting = [block for block in self._free if block.memory.numel() >= count]
        if fitting:
            block = min(fitting, key=lambda block: block.memory.numel())
            self._free.remove(block)
        else:
            block = Block(self._memory.empty((count,), self._dtype))
        block.users = 1
        return block

    def release(self, block: Block) -> None:
        """Notes that one user of ``block`` is done with it."""
        block.users -= 1
        if block.users == 0:
            self._free.append(block)

"""The shape of a convolution or Linear layer on a GPU."""

from dataclasses import dataclass
from functools import cached_property

import torch


@dataclass(frozen=True)
class Convolution:
    """A 2-d convolution without groups or dilation; a Linear layer is one of kernel 1 on images of 1x1."""

    batch: int
    in_channels: int
    out_channels: int
    in_size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dtype: torch.dtype = torch.float32

    @cached_property
    def out_size(self) -> tuple[int, int]:
        sizes = zip(self.in_size, self.padding, self.kernel, self.stride, strict=True)
        height, width = ((size + 2 * pad - kernel) // stride + 1 for size, pad, kernel, stride in sizes)
        return height, width

    @property
    def is_product(self) -> bool:
        """Returns whether each pixel of the output is a product of one pixel of the input."""
        return self.kernel == self.stride == (1, 1) and self.padding == (0, 0)

    @property
    def pixels(self) -> int:
        """Counts the pixels of all output images."""
        return self.batch * self.out_size[0] * self.out_size[1]

    @property
    def multiply_adds(self) -> int:
        """Counts the multiply-adds of one phase."""
        return self.pixels * self.in_channels * self.out_channels * self.kernel[0] * self.kernel[1]

    def __str__(self) -> str:
        def by(sizes: tuple[int, int]) -> str:
            return f"{sizes[0]}x{sizes[1]}"

        return (
            f"{self.batch}x{self.in_channels}x{by(self.in_size)} to {self.out_channels}, "
            f"{by(self.kernel)} by {by(self.stride)} pad {by(self.padding)}, {self.dtype}".replace(
                "torch.", ""
            )
        )

"""Convolution as one matrix product that reads the windows from the images themselves.

What im2col would copy lies in the images in runs: compiled code multiplies from there, with the weight packed
as it needs it.
"""

from torch import Tensor

from nets.engine.kernels.compiled import products
from nets.engine.kernels.compiled.images import copy_images
from nets.engine.kernels.compiled.products import Windows
from nets.engine.kernels.kernel import Kernel
from nets.engine.memory import Memory
from nets.engine.shapes import ConvolutionShape, inside
from nets.engine.weights import CachedWeight


class WindowedProduct(Kernel):
    """The forward pass of a convolution of any geometry."""

    def __init__(self, shape: ConvolutionShape, memory: Memory) -> None:
        self.shape = shape
        self.memory = memory
        self._panels: CachedWeight[Tensor] = CachedWeight()
        self._windows: dict[tuple[int, ...], Windows] = {}  # by the images' strides
        height, width = (n + 2 * p for n, p in zip(shape.in_size, shape.padding, strict=True))
        padded = (shape.batch, height, width, shape.in_channels) if any(shape.padding) else (0,)
        self._padded = memory.empty(padded, shape.dtype)  # nothing ever writes to the zeros around the images

    @property
    def adds(self) -> bool:
        return True

    def _pack(self, weight: Tensor, out: Tensor | None) -> Tensor:
        by_tap = weight.permute(0, 2, 3, 1).flatten(1)
        return products.pack(by_tap.t()[None], out, self.memory)

    def _windows_of(self, images: Tensor) -> Windows:
        steps = images.stride()
        if steps not in self._windows:
            self._windows[steps] = Windows(images, self.shape.kernel, self.shape.stride)
        return self._windows[steps]

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        packed = self._panels.get(weight, self._pack)
        images = x
        if any(self.shape.padding):
            images = self._padded
            copy_images(x, inside(images, self.shape.padding, self.shape.in_size))
        products.mm_of_windows(images, self._windows_of(images), out.flatten(0, 2), add, bias, relu, packed)

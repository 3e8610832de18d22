"""Convolution as one matrix product that reads the windows from the images themselves.

The elements that im2col would copy are in the images in contiguous runs: compiled code multiplies them from
there, with a packed weight.
"""

from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import products
from convnet_benchmarks.nets.engine.kernels.compiled.images import copy_images
from convnet_benchmarks.nets.engine.kernels.compiled.products import Windows
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape, inside
from convnet_benchmarks.nets.engine.weights import CachedWeight


class WindowedProduct(Kernel):
    """The forward pass of a convolution of any geometry."""

    def __init__(self, shape: ConvolutionShape, memory: Memory) -> None:
        self.shape = shape
        self.memory = memory
        self._panels: CachedWeight[Tensor] = CachedWeight()
        self._windows: dict[tuple[int, ...], Windows] = {}  # by the images' strides
        self._padded = _Padded(shape, memory)

    @property
    def adds(self) -> bool:
        return True

    def _pack(self, weight: Tensor, out: Tensor | None) -> Tensor:
        return products.pack(_by_tap(weight).t()[None], out, self.memory)

    def _windows_of(self, images: Tensor) -> Windows:
        steps = images.stride()
        if steps not in self._windows:
            self._windows[steps] = Windows(images, self.shape.kernel, self.shape.stride)
        return self._windows[steps]

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        packed = self._panels.get(weight, self._pack)
        images = self._padded.around(x) if any(self.shape.padding) else x
        products.mm_of_windows(images, self._windows_of(images), out.flatten(0, 2), add, bias, relu, packed)


class _Padded:
    """The images of a convolution inside their padding, whose zeros are written only once."""

    def __init__(self, shape: ConvolutionShape, memory: Memory) -> None:
        self._shape = shape
        self._memory = memory
        self._images: Tensor | None = None

    def around(self, x: Tensor) -> Tensor:
        """Returns ``x`` in the middle of the zeros."""
        if self._images is None:
            self._images = self._memory.empty(_padded_size(self._shape), self._shape.dtype)
        copy_images(x, inside(self._images, self._shape.padding, self._shape.in_size))
        return self._images


def _by_tap(weight: Tensor) -> Tensor:
    """Turns (out, in, kernel) into (out, kernel * in)."""
    return weight.permute(0, 2, 3, 1).flatten(1)


def _padded_size(shape: ConvolutionShape) -> tuple[int, int, int, int]:
    height, width = (n + 2 * p for n, p in zip(shape.in_size, shape.padding, strict=True))
    return shape.batch, height, width, shape.in_channels

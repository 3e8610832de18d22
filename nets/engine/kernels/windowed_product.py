"""Convolution as one matrix product that reads the windows from the images themselves.

What im2col would copy lies in the images in runs: compiled code multiplies from there, with the weight packed
as it needs it.
"""

from dataclasses import replace

from torch import Tensor

from nets.engine.kernels.compiled import bf16x3, products
from nets.engine.kernels.compiled.images import copy_images
from nets.engine.kernels.compiled.products import Windows
from nets.engine.kernels.kernel import Kernel
from nets.engine.memory import Memory
from nets.engine.shapes import ConvolutionShape, inside, pad_into
from nets.engine.weights import CachedWeight
from nets.phases import FORWARD, INPUT_GRADIENT


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
    """The images of a convolution with their padding around them. Nothing ever writes to these zeros."""

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


class SplitWindows(Kernel):
    """The three phases of a convolution on the processor's bfloat16 matrix unit (compiled/bf16x3.py);
    which shapes each can take says :meth:`applies`."""

    def __init__(self, shape: ConvolutionShape, memory: Memory) -> None:
        self.shape = shape
        self.memory = memory
        self._panels: CachedWeight[Tensor] = CachedWeight()
        self._reversed_panels: CachedWeight[Tensor] = CachedWeight()
        self._windows: dict[ConvolutionShape, Windows] = {}
        self._padded = _Padded(shape, memory)

    @staticmethod
    def applies(shape: ConvolutionShape, phase: str) -> bool:
        """Returns whether ``phase`` of ``shape`` can be run so."""
        if phase == FORWARD:
            return True
        if phase == INPUT_GRADIENT:
            smaller = (pad < kernel for pad, kernel in zip(shape.padding, shape.kernel, strict=True))
            return shape.stride == (1, 1) and all(smaller)
        return bf16x3.whole_tiles(_run_of(shape))

    @property
    def adds(self) -> bool:
        return True

    def _windows_of(self, images: Tensor, shape: ConvolutionShape) -> Windows:
        if shape not in self._windows:
            self._windows[shape] = Windows(images, shape.kernel, shape.stride)
        return self._windows[shape]

    def _pack(self, weight: Tensor, out: Tensor | None) -> Tensor:
        return bf16x3.pack(_by_tap(weight).t()[None], out, self.memory, _run_of(self.shape))

    def _pack_reversed(self, weight: Tensor, out: Tensor | None) -> Tensor:
        by_tap = _by_tap(weight.transpose(0, 1).flip(2, 3))
        return bf16x3.pack(by_tap.t()[None], out, self.memory, _run_of(_reversed(self.shape)))

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        packed = self._panels.get(weight, self._pack)
        images = x if _is_padded(x, self.shape) else self._padded.around(x)
        windows = self._windows_of(images, self.shape)
        bf16x3.mm_of_windows(images, windows, out.flatten(0, 2), add, bias, relu, packed)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        packed = self._reversed_panels.get(weight, self._pack_reversed)
        shape = _reversed(self.shape)
        (room,) = self.memory.scratch(grad_out.dtype, _padded_size(shape))
        images = _padded_in(room, grad_out, shape)
        windows = self._windows_of(images, shape)
        bf16x3.mm_of_windows(images, windows, grad_in.flatten(0, 2), False, None, False, packed)

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        shape = self.shape
        by_tap = (shape.out_channels, shape.taps, shape.in_channels)
        room, total = self.memory.scratch(x.dtype, _padded_size(shape), by_tap)
        images = _padded_in(room, x, shape)
        windows = self._windows_of(images, shape)
        bf16x3.mm_by_windows(grad_out.flatten(0, 2).t(), images, windows, total.flatten(1))
        grad_weight.flatten(2).add_(total.transpose(1, 2))


def _by_tap(weight: Tensor) -> Tensor:
    """Turns (out, in, kernel) into (out, kernel * in)."""
    return weight.permute(0, 2, 3, 1).flatten(1)


def _run_of(shape: ConvolutionShape) -> int:
    """Counts the numbers of a window's row: neighbours in padded images."""
    return shape.kernel[1] * shape.in_channels


def _padded_size(shape: ConvolutionShape) -> tuple[int, int, int, int]:
    height, width = (n + 2 * p for n, p in zip(shape.in_size, shape.padding, strict=True))
    return shape.batch, height, width, shape.in_channels


def _is_padded(images: Tensor, shape: ConvolutionShape) -> bool:
    """Returns whether ``images`` have all the padding that ``shape`` wants, and all pixels are neighbours."""
    return not any(shape.padding) and images.is_contiguous()


def _padded_in(room: Tensor, images: Tensor, shape: ConvolutionShape) -> Tensor:
    """Returns ``images`` as :func:`_is_padded` wants them: in ``room``, if they are not so already."""
    if _is_padded(images, shape):
        return images
    pad_into(room, images, shape.padding)
    return room


def _reversed(shape: ConvolutionShape) -> ConvolutionShape:
    """Returns the convolution, of stride 1, that makes the input gradient of ``shape`` from its output's."""
    (high, wide), (top, left) = shape.kernel, shape.padding
    return replace(
        shape,
        in_channels=shape.out_channels,
        out_channels=shape.in_channels,
        in_size=shape.out_size,
        padding=(high - 1 - top, wide - 1 - left),
    )

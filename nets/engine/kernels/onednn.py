"""Direct convolution and matrix products by oneDNN, the library behind PyTorch's own on a CPU."""

import torch
import torch.nn.functional as F
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape, runs
from convnet_benchmarks.nets.engine.weights import CachedWeight

# Size of results in fresh memory: small enough for the allocator to reuse it instead of mapping it again.
_RESULT_BYTES = 8 << 20
_ADDED_BYTES = 16 << 20
# Rows of a product that are added at a time. OverFeat's weight gradients are 10 to 40 % faster
# with 256 than with 32 or 64, and hardly faster with more.
_ADDED_ROWS = 256


def _available(dtype: torch.dtype) -> bool:
    return torch.backends.mkldnn.is_available() and dtype in (torch.float32, torch.bfloat16)


def has_convolution(dtype: torch.dtype) -> bool:
    """Returns whether PyTorch's own convolution of such numbers is oneDNN's."""
    return _available(dtype)


def has_packed_weights(dtype: torch.dtype) -> bool:
    """Returns whether this build of PyTorch can keep a convolution's weight in oneDNN's own layout."""
    return _available(dtype) and hasattr(torch.ops.mkldnn, "_reorder_convolution_weight")


def place(found: Tensor, relu: bool, out: Tensor) -> None:
    """Copies a result to ``out``, with ``relu`` through a ReLU: oneDNN's own turns NaN into 0."""
    if relu:
        torch.clamp_min(found, 0, out=out)
    else:
        out.copy_(found)


def _at_once(limit: int, item_bytes: int) -> int:
    """Returns how many images or rows of ``item_bytes`` fit in a result of ``limit`` bytes: at least one."""
    return max(1, limit // item_bytes)


class DirectConvolution(Kernel):
    """PyTorch's own convolution operators, on a few images at a time."""

    def __init__(self, shape: ConvolutionShape, memory: Memory) -> None:
        self.shape = shape

    def _images(self, shape: tuple[int, int, int, int]) -> list[slice]:
        batch, height, width, channels = shape
        image_bytes = height * width * channels * self.shape.dtype.itemsize
        return runs(batch, _at_once(_RESULT_BYTES, image_bytes))

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        for images in self._images(self.shape.output_shape):
            found = F.conv2d(
                x[images].permute(0, 3, 1, 2), weight, bias, self.shape.stride, self.shape.padding
            ).permute(0, 2, 3, 1)
            place(found, relu, out[images])

    def _backward(
        self, grad_out: Tensor, x: Tensor, weight: Tensor, wanted: list[bool]
    ) -> tuple[Tensor, Tensor, Tensor]:
        return torch.ops.aten.convolution_backward(
            grad_out.permute(0, 3, 1, 2),
            x.permute(0, 3, 1, 2),
            weight,
            None,
            self.shape.stride,
            self.shape.padding,
            (1, 1),
            False,
            (0, 0),
            1,
            wanted,
        )

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        for images in self._images(self.shape.input_shape):
            # The operator uses only the shape of its input: grad_in has the same.
            found = self._backward(grad_out[images], grad_in[images], weight, [True, False, False])[0]
            grad_in[images].copy_(found.permute(0, 2, 3, 1))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        grad_weight.add_(self._backward(grad_out, x, grad_weight, [False, True, False])[1])


class PackedDirectConvolution(Kernel):
    """Forward and input gradient by oneDNN on weights kept in its own layout.

    Stock convolutions reorder a weight on every call. The input gradient of a stride-1 convolution is run as
    a convolution of the gradient with the weight's channels swapped and its taps reversed.
    """

    def __init__(self, shape: ConvolutionShape, memory: Memory) -> None:
        self.shape = shape
        self._forward_weight = CachedWeight()
        self._backward_weight = CachedWeight()

    @property
    def adds(self) -> bool:
        return self.shape.dtype == torch.float32

    def _images(self, shape: tuple[int, int, int, int]) -> int:
        """Returns how many images with results of ``shape`` are computed at a time."""
        batch, height, width, channels = shape
        return min(batch, _at_once(_RESULT_BYTES, height * width * channels * self.shape.dtype.itemsize))

    def _pack(
        self, weight: Tensor, padding: tuple[int, int], source: tuple[int, int, int, int], images: int
    ) -> Tensor:
        _, height, width, channels = source
        return torch.ops.mkldnn._reorder_convolution_weight(
            weight, padding, self.shape.stride, (1, 1), 1, (images, channels, height, width)
        )

    def _pack_forward(self, weight: Tensor, out: Tensor | None) -> Tensor:
        images = self._images(self.shape.output_shape)
        return self._pack(weight, self.shape.padding, self.shape.input_shape, images)

    def _reversed_padding(self) -> tuple[int, int]:
        (high, wide), (top, left) = self.shape.kernel, self.shape.padding
        return high - 1 - top, wide - 1 - left

    def _pack_backward(self, weight: Tensor, out: Tensor | None) -> Tensor:
        reversed_weight = weight.transpose(0, 1).flip(2, 3).contiguous()
        images = self._images(self.shape.input_shape)
        return self._pack(reversed_weight, self._reversed_padding(), self.shape.output_shape, images)

    def _convolve(
        self,
        x: Tensor,
        packed: Tensor,
        bias: Tensor | None,
        padding: tuple[int, int],
        relu: bool,
        out: Tensor,
        add: bool = False,
    ) -> None:
        """Runs a convolution. oneDNN's results are in fresh memory, except for those it adds to others:
        adding to zeros takes less time than copying the result."""
        source, target = x.permute(0, 3, 1, 2), out.permute(0, 3, 1, 2)
        arguments = (source, packed, bias, padding, self.shape.stride, (1, 1), 1)
        # The sum of two bfloat16 numbers would be rounded twice.
        if add or (self.shape.dtype == torch.float32 and not relu):
            if not add:
                out.zero_()
            torch.ops.mkldnn._convolution_pointwise_(target, *arguments, "add", 1.0, None, [], None)
            if relu:
                target.clamp_min_(0)
        else:
            place(torch.ops.mkldnn._convolution_pointwise(*arguments, "none", [], ""), relu, target)

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        packed = self._forward_weight.get(weight, self._pack_forward)
        for images in runs(self.shape.batch, self._images(self.shape.output_shape)):
            self._convolve(x[images], packed, bias, self.shape.padding, relu, out[images], add)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        packed = self._backward_weight.get(weight, self._pack_backward)
        padding = self._reversed_padding()
        for images in runs(self.shape.batch, self._images(self.shape.input_shape)):
            self._convolve(grad_out[images], packed, None, padding, False, grad_in[images])


def has_linear(dtype: torch.dtype) -> bool:
    """Returns whether this build of PyTorch offers oneDNN's matrix product by itself."""
    return _available(dtype) and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def linear(rows: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
    """Computes rows (m, k) @ matrix (n, k) transposed + bias (n); a fresh (m, n) tensor.

    ``matrix`` may come from :func:`pack`.
    """
    return torch.ops.mkldnn._linear_pointwise(rows, matrix, bias, "none", [], "")


def has_packed_linear(dtype: torch.dtype) -> bool:
    """Returns whether this build of PyTorch can keep the matrix of :func:`linear` in oneDNN's own layout."""
    return has_linear(dtype) and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")


def pack(matrix: Tensor, rows: int) -> Tensor:
    """Returns a copy of ``matrix`` (n, k) for :func:`linear`, laid out for products with about ``rows``
    rows."""
    return torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous(), rows)


def parts_to_add(result: Tensor) -> list[slice]:
    """Returns slices of rows that :func:`linear` computes in fresh memory at a time, to be added."""
    row_bytes = result.shape[1] * result.itemsize
    return runs(result.shape[0], min(_ADDED_ROWS, _at_once(_ADDED_BYTES, row_bytes)))

"""Convolution as im2col and matrix products: the algorithm of Torch7's SpatialConvolutionMM.

Activations are (batch, height, width, channel). A row of the column matrix holds the input window of one
output position. Two orders of its entries are useful:

- "channel": (channel, tap), the order of the weight itself. The weight is used as it is, and its gradient is
  accumulated in place by the matrix product, but the columns are gathered one tap at a time.
- "tap": (tap, channel). Columns are gathered in long runs, but the weight must be reordered (kept until it
  changes) and its gradient is reordered once more.

The first suits few positions and large weights, the second many positions.
"""

from collections.abc import Sequence

from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import windows
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.kernels.matrix_product import MatrixProduct
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import (
    ConvolutionShape,
    column_pieces,
    fresh_column_pieces,
    inside,
    pad_into,
)
from convnet_benchmarks.nets.engine.weights import CachedWeight

_SUMMED_BYTES = 512 << 10  # columns of the input gradient that compiled code adds up at a time


class Im2colGemm(Kernel):
    """The three phases by im2col and GEMM.

    ``order`` is "channel" or "tap" (see the module's docstring); ``library`` multiplies: "blas",
    "onednn" or "compiled".
    """

    def __init__(self, shape: ConvolutionShape, memory: Memory, order: str, library: str = "blas") -> None:
        self.shape = shape
        self.memory = memory
        self.order = order
        self._product = MatrixProduct(library)
        self._by_tap = CachedWeight()
        self._sums_windows = library == "compiled" and order == "tap" and windows.fits(shape)

    @property
    def adds(self) -> bool:
        return self._product.adds

    # Weights ------------------------------------------------------------------------------------------------

    def reorder(self, weight: Tensor, out: Tensor | None) -> Tensor:
        """Turns (out, in, kernel) into (out, kernel * in)."""
        shape = self.shape
        if out is None:
            # Separate: parts of one mapping share a version, by which the product recognizes its copy.
            out = self.memory.lasting((shape.out_channels, shape.taps * shape.in_channels), shape.dtype)
        by_tap = out.view(shape.out_channels, shape.taps, shape.in_channels)
        by_tap.copy_(weight.reshape(shape.out_channels, shape.in_channels, shape.taps).transpose(1, 2))
        return out

    def _matrix(self, weight: Tensor) -> Tensor:
        """Returns the weight as (out, columns), in this kernel's order."""
        if self.order == "channel":
            return weight.view(self.shape.out_channels, -1)
        return self._by_tap.get(weight, self.reorder)

    # Columns ------------------------------------------------------------------------------------------------

    def _column_length(self) -> int:
        return self.shape.taps * self.shape.in_channels

    def _scratch(self, cut: list[tuple[slice, slice]], *others: tuple[int, ...]) -> list[Tensor]:
        """Returns scratch memory for one piece's columns, for the padded images they are gathered from, and
        for ``others``."""
        shape = self.shape
        images, rows = cut[0]
        count, height = images.stop - images.start, rows.stop - rows.start
        padded_size = (n + 2 * p for n, p in zip(shape.in_size, shape.padding, strict=True))
        padded = (count, *padded_size, shape.in_channels) if any(shape.padding) else (0,)
        columns = (count * height * shape.out_size[1], self._column_length())
        return self.memory.scratch(shape.dtype, columns, padded, *others)

    def _source(self, x: Tensor, piece: tuple[slice, slice], padded: Tensor) -> Tensor:
        """Returns the images of a piece, padded; they are padded only once for all the pieces of an image."""
        images, rows = piece
        if not any(self.shape.padding):
            return x[images]
        buffer = padded[: images.stop - images.start]
        if rows.start == 0:
            pad_into(buffer, x[images], self.shape.padding)
        return buffer

    def _gather(self, source: Tensor, rows: slice, columns: Tensor) -> Tensor:
        """Fills (positions, column length) ``columns`` for the output ``rows`` of the padded images."""
        shape = self.shape
        (kernel_h, kernel_w), (stride_h, stride_w) = shape.kernel, shape.stride
        count, height, width = source.shape[0], rows.stop - rows.start, shape.out_size[1]
        columns = columns[: count * height * width]
        image, row, column, channel = source.stride()
        start = source.storage_offset() + rows.start * stride_h * row
        if self.order == "tap":
            size = (count, height, width, kernel_h, kernel_w, shape.in_channels)
            strides = (image, stride_h * row, stride_w * column, row, column, channel)
            columns.view(size).copy_(source.as_strided(size, strides, start))
        else:
            by_tap = columns.view(count, height, width, shape.in_channels, kernel_h, kernel_w)
            for i in range(kernel_h):
                for j in range(kernel_w):
                    by_tap[..., i, j].copy_(
                        source.as_strided(
                            (count, height, width, shape.in_channels),
                            (image, stride_h * row, stride_w * column, channel),
                            start + i * row + j * column,
                        )
                    )
        return columns

    # Phases -------------------------------------------------------------------------------------------------

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        matrix = self._matrix(weight)
        cut = column_pieces(self.shape)
        columns, padded = self._scratch(cut)
        for piece in cut:
            filled = self._gather(self._source(x, piece, padded), piece[1], columns)
            self._product.forward(filled, matrix, bias, out[piece].flatten(0, 2), relu, add)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        shape = self.shape
        matrix = self._matrix(weight)
        if self._sums_windows:
            self._sum_windows(grad_out, matrix, grad_in)
            return
        cut = fresh_column_pieces(shape) if self._product.library == "onednn" else column_pieces(shape)
        columns, padded = self._scratch(cut)
        for images, rows in cut:
            summed = padded[: images.stop - images.start] if any(shape.padding) else grad_in[images]
            if rows.start == 0:
                summed.zero_()
            grad = grad_out[images, rows]
            buffer = columns[: grad.shape[0] * grad.shape[1] * grad.shape[2]]
            # Not bound to a name: fresh memory must be freed before the next piece needs some.
            self._scatter(
                self._product.input_gradient_somewhere(grad.flatten(0, 2), matrix, buffer),
                grad.shape[:3],
                rows.start,
                summed,
            )
            if any(shape.padding) and rows.stop == shape.out_size[0]:
                grad_in[images].copy_(inside(summed, shape.padding, shape.in_size))

    def _sum_windows(self, grad_out: Tensor, matrix: Tensor, grad_in: Tensor) -> None:
        """Fills ``grad_in``, with columns that compiled code adds up while they are in the second-level
        cache."""
        cut = column_pieces(self.shape, _SUMMED_BYTES)
        columns, _ = self._scratch(cut)
        for images, rows in cut:
            grad = grad_out[images, rows]
            if rows.start == 0:
                grad_in[images].zero_()
            found = columns[: grad.shape[0] * grad.shape[1] * grad.shape[2]]
            self._product.input_gradient(grad.flatten(0, 2), matrix, found)
            windows.add_windows(found.view(*grad.shape[:3], -1), self.shape, rows.start, grad_in[images])

    def _scatter(self, columns: Tensor, positions: Sequence[int], first_row: int, padded: Tensor) -> None:
        """Adds the columns of (images, height, width) ``positions`` to the pixels that they came from.

        Windows of one kernel row that do not overlap are added together: their taps are contiguous in an
        image.
        """
        (kernel_h, kernel_w), (stride_h, stride_w) = self.shape.kernel, self.shape.stride
        if self.order == "tap":
            by_tap = columns.view(*positions, kernel_h, kernel_w, self.shape.in_channels)
        else:
            by_tap = columns.view(*positions, self.shape.in_channels, kernel_h, kernel_w).movedim(3, 5)
        image, row, column, channel = padded.stride()
        apart = -(-kernel_w // stride_w)
        strides = (image, stride_h * row, apart * stride_w * column, column, channel)
        start = padded.storage_offset() + first_row * stride_h * row
        for i in range(kernel_h):
            for j in range(min(apart, by_tap.shape[2])):
                part = by_tap[:, :, j::apart, i]
                first = start + i * row + j * stride_w * column
                padded.as_strided(part.shape, strides, first).add_(part)

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        shape = self.shape
        cut = column_pieces(self.shape)
        size = (shape.out_channels, self._column_length())
        columns, padded, total = self._scratch(cut, size if self.order == "tap" else (0,))
        if self.order == "channel":
            total = grad_weight.view(size)
        else:
            total.zero_()
        for piece in cut:
            filled = self._gather(self._source(x, piece, padded), piece[1], columns)
            self._product.weight_gradient(filled, grad_out[piece].flatten(0, 2), total)
        if self.order == "tap":
            by_tap = total.view(shape.out_channels, shape.taps, shape.in_channels)
            grad_weight.view(shape.out_channels, shape.in_channels, shape.taps).add_(by_tap.transpose(1, 2))

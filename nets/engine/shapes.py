"""The shape of a convolution, as its kernels need it, and the division of work into pieces that stay in
cache."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

PIECE_BYTES = 8 << 20  # scratch of one piece of work: small enough to stay in a shared last-level cache
_COLUMN_BYTES = 2 << 20  # of im2col's columns: small enough to stay in cache
# For columns in fresh memory: the C library keeps this much; it maps more again each time, page by page.
_FRESH_COLUMN_BYTES = 16 << 20
_POSITIONS = 768  # at least, in a matrix product of columns: fewer would move a large weight too often


Pair = tuple[int, int]


def check_windows(
    size: Pair, results: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair = (1, 1)
) -> None:
    """Raises ValueError if windows over images of ``size`` do not make ``results``: compiled code relies on
    these numbers."""
    for extent, made, taps, step, around, apart in zip(
        size, results, kernel, stride, padding, dilation, strict=True
    ):
        sound = min(extent, taps, step, apart) > 0 <= around
        # Rounded up: pooling in ceil mode may have one more.
        if not sound or not 0 < made <= 1 - (taps * apart - apart + 1 - extent - 2 * around) // step:
            raise ValueError(
                f"no {results} windows of {kernel} with stride {stride}, padding {padding} and dilation "
                f"{dilation} over images of {size}"
            )


@dataclass(frozen=True)
class ConvolutionShape:
    """A 2-d convolution without groups or dilation, on (batch, height, width, channel) activations."""

    batch: int
    in_channels: int
    out_channels: int
    in_size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dtype: torch.dtype

    def check(self) -> None:
        """Raises ValueError for sizes that are not positive."""
        if min(self.batch, self.in_channels, self.out_channels) < 1:
            raise ValueError(f"{self.describe()}, batch {self.batch}: sizes must be positive")
        check_windows(self.in_size, self.out_size, self.kernel, self.stride, self.padding)

    @cached_property
    def out_size(self) -> tuple[int, int]:
        height, width = (
            (size + 2 * pad - kernel) // stride + 1
            for size, pad, kernel, stride in zip(
                self.in_size, self.padding, self.kernel, self.stride, strict=True
            )
        )
        return height, width

    @property
    def taps(self) -> int:
        """Weights per pair of channels: kernel height times kernel width."""
        return self.kernel[0] * self.kernel[1]

    @property
    def input_shape(self) -> tuple[int, int, int, int]:
        return (self.batch, *self.in_size, self.in_channels)

    @property
    def output_shape(self) -> tuple[int, int, int, int]:
        return (self.batch, *self.out_size, self.out_channels)

    @property
    def positions(self) -> int:
        """Counts the pixels of all output images: the rows of im2col's matrix products."""
        return self.batch * self.out_size[0] * self.out_size[1]

    @property
    def multiply_adds(self) -> int:
        """Counts the multiply-adds of one phase of the direct algorithm."""
        return self.positions * self.in_channels * self.out_channels * self.taps

    @property
    def weight_shape(self) -> tuple[int, int, int, int]:
        return (self.out_channels, self.in_channels, *self.kernel)

    @property
    def row_bytes(self) -> int:
        """Counts the bytes of im2col's columns for one row of an image's output."""
        return self.out_size[1] * self.in_channels * self.taps * self.dtype.itemsize

    @property
    def is_pointwise(self) -> bool:
        """Returns whether it is 1x1, stride 1, without padding: already a matrix product."""
        return self.kernel == (1, 1) and self.stride == (1, 1) and self.padding == (0, 0)

    @property
    def covers_input(self) -> bool:
        """Returns whether the kernel is as large as the unpadded input: a matrix product with one row per
        image."""
        return self.kernel == self.in_size and self.padding == (0, 0)

    def describe(self) -> str:
        """Returns a short description of the shape without batch and dtype; part of the tuning file's
        keys."""
        pairs = (self.in_size, self.kernel, self.stride, self.padding)
        size, kernel, stride, padding = (f"{height}x{width}" for height, width in pairs)
        return f"convolution {self.in_channels}->{self.out_channels} on {size} k{kernel} s{stride} p{padding}"


def runs(count: int, step: int, start: int = 0) -> list[slice]:
    """Cuts ``start`` .. ``start + count`` into slices of ``step``; the last one may be shorter."""
    stop = start + count
    return [slice(first, min(first + step, stop)) for first in range(start, stop, step)]


def pieces(batch: int, rows: int, rows_per_piece: int) -> Iterator[tuple[slice, slice]]:
    """Cuts ``batch`` images of ``rows`` rows each into (images, rows) slices of at most ``rows_per_piece``.

    A piece is either several whole images or some rows of one image.
    """
    if rows_per_piece >= rows:
        for images in runs(batch, rows_per_piece // rows):
            yield images, slice(0, rows)
        return
    count = -(-rows // rows_per_piece)
    step = -(-rows // count)  # even pieces: a thin last one would waste its matrix product
    for image in runs(batch, 1):
        for part in runs(rows, step):
            yield image, part


def column_pieces(shape: ConvolutionShape, cache_bytes: int | None = None) -> list[tuple[slice, slice]]:
    """Returns the :func:`pieces` in which im2col processes a batch: the columns of a piece stay in cache,
    unless its matrix product would then have too few rows. ``cache_bytes``: size of the columns, if not the
    default."""
    height, width = shape.out_size
    in_cache, enough = max(1, (cache_bytes or _COLUMN_BYTES) // shape.row_bytes), -(-_POSITIONS // width)
    if in_cache >= enough:
        rows = in_cache
    elif enough < height:
        rows = -(-height // (height // enough))
    else:
        rows = -(-enough // height) * height
    return list(pieces(shape.batch, height, rows))


def fresh_column_pieces(shape: ConvolutionShape) -> list[tuple[slice, slice]]:
    """Returns the :func:`pieces` for columns in fresh memory, of a size that the allocator keeps."""
    return list(pieces(shape.batch, shape.out_size[0], max(1, _FRESH_COLUMN_BYTES // shape.row_bytes)))


def even_share(count: int, most: int) -> int:
    """Returns the size of equal shares of ``count``, each at most ``most``."""
    return -(-count // -(-count // most))


def shifted(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


def take(flat: Tensor, shape: Sequence[int]) -> Tensor:
    """Returns the start of a ``flat`` tensor as one of ``shape``."""
    return flat[: math.prod(shape)].view(*shape)


def inside(padded: Tensor, padding: tuple[int, int], size: tuple[int, int]) -> Tensor:
    """Shows the images of ``size`` in the middle of (batch, height, width, channel) ``padded``, as a view."""
    (top, left), (height, width) = padding, size
    return padded[:, top : top + height, left : left + width]


def pad_into(padded: Tensor, images: Tensor, padding: tuple[int, int]) -> None:
    """Writes (batch, height, width, channel) ``images`` into the middle of ``padded``, zeros around them."""
    top, left = padding
    height, width = images.shape[1:3]
    padded[:, :top].zero_()
    padded[:, top + height :].zero_()
    padded[:, top : top + height, :left].zero_()
    padded[:, top : top + height, left + width :].zero_()
    inside(padded, padding, (height, width)).copy_(images)

"""Bilinear convolution algorithms (Winograd, FFT) as three matrix products, forward and both gradients.

A bilinear algorithm computes an m x m tile of outputs from a t x t tile of inputs (t = m + k - 1) and k x k
weights with R multiplications per pair of channels:

    y = A ((G w) * (B d))        A: (m m, R)   G: (R, k k)   B: (R, t t)

Over C input channels, O output channels and T tiles the element-wise product becomes R matrix products
(T, C) x (C, O), one per coordinate of the transformed domain. As y is linear in d and in w, the gradients
are the exact adjoints, built from the same three matrices:

    input gradient    d'  = B^T ((G w) * (A^T y'))
    weight gradient   w' += G^T sum over tiles (A^T y') * (B d)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nets.engine.kernel import Kernel
from nets.engine.memory import Memory
from nets.engine.shapes import PIECE_BYTES, ConvolutionShape, pad_into, pieces
from nets.engine.weights import CachedWeight

# Every piece of work rereads the whole transformed weight: with 256 rows per product this costs little.
TILES_PER_PIECE = 256


@dataclass(frozen=True)
class TileTransforms:
    """One algorithm's matrices in float64: ``output`` (m m, R), ``weight`` (R, k k), ``input`` (R, t t)."""

    name: str
    output_tile: int
    kernel: int
    output: Tensor
    weight: Tensor
    input: Tensor

    @property
    def input_tile(self) -> int:
        return self.output_tile + self.kernel - 1

    @property
    def products(self) -> int:
        """R: multiplications per tile and pair of channels."""
        return self.weight.shape[0]


class BilinearConvolution(Kernel):
    """The three phases of a stride-1 convolution with a square kernel by ``transforms``."""

    def __init__(
        self,
        shape: ConvolutionShape,
        memory: Memory,
        transforms: TileTransforms,
        tiles_per_piece: int = TILES_PER_PIECE,
    ) -> None:
        if shape.stride != (1, 1) or shape.kernel != (transforms.kernel, transforms.kernel):
            raise ValueError(f"{transforms.name} needs stride 1 and a {transforms.kernel}-wide square kernel")
        self.shape = shape
        self.memory = memory
        self.transforms = transforms
        self.tiles_per_piece = tiles_per_piece
        m = transforms.output_tile
        self.tiles = (-(-shape.out_size[0] // m), -(-shape.out_size[1] // m))
        self._output = transforms.output.to(shape.dtype)
        self._weight = transforms.weight.to(shape.dtype)
        self._input = transforms.input.to(shape.dtype)
        # The adjoint's matrices, laid out anew: small products are faster on contiguous ones.
        self._output_adjoint = self._output.t().contiguous()
        self._input_adjoint = self._input.t().contiguous()
        self._weight_adjoint = self._weight.t().contiguous()
        self._transformed = CachedWeight(self._transform_weight)

    def _transform_weight(self, weight: Tensor, out: Tensor | None) -> Tensor:
        """(out, in, k, k) to (R, out, in)."""
        shape, r = self.shape, self.transforms.products
        if out is None:
            out = self.memory.empty((r, shape.out_channels, shape.in_channels), shape.dtype)
        torch.mm(self._weight, weight.reshape(-1, shape.taps).t(), out=out.view(r, -1))
        return out

    def invalidate(self) -> None:
        self._transformed.invalidate()

    # Pieces and scratch -------------------------------------------------------------------------------------

    def _padded_size(self) -> tuple[int, int]:
        """Height and width that the tiles of one image read, or write in the input gradient."""
        m, k = self.transforms.output_tile, self.transforms.kernel
        return self.tiles[0] * m + k - 1, self.tiles[1] * m + k - 1

    def _needs_padding(self) -> bool:
        return self.shape.padding != (0, 0) or self._padded_size() != self.shape.in_size

    def _groups(self) -> list[tuple[slice, list[slice]]]:
        """Groups of images, each with the slices of tile rows that are worked on at a time."""
        rows_per_piece = max(1, self.tiles_per_piece // self.tiles[1])
        groups: dict[tuple[int, int], list[slice]] = {}
        for images, rows in pieces(self.shape.batch, self.tiles[0], rows_per_piece):
            groups.setdefault((images.start, images.stop), []).append(rows)
        return [(slice(first, last), row_pieces) for (first, last), row_pieces in groups.items()]

    def _scratch(self, groups: list[tuple[slice, list[slice]]], *others: tuple[int, ...]) -> list[Tensor]:
        """Room for the largest piece: input tiles, transformed inputs, transformed outputs, output tiles (all
        flat); then the padded images of a group; then ``others``."""
        shape, transforms = self.shape, self.transforms
        images, row_pieces = groups[0]
        count = images.stop - images.start
        tiles = count * (row_pieces[0].stop - row_pieces[0].start) * self.tiles[1]
        return self.memory.scratch(
            shape.dtype,
            (transforms.input_tile**2 * tiles * shape.in_channels,),
            (transforms.products * tiles * shape.in_channels,),
            (transforms.products * tiles * shape.out_channels,),
            (transforms.output_tile**2 * tiles * shape.out_channels,),
            (count, *self._padded_size(), shape.in_channels),
            *others,
        )

    # The transforms of a piece ------------------------------------------------------------------------------

    def _source(self, x: Tensor, images: slice, padded: Tensor) -> Tensor:
        if not self._needs_padding():
            return x[images]
        room = padded[: images.stop - images.start]
        pad_into(room, x[images], self.shape.padding)
        return room

    def _transform_input(self, source: Tensor, rows: slice, tiles: Tensor, transformed: Tensor) -> Tensor:
        """The tiles of ``rows`` of the padded ``source`` images; returns (R, T, C)."""
        m, t = self.transforms.output_tile, self.transforms.input_tile
        count, height, width, channels = (
            source.shape[0],
            rows.stop - rows.start,
            self.tiles[1],
            source.shape[3],
        )
        image, row, column, channel = source.stride()
        windows = source.as_strided(
            (t, t, count, height, width, channels),
            (row, column, image, m * row, m * column, channel),
            source.storage_offset() + rows.start * m * row,
        )
        found = _take(tiles, windows.shape).copy_(windows)
        result = _take(transformed, (self.transforms.products, count * height * width, channels))
        torch.mm(self._input, found.view(t * t, -1), out=result.flatten(1))
        return result

    def _transform_grad_output(self, grad: Tensor, rows: slice, tiles: Tensor, transformed: Tensor) -> Tensor:
        """The adjoint of the output transform, on ``rows`` of tiles of some images; returns (R, T, O)."""
        m = self.transforms.output_tile
        count, height, width, channels = grad.shape[0], rows.stop - rows.start, self.tiles[1], grad.shape[3]
        grid = _take(tiles, (m, m, count, height, width, channels))
        covered = grad[:, rows.start * m : rows.stop * m]
        if covered.shape[1:3] != (height * m, width * m):
            grid.zero_()  # what lies beyond the output's edge
        for tile_part, image_part in _matching_parts(grid, covered, m):
            tile_part.copy_(image_part)
        result = _take(transformed, (self.transforms.products, count * height * width, channels))
        torch.mm(self._output_adjoint, grid.view(m * m, -1), out=result.flatten(1))
        return result

    def _overlap_add(self, tiles: Tensor, first_row: int, images: Tensor) -> None:
        """Adds (t, t, count, height, width, C) input-tile gradients into padded ``images``.

        Tiles overlap by k - 1: each is cut into blocks of at most m x m, and blocks of one cut do not.
        """
        m, t = self.transforms.output_tile, self.transforms.input_tile
        height, width = tiles.shape[3:5]
        for top in range(0, t, m):
            rows = min(m, t - top)
            for left in range(0, t, m):
                columns = min(m, t - left)
                start = first_row * m + top
                image, row, column, channel = images.stride()
                grid = images.as_strided(
                    (rows, columns, images.shape[0], height, width, images.shape[3]),
                    (row, column, image, m * row, m * column, channel),
                    images.storage_offset() + start * row + left * column,
                )
                grid.add_(tiles[top : top + rows, left : left + columns])

    # Phases -------------------------------------------------------------------------------------------------

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool) -> None:
        shape, m, r = self.shape, self.transforms.output_tile, self.transforms.products
        by_product = self._transformed.get(weight).transpose(1, 2)
        groups = self._groups()
        tiles, inputs, outputs, results, padded = self._scratch(groups)
        for images, row_pieces in groups:
            source = self._source(x, images, padded)
            for rows in row_pieces:
                transformed = self._transform_input(source, rows, tiles, inputs)
                product = _take(outputs, (r, transformed.shape[1], shape.out_channels))
                torch.bmm(transformed, by_product, out=product)
                count, height = images.stop - images.start, rows.stop - rows.start
                grid = _take(results, (m, m, count, height, self.tiles[1], shape.out_channels))
                torch.mm(self._output, product.flatten(1), out=grid.view(m * m, -1))
                for tile_part, image_part in _matching_parts(
                    grid, out[images, rows.start * m : rows.stop * m], m
                ):
                    if bias is None:
                        image_part.copy_(tile_part)
                    else:
                        torch.add(tile_part, bias, out=image_part)
                    if relu:
                        image_part.clamp_min_(0)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        shape, t, r = self.shape, self.transforms.input_tile, self.transforms.products
        transformed_weight = self._transformed.get(weight)
        groups = self._groups()
        tiles, inputs, outputs, results, padded = self._scratch(groups)
        (top, left), (height, width) = shape.padding, shape.in_size
        for images, row_pieces in groups:
            summed = padded[: images.stop - images.start].zero_()
            for rows in row_pieces:
                gradient = self._transform_grad_output(grad_out[images], rows, results, outputs)
                product = _take(inputs, (r, gradient.shape[1], shape.in_channels))
                torch.bmm(gradient, transformed_weight, out=product)
                count = images.stop - images.start
                grid = _take(tiles, (t, t, count, rows.stop - rows.start, self.tiles[1], shape.in_channels))
                torch.mm(self._input_adjoint, product.flatten(1), out=grid.view(t * t, -1))
                self._overlap_add(grid, rows.start, summed)
            grad_in[images].copy_(summed[:, top : top + height, left : left + width])

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        shape, r = self.shape, self.transforms.products
        groups = self._groups()
        single = len(groups) == 1 and len(groups[0][1]) == 1
        # The transformed gradient of a single piece is made and used up some output channels at a time, in cache;
        # that of several pieces has to be summed whole.
        row_bytes = r * shape.in_channels * shape.dtype.itemsize
        width = max(16, PIECE_BYTES // row_bytes) if single else shape.out_channels
        width = min(width, shape.out_channels)
        tiles, inputs, outputs, results, padded, sums, by_tap = self._scratch(
            groups, (r * width * shape.in_channels,), (shape.taps * width * shape.in_channels,)
        )
        empty = True
        for images, row_pieces in groups:
            source = self._source(x, images, padded)
            for rows in row_pieces:
                transformed = self._transform_input(source, rows, tiles, inputs)
                gradient = self._transform_grad_output(grad_out[images], rows, results, outputs).transpose(
                    1, 2
                )
                if single:
                    break
                total = sums.view(r, width, shape.in_channels)
                if empty:
                    torch.bmm(gradient, transformed, out=total)
                    empty = False
                else:
                    total.baddbmm_(gradient, transformed)
        for first in range(0, shape.out_channels, width):
            count = min(width, shape.out_channels - first)
            total = _take(sums, (r, count, shape.in_channels))
            if single:
                torch.bmm(gradient[:, first : first + count], transformed, out=total)
            found = _take(by_tap, (shape.taps, count * shape.in_channels))
            torch.mm(self._weight_adjoint, total.flatten(1), out=found)
            grad_weight[first : first + count].view(-1, shape.taps).add_(found.t())


def _take(room: Tensor, shape: Sequence[int]) -> Tensor:
    """The start of flat ``room`` as a tensor of ``shape``."""
    return room[: math.prod(shape)].view(*shape)


def _matching_parts(grid: Tensor, image: Tensor, m: int) -> list[tuple[Tensor, Tensor]]:
    """Pairs of equal-shaped views that map a grid of m x m tiles onto an image it may stick out of.

    ``grid`` is (m, m, count, rows, columns, channels), ``image`` (count, height, width, channels). Whole
    tiles are one pair; tiles cut by the lower or right edge add up to three more.
    """
    height, width = image.shape[1:3]
    pairs = []
    for vertical in _cuts(height, m):
        for horizontal in _cuts(width, m):
            (tile_rows, rows, deep), (tile_columns, columns, wide) = vertical, horizontal
            part = image[:, rows, columns].unflatten(1, (-1, deep)).unflatten(3, (-1, wide))
            pairs.append((grid[:deep, :wide, :, tile_rows, tile_columns], part.permute(2, 4, 0, 1, 3, 5)))
    return pairs


def _cuts(size: int, m: int) -> list[tuple[slice, slice, int]]:
    """Whole tiles and the cut one along an axis: (which tiles, which positions, positions per tile)."""
    whole, rest = divmod(size, m)
    found = []
    if whole:
        found.append((slice(0, whole), slice(0, whole * m), m))
    if rest:
        found.append((slice(whole, whole + 1), slice(whole * m, size), rest))
    return found

"""The transforms of tiles by PyTorch's operators: copies of windows, and products with small matrices.

A few tiles (a step) are transformed at a time, so that a transform's stages stay in cache.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.tile_transforms import Pair, TileTransforms
from convnet_benchmarks.nets.engine.kernels.tiles import Piece, TileGrid
from convnet_benchmarks.nets.engine.shapes import even_share, inside, pad_into, pieces, runs, shifted, take

STEP_BYTES = 6 << 20  # transformed tiles of a step
WEIGHT_BYTES = 4 << 20  # transformed weight gradient of a step


class OperatorTiles:
    """See ``Tiles`` in ``nets/engine/kernels/tiles.py``.

    ``scratch``: the tiles of a step; the intermediate results of its transforms; its padded images.
    """

    def __init__(self, grid: TileGrid, transforms: TileTransforms) -> None:
        self._grid = grid
        self._transforms = transforms

    def scratch_sizes(self, piece: Piece) -> list[int]:
        shape, transforms, grid = self._grid.shape, self._transforms, self._grid
        tiles = grid.tiles_in(piece)
        in_step = between = 0
        sides = (
            (shape.in_channels, transforms.input, grid.input_tile),
            (shape.out_channels, transforms.output_adjoint, grid.output_tile),
        )
        for channels, map_, size in sides:
            most = channels * min(tiles, self._rows_per_step(channels) * grid.columns)
            in_step, between = max(in_step, math.prod(size) * most), max(between, map_.between * most)
        (images, _), _ = next(self._steps(piece, shape.in_channels))
        padded = (images.stop - images.start) * math.prod(self._padded_size()) * shape.in_channels
        return [in_step, between, padded]

    def weight_scratch_sizes(self, outputs: int, inputs: int) -> list[int]:
        weights = self._outputs_per_step(outputs, inputs) * inputs
        return [self._grid.shape.taps * weights, self._transforms.weight.between * weights]

    def transform_input(self, x: Tensor, piece: Piece, values: Tensor, scratch: Sequence[Tensor]) -> None:
        grid, shape, (in_step, between, padded) = self._grid, self._grid.shape, scratch
        (m, n), (t, u), channels = grid.output_tile, grid.input_tile, shape.in_channels
        needs_padding = shape.padding != (0, 0) or self._padded_size() != shape.in_size
        for (images, rows), place in self._steps(piece, channels):
            source = x[images]
            if needs_padding:
                source = take(padded, (source.shape[0], *self._padded_size(), channels))
                if rows.start == 0:  # otherwise padded already, for the image's first rows
                    pad_into(source, x[images], shape.padding)
            image, row, column, channel = source.stride()
            windows = source.as_strided(
                (t, u, source.shape[0], rows.stop - rows.start, grid.columns, channels),
                (row, column, image, m * row, n * column, channel),
                source.storage_offset() + rows.start * m * row,
            )
            tiles = take(in_step, windows.shape).copy_(windows)
            self._transforms.input.apply(tiles.view(t * u, -1), values[:, place].flatten(1), between)

    def transform_output_gradient(
        self, grad_out: Tensor, piece: Piece, values: Tensor, scratch: Sequence[Tensor]
    ) -> None:
        (m, n), width, (in_step, between, _) = self._grid.output_tile, self._grid.columns, scratch
        channels = self._grid.shape.out_channels
        for (images, rows), place in self._steps(piece, channels):
            covered = grad_out[images, rows.start * m : rows.stop * m]
            height = rows.stop - rows.start
            tiles = take(in_step, (m, n, covered.shape[0], height, width, channels))
            if covered.shape[1:3] != (height * m, width * n):
                tiles.zero_()  # beyond the output's edge
            for tile_part, image_part in _matching_parts(tiles, covered, (m, n)):
                tile_part.copy_(image_part)
            self._transforms.output_adjoint.apply(tiles.view(m * n, -1), values[:, place].flatten(1), between)

    def make_output(
        self,
        values: Tensor,
        piece: Piece,
        bias: Tensor | None,
        relu: bool,
        out: Tensor,
        scratch: Sequence[Tensor],
        add: bool = False,
    ) -> None:
        (m, n), (in_step, between, _) = self._grid.output_tile, scratch
        channels = self._grid.shape.out_channels
        for (images, rows), place in self._steps(piece, channels):
            count, height = images.stop - images.start, rows.stop - rows.start
            tiles = take(in_step, (m, n, count, height, self._grid.columns, channels))
            self._transforms.output_adjoint.apply_adjoint(
                values[:, place].flatten(1), tiles.view(m * n, -1), between
            )
            part = out[images, rows.start * m : rows.stop * m]
            for tile_part, image_part in _matching_parts(tiles, part, (m, n)):
                if add:
                    image_part.add_(tile_part if bias is None else tile_part.add_(bias))
                elif bias is None:
                    image_part.copy_(tile_part)
                else:
                    torch.add(tile_part, bias, out=image_part)
                if relu:
                    image_part.clamp_min_(0)

    def make_input_gradient(
        self, values: Tensor, piece: Piece, grad_in: Tensor, scratch: Sequence[Tensor]
    ) -> None:
        grid, shape, (in_step, between, padded) = self._grid, self._grid.shape, scratch
        for (images, rows), place in self._steps(piece, shape.in_channels):
            count, height = images.stop - images.start, rows.stop - rows.start
            tiles = take(in_step, (*grid.input_tile, count, height, grid.columns, shape.in_channels))
            self._transforms.input.apply_adjoint(
                values[:, place].flatten(1), tiles.flatten(0, 1).flatten(1), between
            )
            summed = take(padded, (count, *self._padded_size(), shape.in_channels))
            if rows.start == 0:
                summed.zero_()
            self._overlap_add(tiles, rows.start, summed)
            if rows.stop == grid.rows:
                grad_in[images].copy_(inside(summed, shape.padding, shape.in_size))

    def add_weight_gradient(self, values: Tensor, grad_weight: Tensor, scratch: Sequence[Tensor]) -> None:
        outputs, inputs, taps = grad_weight.shape
        by_tap, between = scratch
        for some in runs(outputs, self._outputs_per_step(outputs, inputs)):
            found = take(by_tap, (taps, some.stop - some.start, inputs))
            self._transforms.weight.apply_adjoint(values[:, some].flatten(1), found.flatten(1), between)
            grad_weight[some].add_(found.permute(1, 2, 0))

    # Steps --------------------------------------------------------------------------------------------------

    def _outputs_per_step(self, outputs: int, inputs: int) -> int:
        row_bytes = self._transforms.products * inputs * self._grid.shape.dtype.itemsize
        return even_share(outputs, max(16, WEIGHT_BYTES // row_bytes))

    def _rows_per_step(self, channels: int) -> int:
        row_bytes = self._transforms.products * self._grid.columns * channels
        return max(1, STEP_BYTES // (row_bytes * self._grid.shape.dtype.itemsize))

    def _steps(self, piece: Piece, channels: int) -> Iterator[tuple[Piece, slice]]:
        """Returns the piece's steps for transforms of ``channels``, each with the positions of its tiles in
        the piece."""
        images, rows = piece
        height = rows.stop - rows.start
        first = 0
        for some, part in pieces(images.stop - images.start, height, self._rows_per_step(channels)):
            step = (shifted(some, images.start), shifted(part, rows.start))
            last = first + self._grid.tiles_in(step)
            yield step, slice(first, last)
            first = last

    def _padded_size(self) -> tuple[int, int]:
        """Returns the height and width that the tiles of one image read, or write in the input gradient."""
        grid = self._grid
        (m, n), (t, u) = grid.output_tile, grid.input_tile
        return grid.rows * m + t - m, grid.columns * n + u - n

    def _overlap_add(self, tiles: Tensor, first_row: int, images: Tensor) -> None:
        """Adds (t, t', count, height, width, C) input-tile gradients into padded ``images``.

        Tiles overlap by k - 1. Each is cut into blocks at most as large as an output tile, so that the blocks
        of one cut do not overlap.
        """
        (m, n), (t, u) = self._grid.output_tile, self._grid.input_tile
        height, width = tiles.shape[3:5]
        for top in range(0, t, m):
            rows = min(m, t - top)
            for left in range(0, u, n):
                columns = min(n, u - left)
                start = first_row * m + top
                image, row, column, channel = images.stride()
                grid = images.as_strided(
                    (rows, columns, images.shape[0], height, width, images.shape[3]),
                    (row, column, image, m * row, n * column, channel),
                    images.storage_offset() + start * row + left * column,
                )
                grid.add_(tiles[top : top + rows, left : left + columns])


def _matching_parts(grid: Tensor, image: Tensor, tile: Pair) -> list[tuple[Tensor, Tensor]]:
    """Returns pairs of equal-shaped views that map a grid of tiles onto an image, which it may exceed.

    ``grid`` is (*tile, count, rows, columns, channels), ``image`` (count, height, width, channels). Whole
    tiles are one pair; tiles cut by the lower or right edge add up to three more.
    """
    height, width = image.shape[1:3]
    pairs = []
    for vertical in _cuts(height, tile[0]):
        for horizontal in _cuts(width, tile[1]):
            (tile_rows, rows, deep), (tile_columns, columns, wide) = vertical, horizontal
            part = image[:, rows, columns].unflatten(1, (-1, deep)).unflatten(3, (-1, wide))
            pairs.append((grid[:deep, :wide, :, tile_rows, tile_columns], part.permute(2, 4, 0, 1, 3, 5)))
    return pairs


def _cuts(size: int, m: int) -> list[tuple[slice, slice, int]]:
    """Returns the whole tiles and the cut one along an axis: (which tiles, which positions, positions per
    tile)."""
    whole, rest = divmod(size, m)
    found = []
    if whole:
        found.append((slice(0, whole), slice(0, whole * m), m))
    if rest:
        found.append((slice(whole, whole + 1), slice(whole * m, size), rest))
    return found

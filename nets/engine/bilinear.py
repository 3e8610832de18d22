"""Bilinear convolution algorithms (Winograd, FFT) as matrix products, forward and both gradients.

A bilinear algorithm computes an m x m tile of outputs from a t x t tile of inputs (t = m + k - 1) and k x k
weights with R multiplications per pair of channels:

    y = A ((G w) * (B d))        A: (m m, R)   G: (R, k k)   B: (R, t t)

Over C input channels, O output channels and T tiles the element-wise product becomes R matrix products
(T, C) x (C, O), one per coordinate of the transformed domain. As y is linear in d and in w, the gradients
are the exact adjoints, built from the same three maps:

    input gradient    d'  = B^T ((G w) * (A^T y'))
    weight gradient   w' += G^T sum over tiles (A^T y') * (B d)

Work is cut twice: pieces of many tiles are multiplied at a time, as each piece reads the whole transformed
weight; steps of few tiles are transformed at a time, so that a transform's stages stay in cache.
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from nets.engine import onednn
from nets.engine.kernel import Kernel
from nets.engine.memory import Memory
from nets.engine.shapes import ConvolutionShape, inside, pad_into, pieces, runs
from nets.engine.tile_transforms import TileMap, TileTransforms
from nets.engine.weights import CachedWeight

# Of a piece: transformed inputs and outputs, unless that makes fewer tiles than the weights are worth.
PIECE_BYTES = 30 << 20
TILES_PER_PIECE = 256
STEP_BYTES = 6 << 20  # transformed tiles of a step
BLOCK_BYTES = 4 << 20  # transformed weight gradient that is made and used up at a time
PRODUCT_BYTES = 48 << 20  # of it that one matrix product makes, where the tiles make one piece
# Below this ratio of transformed activations to transformed weights the weight gradient is made in blocks.
FEW_TILES = 0.1

Piece = tuple[slice, slice]  # images and rows of tiles


class BilinearConvolution(Kernel):
    """The three phases of a stride-1 convolution with a square kernel by ``transforms``.

    ``library`` is what multiplies in the transformed domain: "blas", "onednn", or "packed": oneDNN with the
    transformed weight kept in its own layout, one copy for each direction.
    """

    def __init__(
        self,
        shape: ConvolutionShape,
        memory: Memory,
        transforms: TileTransforms,
        library: str = "blas",
        tiles_per_piece: int | None = None,
    ) -> None:
        if shape.stride != (1, 1) or shape.kernel != (transforms.kernel, transforms.kernel):
            raise ValueError(f"{transforms.name} needs stride 1 and a {transforms.kernel}-wide square kernel")
        self.shape = shape
        self.memory = memory
        self.transforms = transforms.to(shape.dtype)
        self.library = library
        tile_bytes = transforms.products * (shape.in_channels + shape.out_channels) * shape.dtype.itemsize
        self.tiles_per_piece = tiles_per_piece or max(TILES_PER_PIECE, PIECE_BYTES // tile_bytes)
        m = transforms.output_tile
        self.tiles = (-(-shape.out_size[0] // m), -(-shape.out_size[1] // m))
        self._transformed: CachedWeight[Tensor] = CachedWeight()
        self._packed_forward: CachedWeight[list[Tensor]] = CachedWeight()
        self._packed_backward: CachedWeight[list[Tensor]] = CachedWeight()

    # Weights ------------------------------------------------------------------------------------------------

    def _forward_matrices(self, weight: Tensor) -> Tensor | list[Tensor]:
        """R matrices (out, in)."""
        if self.library == "packed":
            return self._packed_forward.get(weight, self._pack_forward)
        return self._transformed.get(weight, self._transform_weight)

    def _backward_matrices(self, weight: Tensor) -> Tensor | list[Tensor]:
        """R matrices (in, out)."""
        if self.library == "packed":
            return self._packed_backward.get(weight, self._pack_backward)
        return self._transformed.get(weight, self._transform_weight).transpose(1, 2)

    def _pack_forward(self, weight: Tensor, out: list[Tensor] | None) -> list[Tensor]:
        return self._pack(weight, out, transposed=False)

    def _pack_backward(self, weight: Tensor, out: list[Tensor] | None) -> list[Tensor]:
        return self._pack(weight, out, transposed=True)

    def _pack(self, weight: Tensor, out: list[Tensor] | None, transposed: bool) -> list[Tensor]:
        """Some matrices after the other: all of them would take as much scratch memory again."""
        packed = [] if out is None else out
        packed.clear()  # frees the old copies before the new ones are made
        for map_ in self.transforms.weight.parts():
            for matrix in self._apply_to_weight(weight, map_, None):
                packed.append(
                    onednn.pack(matrix.t() if transposed else matrix, self._tiles_in(self._pieces()[0]))
                )
        return packed

    def _transform_weight(self, weight: Tensor, out: Tensor | None) -> Tensor:
        """(out, in, k, k) to (R, out, in)."""
        map_ = self.transforms.weight
        if out is None:
            size = (map_.values, self.shape.out_channels, self.shape.in_channels)
            out = self.memory.empty(size, self.shape.dtype)
        return self._apply_to_weight(weight, map_, out)

    def _apply_to_weight(self, weight: Tensor, map_: TileMap, out: Tensor | None) -> Tensor:
        """(out, in, k, k) to (values of ``map_``, out, in), in scratch memory where there is no ``out``."""
        shape = self.shape
        size = (map_.values, shape.out_channels, shape.in_channels)
        width = self._block_width(shape.in_channels, shape.out_channels)
        by_tap, room, passing = self.memory.scratch(
            shape.dtype,
            (shape.taps, width * shape.in_channels),
            (map_.between * width * shape.in_channels,),
            size if out is None else (0,),
        )
        found = passing if out is None else out
        for first in range(0, shape.out_channels, width):
            part = weight[first : first + width]
            taps = _take(by_tap.flatten(), (shape.taps, part.numel() // shape.taps))
            taps.copy_(part.reshape(-1, shape.taps).t())
            map_.apply(taps, found[:, first : first + width].flatten(1), room)
        return found

    # Pieces, steps and scratch ------------------------------------------------------------------------------

    def _pieces(self) -> list[Piece]:
        return list(pieces(self.shape.batch, self.tiles[0], max(1, self.tiles_per_piece // self.tiles[1])))

    def _tiles_in(self, piece: Piece) -> int:
        images, rows = piece
        return (images.stop - images.start) * (rows.stop - rows.start) * self.tiles[1]

    def _rows_per_step(self, channels: int) -> int:
        row_bytes = self.transforms.products * self.tiles[1] * channels * self.shape.dtype.itemsize
        return max(1, STEP_BYTES // row_bytes)

    def _steps(self, piece: Piece, channels: int) -> Iterator[tuple[Piece, slice]]:
        """The piece's steps for transforms of so many channels, each with its tiles' place in the piece."""
        images, rows = piece
        height = rows.stop - rows.start
        first = 0
        for some, part in pieces(images.stop - images.start, height, self._rows_per_step(channels)):
            step = (_shifted(some, images.start), _shifted(part, rows.start))
            last = first + self._tiles_in(step)
            yield step, slice(first, last)
            first = last

    def _scratch(self, piece: Piece, *others: tuple[int, ...]) -> list[Tensor]:
        """Room for the transformed inputs and outputs of ``piece``, the largest, for the tiles of a step and
        for what is between the stages of its transforms (all flat); for a step's padded images; for
        ``others``."""
        shape, transforms = self.shape, self.transforms
        t, m, r = transforms.input_tile, transforms.output_tile, transforms.products
        tiles = self._tiles_in(piece)
        sides = ((shape.in_channels, transforms.input, t), (shape.out_channels, transforms.output_adjoint, m))
        in_step = between = 0
        for channels, map_, size in sides:
            most = channels * min(tiles, self._rows_per_step(channels) * self.tiles[1])
            in_step, between = max(in_step, size * size * most), max(between, map_.between * most)
        (images, _), _ = next(self._steps(piece, shape.in_channels))
        return self.memory.scratch(
            shape.dtype,
            (r * tiles * shape.in_channels,),
            (r * tiles * shape.out_channels,),
            (in_step,),
            (between,),
            (images.stop - images.start, *self._padded_size(), shape.in_channels),
            *others,
        )

    def _padded_size(self) -> tuple[int, int]:
        """Height and width that the tiles of one image read, or write in the input gradient."""
        m, k = self.transforms.output_tile, self.transforms.kernel
        return self.tiles[0] * m + k - 1, self.tiles[1] * m + k - 1

    # The transforms of a piece ------------------------------------------------------------------------------

    def _transform_input(
        self, x: Tensor, piece: Piece, into: Tensor, in_step: Tensor, between: Tensor, padded: Tensor
    ) -> Tensor:
        """The tiles of ``piece``, transformed, in flat ``into``: (R, T, C)."""
        m, t = self.transforms.output_tile, self.transforms.input_tile
        channels, width = self.shape.in_channels, self.tiles[1]
        needs_padding = self.shape.padding != (0, 0) or self._padded_size() != self.shape.in_size
        values = _take(into, (self.transforms.products, self._tiles_in(piece), channels))
        for (images, rows), place in self._steps(piece, channels):
            source = x[images]
            if needs_padding:
                source = padded[: source.shape[0]]
                if rows.start == 0:  # else padded already, for the image's rows above
                    pad_into(source, x[images], self.shape.padding)
            image, row, column, channel = source.stride()
            windows = source.as_strided(
                (t, t, source.shape[0], rows.stop - rows.start, width, channels),
                (row, column, image, m * row, m * column, channel),
                source.storage_offset() + rows.start * m * row,
            )
            tiles = _take(in_step, windows.shape).copy_(windows)
            self.transforms.input.apply(tiles.view(t * t, -1), values[:, place].flatten(1), between)
        return values

    def _transform_grad_output(
        self, grad_out: Tensor, piece: Piece, into: Tensor, in_step: Tensor, between: Tensor
    ) -> Tensor:
        """The adjoint of the output transform, on the tiles of ``piece``, in flat ``into``: (R, T, O)."""
        m = self.transforms.output_tile
        channels, width = self.shape.out_channels, self.tiles[1]
        values = _take(into, (self.transforms.products, self._tiles_in(piece), channels))
        for (images, rows), place in self._steps(piece, channels):
            covered = grad_out[images, rows.start * m : rows.stop * m]
            height = rows.stop - rows.start
            grid = _take(in_step, (m, m, covered.shape[0], height, width, channels))
            if covered.shape[1:3] != (height * m, width * m):
                grid.zero_()  # what lies beyond the output's edge
            for tile_part, image_part in _matching_parts(grid, covered, m):
                tile_part.copy_(image_part)
            self.transforms.output_adjoint.apply(grid.view(m * m, -1), values[:, place].flatten(1), between)
        return values

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

    def _multiply(self, rows: Tensor, matrices: Tensor | list[Tensor], into: Tensor) -> Tensor:
        """(R, T, a) times the transposes of R matrices (b, a), in flat ``into``: (R, T, b)."""
        found = _take(into, (*rows.shape[:2], matrices[0].shape[0]))
        if self.library == "blas":
            assert isinstance(matrices, Tensor)
            return torch.bmm(rows, matrices.transpose(1, 2), out=found)
        for row, matrix, target in zip(rows, matrices, found, strict=True):
            target.copy_(onednn.linear(row, matrix, None, False))
        return found

    # Phases -------------------------------------------------------------------------------------------------

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool) -> None:
        shape, m = self.shape, self.transforms.output_tile
        matrices = self._forward_matrices(weight)
        cut = self._pieces()
        inputs, outputs, in_step, between, padded = self._scratch(cut[0])
        for piece in cut:
            transformed = self._transform_input(x, piece, inputs, in_step, between, padded)
            product = self._multiply(transformed, matrices, outputs)
            for (images, rows), place in self._steps(piece, shape.out_channels):
                height = rows.stop - rows.start
                size = (m, m, images.stop - images.start, height, self.tiles[1], shape.out_channels)
                grid = _take(in_step, size)
                self.transforms.output_adjoint.apply_adjoint(
                    product[:, place].flatten(1), grid.view(m * m, -1), between
                )
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
        shape, t = self.shape, self.transforms.input_tile
        matrices = self._backward_matrices(weight)
        cut = self._pieces()
        inputs, outputs, in_step, between, padded = self._scratch(cut[0])
        for piece in cut:
            gradient = self._transform_grad_output(grad_out, piece, outputs, in_step, between)
            product = self._multiply(gradient, matrices, inputs)
            for (images, rows), place in self._steps(piece, shape.in_channels):
                count = images.stop - images.start
                grid = _take(in_step, (t, t, count, rows.stop - rows.start, self.tiles[1], shape.in_channels))
                self.transforms.input.apply_adjoint(
                    product[:, place].flatten(1), grid.view(t * t, -1), between
                )
                summed = padded[:count]
                if rows.start == 0:
                    summed.zero_()
                self._overlap_add(grid, rows.start, summed)
                if rows.stop == self.tiles[0]:
                    grad_in[images].copy_(inside(summed, shape.padding, shape.in_size))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        shape, r = self.shape, self.transforms.products
        whole = (slice(0, shape.batch), slice(0, self.tiles[0]))
        both = shape.in_channels + shape.out_channels
        few = self._tiles_in(whole) * both <= FEW_TILES * shape.in_channels * shape.out_channels
        cut = [whole] if few else self._pieces()
        outs_at_once, ins_at_once = self._channels_of_a_product(few, len(cut))
        width = self._block_width(ins_at_once, outs_at_once)
        inputs, outputs, in_step, between, padded, products, by_tap, room = self._scratch(
            cut[0],
            (r * outs_at_once * ins_at_once,),
            (shape.taps * width * ins_at_once,),
            (self.transforms.weight.between * width * ins_at_once,),
        )
        for index, piece in enumerate(cut):
            transformed = self._transform_input(x, piece, inputs, in_step, between, padded)
            gradient = self._transform_grad_output(grad_out, piece, outputs, in_step, between)
            gradient = gradient.transpose(1, 2)
            if len(cut) > 1:
                summed = products.view(r, shape.out_channels, shape.in_channels)
                summed.baddbmm_(gradient, transformed, beta=min(index, 1))
        grad_by_tap = grad_weight.view(shape.out_channels, shape.in_channels, shape.taps)
        for outs in runs(shape.out_channels, outs_at_once):
            count = outs.stop - outs.start
            for ins in runs(shape.in_channels, ins_at_once):
                if len(cut) == 1:
                    summed = _take(products, (r, count, ins.stop - ins.start))
                    torch.bmm(gradient[:, outs], transformed[:, :, ins], out=summed)
                for some in runs(count, width, outs.start):
                    values = summed[:, _shifted(some, -outs.start)]
                    found = _take(by_tap, (shape.taps, *values.shape[1:]))
                    self.transforms.weight.apply_adjoint(values.flatten(1), found.flatten(1), room)
                    grad_by_tap[some, ins].add_(found.permute(1, 2, 0))

    def _channels_of_a_product(self, few: bool, count: int) -> tuple[int, int]:
        """How many output and input channels of the weight gradient one matrix product makes.

        The products of ``few`` tiles are made a small block at a time, and used up while they are in cache:
        moving them would take longer than making them. Those of ``count`` > 1 pieces are added up whole.
        """
        shape = self.shape
        if few:
            ins = _even_share(shape.in_channels, self._block_side())
            return self._block_width(ins, shape.out_channels), ins
        if count > 1:
            return shape.out_channels, shape.in_channels
        row_bytes = self.transforms.products * shape.in_channels * shape.dtype.itemsize
        return _even_share(shape.out_channels, max(16, PRODUCT_BYTES // row_bytes)), shape.in_channels

    def _block_side(self) -> int:
        """Channels in and out of a square block of the transformed weight."""
        return max(16, math.isqrt(BLOCK_BYTES // (self.transforms.products * self.shape.dtype.itemsize)))

    def _block_width(self, in_channels: int, most: int) -> int:
        """How many output channels make a block of the transformed weight with so many input channels."""
        return _even_share(most, max(16, self._block_side() ** 2 // in_channels))


def _even_share(count: int, most: int) -> int:
    """The size of equal shares of ``count``, each at most ``most``."""
    return -(-count // -(-count // most))


def _shifted(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


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

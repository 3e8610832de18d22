"""Bilinear convolution algorithms (Winograd, FFT) as matrix products, forward and both gradients.

A bilinear algorithm computes an m x m tile of outputs from a t x t tile of inputs (t = m + k - 1) and k x k
weights with R multiplications per pair of channels (for a kernel of 1 x k or k x 1, tiles are lines, too):

    y = A ((G w) * (B d))        A: (m m, R)   G: (R, k k)   B: (R, t t)

Over C input channels, O output channels and T tiles the element-wise product becomes R matrix products
(T, C) x (C, O), one per coordinate of the transformed domain. As y is linear in d and in w, the gradients
are the exact adjoints, built from the same three maps:

    input gradient    d'  = B^T ((G w) * (A^T y'))
    weight gradient   w' += G^T sum over tiles (A^T y') * (B d)

A piece is some tiles, whose transformed inputs and outputs stay in caches, but enough of them for reading the
whole transformed weight.
"""

import math
from functools import partial

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels import onednn
from convnet_benchmarks.nets.engine.kernels.compiled import products as compiled_products
from convnet_benchmarks.nets.engine.kernels.compiled.caches import CACHE_LINE
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.compiled.library import ARITHMETIC
from convnet_benchmarks.nets.engine.kernels.compiled.tiles import CompiledTiles
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.kernels.operator_tiles import OperatorTiles
from convnet_benchmarks.nets.engine.kernels.tile_transforms import TileMap, TileTransforms
from convnet_benchmarks.nets.engine.kernels.tiles import Piece, TileGrid, Tiles
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape, even_share, pieces, runs, take
from convnet_benchmarks.nets.engine.weights import CachedWeight

# Transformed inputs and outputs of a piece, unless a multiple of the transformed weight is more.
PIECE_BYTES = 2 << 20
_OF_WEIGHT = 2
TILES_PER_PIECE = 64  # at least
BLOCK_BYTES = 4 << 20  # of transformed weight gradient computed and consumed at a time
PRODUCT_BYTES = 48 << 20  # of it computed by one matrix product, if the tiles make one piece
# Below this ratio of transformed activations to transformed weights the weight gradient is computed in
# blocks.
FEW_TILES = 0.1


class BilinearConvolution(Kernel):
    """The three phases of a stride-1 convolution by ``transforms``.

    ``library`` multiplies in the transformed domain: "blas", "compiled", "onednn", or
    "packed", which is oneDNN with the transformed weight kept in its own layout, one copy for each direction.
    "panels" is compiled code with the transformed weight kept in its layout, a copy for each direction, too.
    """

    def __init__(
        self,
        shape: ConvolutionShape,
        memory: Memory,
        transforms: TileTransforms,
        library: str = "blas",
        tiles_per_piece: int | None = None,
    ) -> None:
        if shape.stride != (1, 1) or shape.kernel != transforms.kernel:
            height, width = transforms.kernel
            raise ValueError(f"{transforms.name} needs stride 1 and a {height} x {width} kernel")
        self.shape = shape
        self.memory = memory
        self.transforms = transforms.to(ARITHMETIC[shape.dtype])
        self.library = library
        value_bytes = transforms.products * shape.dtype.itemsize
        tile_bytes = value_bytes * (shape.in_channels + shape.out_channels)
        weight_bytes = value_bytes * shape.in_channels * shape.out_channels
        piece_bytes = max(PIECE_BYTES, _OF_WEIGHT * weight_bytes)
        self.tiles_per_piece = tiles_per_piece or max(TILES_PER_PIECE, piece_bytes // tile_bytes)
        self.grid = TileGrid(shape, transforms.output_tile, transforms.input_tile)
        self.tiles = make_tiles(self.grid, self.transforms)
        self._transformed: CachedWeight[Tensor] = CachedWeight()
        self._panels: CachedWeight[Tensor] = CachedWeight()
        self._panels_backward: CachedWeight[Tensor] = CachedWeight()
        self._packed_forward: CachedWeight[list[Tensor]] = CachedWeight()
        self._packed_backward: CachedWeight[list[Tensor]] = CachedWeight()

    # Weights ------------------------------------------------------------------------------------------------

    @property
    def adds(self) -> bool:
        return True

    def _forward_matrices(self, weight: Tensor) -> Tensor | list[Tensor]:
        """Returns R matrices (out, in), or their panels."""
        if self.library == "panels":
            return self._panels.get(weight, partial(self._pack_panels, transposed=True))
        if self.library == "packed":
            return self._packed_forward.get(weight, self._pack_forward)
        return self._transformed.get(weight, self._transform_weight)

    def _backward_matrices(self, weight: Tensor) -> Tensor | list[Tensor]:
        """Returns R matrices (in, out), or their panels."""
        if self.library == "panels":
            return self._panels_backward.get(weight, partial(self._pack_panels, transposed=False))
        if self.library == "packed":
            return self._packed_backward.get(weight, self._pack_backward)
        return self._transformed.get(weight, self._transform_weight).transpose(1, 2)

    def _pack_panels(self, weight: Tensor, out: Tensor | None, transposed: bool) -> Tensor:
        matrices = self._apply_to_weight(weight, self.transforms.weight, None)
        return compiled_products.pack(matrices.transpose(1, 2) if transposed else matrices, out, self.memory)

    def _pack_forward(self, weight: Tensor, out: list[Tensor] | None) -> list[Tensor]:
        return self._pack(weight, out, transposed=False)

    def _pack_backward(self, weight: Tensor, out: list[Tensor] | None) -> list[Tensor]:
        return self._pack(weight, out, transposed=True)

    def _pack(self, weight: Tensor, out: list[Tensor] | None, transposed: bool) -> list[Tensor]:
        """Packs a few matrices at a time: all at once would need as much scratch memory again."""
        packed = [] if out is None else out
        packed.clear()  # frees the old copies before the new ones are allocated
        for map_ in self.transforms.weight.parts():
            for matrix in self._apply_to_weight(weight, map_, None):
                packed.append(
                    onednn.pack(matrix.t() if transposed else matrix, self.grid.tiles_in(self._pieces()[0]))
                )
        return packed

    def _transform_weight(self, weight: Tensor, out: Tensor | None) -> Tensor:
        """Turns (out, in, k, k) into (R, out, in)."""
        map_ = self.transforms.weight
        if out is None:
            size = (map_.values, self.shape.out_channels, self.shape.in_channels)
            out = self.memory.empty(size, self.shape.dtype)
        return self._apply_to_weight(weight, map_, out)

    def _apply_to_weight(self, weight: Tensor, map_: TileMap, out: Tensor | None) -> Tensor:
        """Turns (out, in, k, k) into (values of ``map_``, out, in), in scratch memory without ``out``."""
        shape = self.shape
        size = (map_.values, shape.out_channels, shape.in_channels)
        width = self._block_width(shape.in_channels, shape.out_channels)
        arithmetic = ARITHMETIC[shape.dtype]
        rounds = out is not None and out.dtype is not arithmetic
        by_tap, scratch, passing = self.memory.scratch(
            arithmetic,
            (shape.taps, width * shape.in_channels),
            (map_.between * width * shape.in_channels,),
            size if out is None else (map_.values, width * rounds, shape.in_channels),
        )
        found = passing if out is None else out
        for first in range(0, shape.out_channels, width):
            part = weight[first : first + width]
            taps = take(by_tap.flatten(), (shape.taps, part.numel() // shape.taps))
            taps.copy_(part.reshape(-1, shape.taps).t())
            target = found[:, first : first + width]
            exact = take(passing.flatten(), tuple(target.shape)) if rounds else target
            map_.apply(taps, exact.flatten(1), scratch)
            if rounds:
                target.copy_(exact)
        return found

    # Pieces and scratch -------------------------------------------------------------------------------------

    def _pieces(self) -> list[Piece]:
        rows = max(1, self.tiles_per_piece // self.grid.columns)
        return list(pieces(self.shape.batch, self.grid.rows, rows))

    def _scratch(self, piece: Piece, *others: int) -> tuple[Tensor, Tensor, list[Tensor], list[Tensor]]:
        """Returns flat scratch memory for the transformed inputs and outputs of ``piece``, the largest; for
        its transforms; and for the numbers of elements in ``others``."""
        shape = self.shape
        planes = (self._plane(piece, channels) for channels in (shape.in_channels, shape.out_channels))
        of_tiles = self.tiles.scratch_sizes(piece)
        sizes = (*(self.transforms.products * plane for plane in planes), *of_tiles, *others)
        inputs, outputs, *rest = self.memory.scratch(shape.dtype, *((size,) for size in sizes))
        return inputs, outputs, rest[: len(of_tiles)], rest[len(of_tiles) :]

    def _values(self, flat: Tensor, piece: Piece, channels: int) -> Tensor:
        """Shows ``flat`` as (R, tiles of ``piece``, channels)."""
        tiles, plane = self.grid.tiles_in(piece), self._plane(piece, channels)
        return flat.as_strided((self.transforms.products, tiles, channels), (plane, channels, 1))

    def _plane(self, piece: Piece, channels: int) -> int:
        """Returns how many elements apart the planes of ``piece`` are: an odd number of cache lines, since a
        tile's values would otherwise share few sets of a cache."""
        line = CACHE_LINE // self.shape.dtype.itemsize
        return line * (-(-self.grid.tiles_in(piece) * channels // line) | 1)

    def _multiply(self, rows: Tensor, matrices: Tensor | list[Tensor], into: Tensor) -> None:
        """Fills (R, T, b) with (R, T, a) times the transposes of R matrices (b, a)."""
        if self.library == "panels":
            assert isinstance(matrices, Tensor)
            by_columns = rows[:, :1, :1].expand(-1, rows.shape[2], into.shape[2])  # for its size
            compiled_products.bmm(rows, by_columns, into, packed=matrices)
            return
        if self.library in ("blas", "compiled"):
            assert isinstance(matrices, Tensor)
            self._products(rows, matrices.transpose(1, 2), into)
            return
        for row, matrix, target in zip(rows, matrices, into, strict=True):
            target.copy_(onednn.linear(row, matrix, None))

    def _products(self, a: Tensor, b: Tensor, into: Tensor, add: bool = False) -> None:
        """Fills (R, n, m) with (R, n, k) times (R, k, m), or adds the product to it."""
        if self.library in ("compiled", "panels"):
            compiled_products.bmm(a, b, into, add)
        elif add:
            into.baddbmm_(a, b)
        else:
            torch.bmm(a, b, out=into)

    # Phases -------------------------------------------------------------------------------------------------

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        matrices = self._forward_matrices(weight)
        cut = self._pieces()
        inputs, outputs, scratch, _ = self._scratch(cut[0])
        for piece in cut:
            transformed = self._values(inputs, piece, self.shape.in_channels)
            product = self._values(outputs, piece, self.shape.out_channels)
            self.tiles.transform_input(x, piece, transformed, scratch)
            self._multiply(transformed, matrices, product)
            self.tiles.make_output(product, piece, bias, relu, out, scratch, add)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        matrices = self._backward_matrices(weight)
        cut = self._pieces()
        inputs, outputs, scratch, _ = self._scratch(cut[0])
        for piece in cut:
            gradient = self._values(outputs, piece, self.shape.out_channels)
            product = self._values(inputs, piece, self.shape.in_channels)
            self.tiles.transform_output_gradient(grad_out, piece, gradient, scratch)
            self._multiply(gradient, matrices, product)
            self.tiles.make_input_gradient(product, piece, grad_in, scratch)

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        shape, r = self.shape, self.transforms.products
        whole = (slice(0, shape.batch), slice(0, self.grid.rows))
        both = shape.in_channels + shape.out_channels
        few = self.grid.tiles_in(whole) * both <= FEW_TILES * shape.in_channels * shape.out_channels
        cut = [whole] if few else self._pieces()
        outs_at_once, ins_at_once = self._channels_of_a_product(few, len(cut))
        weight_sizes = self.tiles.weight_scratch_sizes(outs_at_once, ins_at_once)
        inputs, outputs, scratch, (products, *weight_scratch) = self._scratch(
            cut[0], r * outs_at_once * ins_at_once, *weight_sizes
        )
        for index, piece in enumerate(cut):
            transformed = self._values(inputs, piece, shape.in_channels)
            gradient = self._values(outputs, piece, shape.out_channels)
            self.tiles.transform_input(x, piece, transformed, scratch)
            self.tiles.transform_output_gradient(grad_out, piece, gradient, scratch)
            gradient = gradient.transpose(1, 2)
            if len(cut) > 1:
                summed = products.view(r, shape.out_channels, shape.in_channels)
                self._products(gradient, transformed, summed, add=index > 0)
        grad_by_tap = grad_weight.view(shape.out_channels, shape.in_channels, shape.taps)
        for outs in runs(shape.out_channels, outs_at_once):
            for ins in runs(shape.in_channels, ins_at_once):
                if len(cut) == 1:
                    summed = take(products, (r, outs.stop - outs.start, ins.stop - ins.start))
                    self._products(gradient[:, outs], transformed[:, :, ins], summed)
                self.tiles.add_weight_gradient(summed, grad_by_tap[outs, ins], weight_scratch)

    def _channels_of_a_product(self, few: bool, count: int) -> tuple[int, int]:
        """Returns how many output and input channels of the weight gradient one matrix product computes.

        The products of ``few`` tiles are computed in small blocks, and consumed while in cache: moving them
        would take longer than computing them. Those of ``count`` > 1 pieces are added up whole.
        """
        shape = self.shape
        if few:
            ins = even_share(shape.in_channels, self._block_side())
            return self._block_width(ins, shape.out_channels), ins
        if count > 1:
            return shape.out_channels, shape.in_channels
        row_bytes = self.transforms.products * shape.in_channels * shape.dtype.itemsize
        return even_share(shape.out_channels, max(16, PRODUCT_BYTES // row_bytes)), shape.in_channels

    def _block_side(self) -> int:
        """Returns the input or output channels of a square block of the transformed weight."""
        return max(16, math.isqrt(BLOCK_BYTES // (self.transforms.products * self.shape.dtype.itemsize)))

    def _block_width(self, in_channels: int, most: int) -> int:
        """Returns how many output channels make a block of the transformed weight with ``in_channels``."""
        return even_share(most, max(16, self._block_side() ** 2 // in_channels))


def make_tiles(grid: TileGrid, transforms: TileTransforms) -> Tiles:
    """Makes compiled transforms, or else transforms by PyTorch's operators."""
    try:
        return CompiledTiles(grid, transforms)
    except NotCompiled:
        return OperatorTiles(grid, transforms)

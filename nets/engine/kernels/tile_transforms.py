"""The linear maps of bilinear convolution algorithms, as products of a few small matrices.

A two-dimensional transform works along the rows of a tile and along its columns. As a single matrix it would
cost t^2 R multiplications per tile; in two stages it costs a fraction of that, which matters for large tiles.
For a kernel with one row or one column the tiles also have one row or column, and there is one stage.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

Pair = tuple[int, int]  # rows and columns

_VALUES_PER_PART = 8


@dataclass(frozen=True)
class TileMap:
    """A linear map of tiles of n rows and n' columns to R values: first ``leading``, then ``blocks``.

    ``leading`` (r, n) mixes the n rows of a tile, for each of its columns; None leaves them unchanged.
    ``blocks`` are matrices (rows, columns) along a diagonal, each with its number of repetitions: together
    (R, r * n').
    """

    leading: Tensor | None
    blocks: tuple[tuple[Tensor, int], ...]

    @property
    def values(self) -> int:
        """Returns R."""
        return sum(matrix.shape[0] * count for matrix, count in self.blocks)

    @property
    def between(self) -> int:
        """Returns r * n': the intermediate results per tile between the stages; 0 for a map of one stage."""
        return 0 if self.leading is None else sum(m.shape[1] * count for m, count in self.blocks)

    @property
    def multiply_adds(self) -> int:
        """Returns the work per tile and channel."""
        by_blocks = sum(matrix.numel() * count for matrix, count in self.blocks)
        return by_blocks + (0 if self.leading is None else self.between * self.leading.shape[1])

    def to(self, dtype: torch.dtype) -> "TileMap":
        leading = None if self.leading is None else self.leading.to(dtype).contiguous()
        return TileMap(leading, tuple((m.to(dtype).contiguous(), count) for m, count in self.blocks))

    def parts(self) -> list["TileMap"]:
        """Returns maps of the same tiles that give consecutive parts of the values."""
        if self.leading is None:
            (matrix, _), *others = self.blocks
            assert not others
            return [one_stage(rows) for rows in matrix.split(_VALUES_PER_PART)]
        found, first = [], 0
        for matrix, count in self.blocks:
            rows = matrix.shape[1] // self.leading.shape[1]
            for _ in range(count):
                found.append(TileMap(self.leading[first : first + rows], ((matrix, 1),)))
                first += rows
        return found

    def apply(self, tiles: Tensor, values: Tensor, scratch: Tensor) -> None:
        """Fills ``values`` (R, N), with any row stride, from contiguous ``tiles`` (n * n', N).

        ``scratch`` is flat, for between * N numbers.
        """
        if self.leading is not None:
            count = tiles.shape[1]
            mixed = scratch[: self.between * count].view(self.between, count)
            by_row = (self.leading.shape[1], -1)
            torch.mm(self.leading, tiles.view(by_row), out=mixed.view(self.leading.shape[0], -1))
            tiles = mixed
        for matrix, source, target in self._each_block(tiles, values):
            torch.mm(matrix, source, out=target)

    def apply_adjoint(self, values: Tensor, tiles: Tensor, scratch: Tensor) -> None:
        """Fills contiguous ``tiles`` (n * n', N) with the transposed map of ``values`` (R, N)."""
        mixed = tiles
        if self.leading is not None:
            count = tiles.shape[1]
            mixed = scratch[: self.between * count].view(self.between, count)
        for matrix, target, source in self._each_block(mixed, values):
            torch.mm(matrix.t(), source, out=target)
        if self.leading is not None:
            by_row = (self.leading.shape[1], -1)
            torch.mm(self.leading.t(), mixed.view(self.leading.shape[0], -1), out=tiles.view(by_row))

    def _each_block(self, tiles: Tensor, values: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Yields every block with its rows of ``tiles`` and of ``values``."""
        found, column, row = [], 0, 0
        for matrix, count in self.blocks:
            rows, columns = matrix.shape
            for _ in range(count):
                found.append((matrix, tiles[column : column + columns], values[row : row + rows]))
                column, row = column + columns, row + rows
        return found


def one_stage(matrix: Tensor) -> TileMap:
    """Returns a map given as one (R, n * n') matrix."""
    return TileMap(None, ((matrix, 1),))


def along_axes(rows: Tensor, columns: Tensor) -> TileMap:
    """Returns the map that mixes a tile's rows by the matrix ``rows`` (t, n) and its columns by ``columns``
    (t', n'): the Kronecker product of the two.

    For small tiles one product with the whole matrix is faster than two thin ones.
    """
    if rows.shape[0] < 6 or columns.shape[0] < 6:
        return one_stage(torch.kron(rows, columns))
    return TileMap(rows, ((columns, rows.shape[0]),))


class AxisMatrices(NamedTuple):
    """The matrices of a bilinear algorithm along one axis, (t, n) each."""

    input: Tensor
    output_adjoint: Tensor
    weight: Tensor


@dataclass(frozen=True)
class TileTransforms:
    """One algorithm, in float64: y = output^T (weight(w) * input(d)), element by element.

    ``output_adjoint`` maps output tiles, ``weight`` kernels and ``input`` input tiles to R values each; along
    each axis an input tile has t = m + k - 1 rows or columns. The transform to output tiles is the adjoint of
    the first. ``along_axes``: the matrices of the three maps along the rows and along the columns, in
    float64, if each map is a product of two.
    """

    name: str
    output_tile: Pair
    kernel: Pair
    output_adjoint: TileMap
    weight: TileMap
    input: TileMap
    along_axes: tuple[AxisMatrices, AxisMatrices] | None = None

    @property
    def input_tile(self) -> Pair:
        return self.output_tile[0] + self.kernel[0] - 1, self.output_tile[1] + self.kernel[1] - 1

    @property
    def products(self) -> int:
        """Returns R: multiplications per tile and pair of channels."""
        return self.weight.values

    def to(self, dtype: torch.dtype) -> "TileTransforms":
        maps = (self.output_adjoint.to(dtype), self.weight.to(dtype), self.input.to(dtype))
        return TileTransforms(self.name, self.output_tile, self.kernel, *maps, self.along_axes)

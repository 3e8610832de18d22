"""A convolution's images cut into tiles, and the transforms of whole pieces of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.tile_transforms import Pair, TileTransforms
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape

Piece = tuple[slice, slice]  # images and rows of tiles


@dataclass(frozen=True)
class TileGrid:
    """The tiles of a stride-1 convolution's output: ``output_tile`` rows and columns each, made from
    ``input_tile`` of the input."""

    shape: ConvolutionShape
    output_tile: Pair
    input_tile: Pair

    @cached_property
    def rows(self) -> int:
        return -(-self.shape.out_size[0] // self.output_tile[0])

    @cached_property
    def columns(self) -> int:
        return -(-self.shape.out_size[1] // self.output_tile[1])

    def tiles_in(self, piece: Piece) -> int:
        images, rows = piece
        return (images.stop - images.start) * (rows.stop - rows.start) * self.columns


class Tiles(Protocol):
    """The linear maps around the matrix products of a bilinear algorithm, on pieces of a batch.

    Images are (batch, row, column, channel); ``values`` are (R, tiles of the piece, channels), transformed
    weights (R, output channels, input channels). ``scratch`` has the sizes of :meth:`scratch_sizes`.
    """

    def __init__(self, grid: TileGrid, transforms: TileTransforms) -> None: ...

    def scratch_sizes(self, piece: Piece) -> list[int]:
        """Returns the sizes of the scratch memory that the transforms of ``piece``, the largest, need."""

    def weight_scratch_sizes(self, outputs: int, inputs: int) -> list[int]:
        """Returns the size of the scratch memory that :meth:`add_weight_gradient` needs for these
        channels."""

    def transform_input(self, x: Tensor, piece: Piece, values: Tensor, scratch: Sequence[Tensor]) -> None:
        """Fills ``values`` with the transformed input tiles."""

    def transform_output_gradient(
        self, grad_out: Tensor, piece: Piece, values: Tensor, scratch: Sequence[Tensor]
    ) -> None:
        """Fills ``values`` with the adjoint of the output's transform."""

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
        """Fills the piece's part of ``out``, or adds to it, before the ReLU."""

    def make_input_gradient(
        self, values: Tensor, piece: Piece, grad_in: Tensor, scratch: Sequence[Tensor]
    ) -> None:
        """Fills the piece's part of ``grad_in``; an image's pieces are processed from top to bottom."""

    def add_weight_gradient(self, values: Tensor, grad_weight: Tensor, scratch: Sequence[Tensor]) -> None:
        """Adds the adjoint of the weight's transform to ``grad_weight`` (outputs, inputs, taps)."""

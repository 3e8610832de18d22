"""The transforms of tiles by compiled code, in one pass over memory each (tiles.c)."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.tile_transforms import TileTransforms
from convnet_benchmarks.nets.engine.kernels.tiles import Piece, TileGrid

_SOURCE = Path(__file__).with_suffix(".c")
_CHANNELS = 16  # a multiple of a vector's elements
_ROUNDED = 1e-13  # smaller elements of a matrix are rounding errors of 0

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _TilesJob(ctypes.Structure):
    _fields_ = [
        ("image", _Pointer),
        ("strides", _Long * 3),
        ("height", _Long),
        ("width", _Long),
        ("top", _Long),
        ("left", _Long),
        ("first_row", _Long),
        ("rows", _Long),
        ("columns", _Long),
        ("images", _Long),
        ("channels", _Long),
        ("values", _Pointer),
        ("plane", _Long),
        ("bias", _Pointer),
        ("relu", _Long),
        ("add", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


class _WeightJob(ctypes.Structure):
    _fields_ = [
        ("values", _Pointer),
        ("plane", _Long),
        ("row", _Long),
        ("gradient", _Pointer),
        ("gradient_row", _Long),
        ("outputs", _Long),
        ("inputs", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


class CompiledTiles:
    """Transforms tiles as ``Tiles`` in ``nets/engine/kernels/tiles.py`` describes; needs no scratch memory.

    Raises :class:`NotCompiled` when made where there is no compiler, or for transforms that are not a
    product of two along one axis each.
    """

    def __init__(self, grid: TileGrid, transforms: TileTransforms) -> None:
        self._grid = grid
        self._library = compiled(transforms, grid.shape.dtype)

    def scratch_sizes(self, piece: Piece) -> list[int]:
        return []

    def weight_scratch_sizes(self, outputs: int, inputs: int) -> list[int]:
        return []

    def transform_input(self, x: Tensor, piece: Piece, values: Tensor, scratch: Sequence[Tensor]) -> None:
        job = self._job(x, piece, values, self._grid.shape.padding)
        library.run_on_all_threads(self._library.transform_input, job)

    def transform_output_gradient(
        self, grad_out: Tensor, piece: Piece, values: Tensor, scratch: Sequence[Tensor]
    ) -> None:
        job = self._job(grad_out, piece, values)
        library.run_on_all_threads(self._library.transform_output_gradient, job)

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
        job = self._job(out, piece, values)
        job.add = add
        job.bias = None if bias is None else bias.data_ptr()
        job.relu = relu
        library.run_on_all_threads(self._library.make_output, job)

    def make_input_gradient(
        self, values: Tensor, piece: Piece, grad_in: Tensor, scratch: Sequence[Tensor]
    ) -> None:
        job = self._job(grad_in, piece, values, self._grid.shape.padding)
        job.at_once = _channels_at_once(job.images, job.channels)
        library.run_on_all_threads(self._library.add_input_gradient, job)

    def add_weight_gradient(self, values: Tensor, grad_weight: Tensor, scratch: Sequence[Tensor]) -> None:
        outputs, inputs, _ = grad_weight.shape
        arithmetic = library.ARITHMETIC[grad_weight.dtype]
        if grad_weight.dtype is not arithmetic:  # so that it is rounded only once
            found = torch.zeros(grad_weight.shape, dtype=arithmetic)
            self.add_weight_gradient(values, found, scratch)
            grad_weight.add_(found)
            return
        job = _WeightJob(
            values=values.data_ptr(),
            plane=values.stride(0),
            row=values.stride(1),
            gradient=grad_weight.data_ptr(),
            gradient_row=grad_weight.stride(0),
            outputs=outputs,
            inputs=inputs,
            at_once=library.units_at_once(outputs),
        )
        library.run_on_all_threads(self._library.add_weight_gradient, job)

    def _job(
        self, images: Tensor, piece: Piece, values: Tensor, padding: tuple[int, int] = (0, 0)
    ) -> _TilesJob:
        """Describes the work to C. ``padding``: how far the first tile starts above and to the left of the
        image."""
        library.check_channels(images)
        some, rows = piece
        part = images[some]
        return _TilesJob(
            image=part.data_ptr(),
            strides=(_Long * 3)(*part.stride()[:3]),
            height=part.shape[1],
            width=part.shape[2],
            top=-padding[0],
            left=-padding[1],
            first_row=rows.start,
            rows=rows.stop - rows.start,
            columns=self._grid.columns,
            images=part.shape[0],
            channels=part.shape[3],
            values=values.data_ptr(),
            plane=values.stride(0),
            at_once=library.units_at_once(self._grid.tiles_in(piece)),
        )


def _channels_at_once(images: int, channels: int) -> int:
    """Returns how many channels of an image one thread takes: all, as they are contiguous in memory, unless
    some thread would then have nothing to do."""
    parts = -(-torch.get_num_threads() // images)
    return -(-channels // (parts * _CHANNELS)) * _CHANNELS


def compiled(transforms: TileTransforms, dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of ``transforms``. Raises :class:`NotCompiled`."""
    if transforms.along_axes is None:
        raise NotCompiled(f"no compiled transforms for {transforms.name}")
    return library.vector_library(_SOURCE, dtype, _constants(transforms))


def _constants(transforms: TileTransforms) -> str:
    """Returns the definitions that tiles.c needs."""
    assert transforms.along_axes is not None
    lines = []
    sizes = (
        ("TILE", transforms.input_tile),
        ("OUTPUT", transforms.output_tile),
        ("KERNEL", transforms.kernel),
    )
    for name, (rows, columns) in sizes:
        lines += [f"#define {name}_ROWS {rows}", f"#define {name}_COLUMNS {columns}"]
    for axis, matrices in zip(("rows", "columns"), transforms.along_axes, strict=True):
        for name, matrix in zip(("input", "output", "weight"), matrices, strict=True):
            exact = matrix.where(matrix.abs() > _ROUNDED, torch.zeros_like(matrix)).tolist()
            entries = ", ".join("{" + ", ".join(map(repr, row)) + "}" for row in exact)
            size = f"[{matrix.shape[0]}][{matrix.shape[1]}]"
            lines.append(f"static const REAL {name}_{axis}{size} = {{{entries}}};")
    return "\n".join(lines) + "\n"

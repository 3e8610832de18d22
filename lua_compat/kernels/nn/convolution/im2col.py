"""Convolution by im2col and matrix products, on images as Torch7 keeps them: (batch, plane, height, width).

Weights are (output plane, input plane * tap). They are not copied beyond a call, because Lua writes to them
through pointers. Three choices remain: whether columns are gathered from the images as they are or from
copies in channels-last layout; their order; and the library that multiplies. Which is the fastest depends on
the layer and the machine.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine import (
    PIECE_BYTES,
    ConvolutionShape,
    Im2colGemm,
    MatrixProduct,
    Memory,
    column_pieces,
    linear_candidates,
    onednn,
    pad_into,
    runs,
)
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT
from lua_compat.kernels.nn.convolution import operators
from lua_compat.kernels.workspace import Workspace

# Candidates are timed from this many multiply-adds per image on: about half a millisecond of work.
_WORTH_TIMING = 50_000_000
# Likewise, from this many weights of a kernel that covers its input: more than the cache holds.
_WEIGHTS_WORTH_TIMING = 1_000_000
# Candidates are timed on images of this much work altogether: each computes a batch in pieces.
_TIMED_WORK = 12_000_000_000
# Size of the images copied at once, inputs and outputs: small enough for a shared last-level cache.
_COPIED_BYTES = 16 << 20
# Size of oneDNN's inputs or outputs at a time. Its results are in new memory, reused only if smaller.
_RESULT_BYTES = 512 << 10
# Planes in oneDNN's blocked layout.
_BLOCK = 16


class Im2col:
    """The three phases of a convolution: output, gradient of the input, gradient of the weight. ``weight``
    and ``grad_weight`` are contiguous matrices."""

    def __init__(self, shape: ConvolutionShape, memory: Memory) -> None:
        self.shape = shape
        self.memory = memory

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
        """Fills ``out``."""
        raise NotImplementedError

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        """Fills ``grad_in``."""
        raise NotImplementedError

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        """Adds to ``grad_weight``."""
        raise NotImplementedError

    @property
    def _column_length(self) -> int:
        return self.shape.in_channels * self.shape.taps


class Planar(Im2col):
    """Columns (plane * tap, position), as in Torch7: outputs are written, and gradients read, in place.

    ``library`` multiplies for the weight gradient; oneDNN would lay columns out again in the other phases.
    """

    def __init__(self, shape: ConvolutionShape, memory: Memory, library: str = "blas") -> None:
        super().__init__(shape, memory)
        self.library = library

    @property
    def _padded_size(self) -> tuple[int, int]:
        (height, width), (top, left) = self.shape.in_size, self.shape.padding
        return height + 2 * top, width + 2 * left

    def _inside(self, padded: Tensor) -> Tensor:
        """Returns the images inside padded images; height and width are the last two dimensions."""
        (top, left), (height, width) = self.shape.padding, self.shape.in_size
        return padded[..., top : top + height, left : left + width]

    def _windows(self, images: Tensor, rows: slice) -> Tensor:
        """(plane, tap row, tap column, image, output row, output column) of padded (image, plane, ...)."""
        image, plane, row, column = images.stride()
        (down, right), (tap_rows, tap_columns) = self.shape.stride, self.shape.kernel
        count, height, width = images.shape[0], rows.stop - rows.start, self.shape.out_size[1]
        return images.as_strided(
            (self.shape.in_channels, tap_rows, tap_columns, count, height, width),
            (plane, row, column, image, down * row, right * column),
            images.storage_offset() + rows.start * down * row,
        )

    def _add_windows(self, by_tap: Tensor, first_row: int, padded: Tensor) -> None:
        """Adds (plane, tap row, tap column, image, row, column) to the pixels that the windows came from."""
        planes_first = padded.transpose(0, 1)
        down, right = self.shape.stride
        height, width = by_tap.shape[4:]
        for i in range(self.shape.kernel[0]):
            top = first_row * down + i
            for j in range(self.shape.kernel[1]):
                pixels = planes_first[:, :, top : top + down * height : down, j : j + right * width : right]
                pixels.add_(by_tap[:, i, j])

    def _scratch(self, cut: list[tuple[slice, slice]]) -> tuple[Tensor, Tensor, Tensor]:
        """For one piece: columns, padded images, and a (plane, image, row, column) result."""
        shape = self.shape
        images, rows = cut[0]
        count, height = images.stop - images.start, rows.stop - rows.start
        positions = count * height * shape.out_size[1]
        columns, padded, result = self.memory.scratch(
            shape.dtype,
            (0,) if shape.is_pointwise and count == 1 else (self._column_length, positions),
            (count, shape.in_channels, *self._padded_size) if any(shape.padding) else (0,),
            (shape.out_channels, positions) if count > 1 else (0,),
        )
        return columns.flatten(), padded, result.flatten()

    def _columns(self, x: Tensor, piece: tuple[slice, slice], columns: Tensor, padded: Tensor) -> Tensor:
        images, rows = piece
        source = x[images]
        if self.shape.is_pointwise and source.shape[0] == 1:
            return source[0, :, rows].flatten(1)
        if any(self.shape.padding):
            padded = padded[: source.shape[0]]
            if rows.start == 0:  # once for all pieces of an image
                pad_into(padded.permute(0, 2, 3, 1), source.permute(0, 2, 3, 1), self.shape.padding)
            source = padded
        windows = self._windows(source, rows)
        filled = columns[: windows.numel()]
        filled.view(windows.shape).copy_(windows)
        return filled.view(self._column_length, -1)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
        cut = column_pieces(self.shape)
        columns, padded, result = self._scratch(cut)
        for piece in cut:
            filled = self._columns(x, piece, columns, padded)
            target = out[piece[0], :, piece[1]]
            count, planes = target.shape[:2]
            if count == 1:
                product = target[0].view(planes, -1)
            else:
                product = result[: planes * filled.shape[1]].view(planes, -1)
            if bias is None:
                torch.mm(weight, filled, out=product)
            else:
                torch.addmm(bias.unsqueeze(1), weight, filled, out=product)
            if count > 1:
                target.copy_(product.view(planes, count, *target.shape[2:]).transpose(0, 1))

    def _gradient(self, grad_out: Tensor, piece: tuple[slice, slice], result: Tensor) -> Tensor:
        """Returns a piece of the gradient as (plane, position)."""
        grad = grad_out[piece[0], :, piece[1]]
        planes = grad.shape[1]
        if grad.shape[0] == 1:
            return grad[0].view(planes, -1)
        copy = result[: grad.numel()].view(planes, grad.shape[0], *grad.shape[2:])
        return copy.copy_(grad.transpose(0, 1)).view(planes, -1)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        shape = self.shape
        cut = column_pieces(shape, PIECE_BYTES)
        columns, padded, result = self._scratch(cut)
        for images, rows in cut:
            grad = self._gradient(grad_out, (images, rows), result)
            target = grad_in[images]
            count = target.shape[0]
            if shape.is_pointwise and count == 1:
                torch.mm(weight.t(), grad, out=target[0, :, rows].flatten(1))
                continue
            filled = columns[: self._column_length * grad.shape[1]].view(self._column_length, -1)
            torch.mm(weight.t(), grad, out=filled)
            sums = padded[:count] if any(shape.padding) else target
            if rows.start == 0:
                sums.zero_()
            windows = (shape.in_channels, *shape.kernel, count, rows.stop - rows.start, shape.out_size[1])
            self._add_windows(filled.view(windows), rows.start, sums)
            if sums is not target and rows.stop == shape.out_size[0]:
                target.copy_(self._inside(sums))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        cut = column_pieces(self.shape)
        columns, padded, result = self._scratch(cut)
        for piece in cut:
            filled = self._columns(x, piece, columns, padded)
            grad = self._gradient(grad_out, piece, result)
            if self.library == "onednn":
                grad_weight.add_(onednn.linear(grad, filled, None))
            else:
                grad_weight.addmm_(grad, filled.t())


class _Ordered(Im2colGemm):
    """The engine's kernel for a weight that is given in the kernel's own order."""

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.view(self.shape.out_channels, -1)


class PlanesLast(Im2col):
    """The engine's im2col on channels-last copies of some images at a time.

    ``order`` and ``library`` are the engine's; a weight that needs another order is reordered in every call.
    """

    def __init__(self, shape: ConvolutionShape, workspace: Workspace, order: str, library: str) -> None:
        super().__init__(shape, workspace.memory)
        self.copies = workspace.copies
        self.order = order
        self.library = library

    def _parts(self, weight: Tensor | None) -> Iterator[tuple[slice, Im2colGemm, Tensor, Tensor, Tensor]]:
        """Yields some images, the kernel for them, buffers for their inputs and outputs, and the reordered
        weight."""
        shape, dtype = self.shape, self.shape.dtype
        (_, *before), (_, *after) = shape.input_shape, shape.output_shape
        image_bytes = (math.prod(before) + math.prod(after)) * dtype.itemsize
        count = max(1, min(shape.batch, _COPIED_BYTES // image_bytes))
        reordered = weight is not None and self.order == "tap"
        x, out, by_tap = self.copies.scratch(
            dtype,
            (count, *before),
            (count, *after),
            (shape.out_channels, self._column_length) if reordered else (0,),
        )
        for images in runs(shape.batch, count):
            n = images.stop - images.start
            kernel = _Ordered(replace(shape, batch=n), self.memory, self.order, self.library)
            if weight is not None and reordered:
                weight = kernel.reorder(weight, by_tap)
                reordered = False
            yield images, kernel, x[:n], out[:n], by_tap if weight is None else weight

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
        for images, kernel, source, found, matrix in self._parts(weight):
            source.copy_(_planes_last(x[images]))
            kernel.forward(source, matrix, bias, found, False)
            _planes_last(out[images]).copy_(found)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        for images, kernel, found, grad, matrix in self._parts(weight):
            grad.copy_(_planes_last(grad_out[images]))
            kernel.input_gradient(grad, matrix, found)
            _planes_last(grad_in[images]).copy_(found)

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        for images, kernel, source, grad, _ in self._parts(None):
            source.copy_(_planes_last(x[images]))
            grad.copy_(_planes_last(grad_out[images]))
            kernel.weight_gradient(source, grad, grad_weight)


def _planes_last(images: Tensor) -> Tensor:
    return images.permute(0, 2, 3, 1)


class Direct(Im2col):
    """oneDNN's convolution, on some images at a time, which it converts to its blocked layout itself."""

    def _pieces(self) -> list[slice]:
        _, *one = self.shape.output_shape
        _, *before = self.shape.input_shape
        bytes_ = max(math.prod(one), math.prod(before)) * self.shape.dtype.itemsize
        return runs(self.shape.batch, max(1, min(self.shape.batch, _RESULT_BYTES // bytes_)))

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
        for images in self._pieces():
            operators.forward(self.shape, x[images], weight, bias, out[images])

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        for images in self._pieces():
            # of the input only the sizes are used
            operators.input_gradient(self.shape, grad_in[images], grad_out[images], weight, grad_in[images])

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        for images in self._pieces():
            operators.weight_gradient(self.shape, x[images], grad_out[images], grad_weight)


class Covering(Im2col):
    """A kernel as large as its input (1x1 on one pixel, too): one row per image, nothing to gather."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, product: MatrixProduct) -> None:
        super().__init__(shape, memory)
        self.product = product

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
        self.product.forward(x.flatten(1), weight, bias, out.flatten(1), False)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        self.product.input_gradient(grad_out.flatten(1), weight, grad_in.flatten(1))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        self.product.weight_gradient(x.flatten(1), grad_out.flatten(1), grad_weight)


Maker = Callable[[Workspace], Im2col]


def _fills_blocks(shape: ConvolutionShape) -> bool:
    """Returns whether a layer's planes fill oneDNN's blocks. If so, oneDNN takes about half the time of
    columns and BLAS; if not, it is slower. A 1x1 kernel is a matrix product already."""
    planes = shape.in_channels, shape.out_channels
    return shape.taps > 1 and all(count % _BLOCK == 0 for count in planes)


def candidates(shape: ConvolutionShape, phase: str) -> dict[str, Maker]:
    """Returns the ways to run one phase, the simplest first."""
    if shape.covers_input:
        features = shape.in_channels * shape.taps
        products = linear_candidates(shape.batch, features, shape.out_channels, shape.dtype, phase)
        return {name: _covering(shape, make) for name, make in products.items()}
    found: dict[str, Maker] = {"planar": lambda workspace: Planar(shape, workspace.memory)}
    if onednn.has_convolution(shape.dtype):
        direct: dict[str, Maker] = {"direct": lambda workspace: Direct(shape, workspace.memory)}
        found = direct | found if _fills_blocks(shape) else found | direct
    if onednn.has_linear(shape.dtype):
        library = "blas" if phase == WEIGHT_GRADIENT else "onednn"
        if phase == WEIGHT_GRADIENT:
            found["planar(onednn)"] = lambda workspace: Planar(shape, workspace.memory, "onednn")
        for order in ("tap", "channel"):
            found[f"planes last({order})"] = partial(_with_planes_last, shape, order, library)
    return found


def _with_planes_last(shape: ConvolutionShape, order: str, library: str, workspace: Workspace) -> Im2col:
    return PlanesLast(shape, workspace, order, library)


def _covering(shape: ConvolutionShape, make: Callable[[Memory], MatrixProduct]) -> Maker:
    return lambda workspace: Covering(shape, workspace.memory, make(workspace.memory))


def forward(
    workspace: Workspace, shape: ConvolutionShape, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor
) -> None:
    """Fills ``out``. Images are contiguous batches, weights contiguous matrices, here and below."""

    def work(algorithm: Im2col, batch: int) -> None:
        algorithm.forward(x[:batch], weight, bias, out[:batch])

    _run(workspace, shape, FORWARD, work, work)


def input_gradient(
    workspace: Workspace, shape: ConvolutionShape, grad_out: Tensor, weight: Tensor, grad_in: Tensor
) -> None:
    """Fills ``grad_in``."""

    def work(algorithm: Im2col, batch: int) -> None:
        algorithm.input_gradient(grad_out[:batch], weight, grad_in[:batch])

    _run(workspace, shape, INPUT_GRADIENT, work, work)


def weight_gradient(
    workspace: Workspace, shape: ConvolutionShape, x: Tensor, grad_out: Tensor, grad_weight: Tensor
) -> None:
    """Adds to ``grad_weight``."""

    def work(algorithm: Im2col, batch: int) -> None:
        algorithm.weight_gradient(x, grad_out, grad_weight)

    def trial(algorithm: Im2col, batch: int) -> None:
        algorithm.weight_gradient(x[:batch], grad_out[:batch], torch.zeros_like(grad_weight))

    _run(workspace, shape, WEIGHT_GRADIENT, work, trial)


def _run(
    workspace: Workspace,
    shape: ConvolutionShape,
    phase: str,
    work: Callable[[Im2col, int], None],
    trial: Callable[[Im2col, int], None],
) -> None:
    """Runs ``work`` by the fastest candidate, for a small layer by the simplest; ``trial`` is timed."""
    found = candidates(shape, phase)
    name = next(iter(found))
    image_work = shape.multiply_adds // shape.batch
    worth_timing = _WEIGHTS_WORTH_TIMING if shape.covers_input else _WORTH_TIMING
    if len(found) > 1 and image_work >= worth_timing:
        batch = shape.batch if shape.covers_input else max(1, min(shape.batch, _TIMED_WORK // image_work))
        timed = candidates(replace(shape, batch=batch), phase)
        key = f"planes first, or direct: {shape.describe()} batch {batch} {shape.dtype} {phase}"
        name = workspace.fastest(
            key, {name: partial(_prepare, trial, timed[name], workspace, batch) for name in found}
        )
    work(found[name](workspace), shape.batch)


def _prepare(
    trial: Callable[[Im2col, int], None], make: Maker, workspace: Workspace, batch: int
) -> Callable[[], None]:
    return partial(trial, make(workspace), batch)

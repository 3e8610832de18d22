"""Convolution by im2col and matrix products, on images as Torch7 keeps them: (batch, plane, height, width).

Weights are (output plane, input plane * tap) and used as they are: Lua writes to them through pointers, so
that no copy of one may outlive a call. What is left to choose is the order of the columns, and the library
that multiplies; which is the fastest depends on the layer and the machine.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from lua_compat.kernels.workspace import Workspace
from nets.engine import onednn
from nets.engine.algorithms import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, linear_candidates
from nets.engine.matrix_product import MatrixProduct
from nets.engine.memory import Memory
from nets.engine.shapes import PIECE_BYTES, ConvolutionShape, pad_into, pieces

__all__ = ["Im2col", "candidates", "forward", "input_gradient", "weight_gradient"]

# Multiply-adds of an image from which on candidates are timed: about half a millisecond of work.
_WORTH_TIMING = 50_000_000
# Candidates are timed on as many images as make this much work: every one goes through a batch in pieces.
_TIMED_WORK = 4_000_000_000
# From this kernel width on, rows of taps are long enough to be gathered as they lie.
_LONG_TAPS = 5


class Im2col:
    """The three phases of a convolution. ``weight`` and ``grad_weight`` are contiguous matrices."""

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

    @property
    def _padded_size(self) -> tuple[int, int]:
        (height, width), (top, left) = self.shape.in_size, self.shape.padding
        return height + 2 * top, width + 2 * left

    def _pieces(self) -> list[tuple[slice, slice]]:
        """(images, output rows) whose columns stay in cache."""
        height, width = self.shape.out_size
        row_bytes = width * self._column_length * self.shape.dtype.itemsize
        return list(pieces(self.shape.batch, height, max(1, PIECE_BYTES // row_bytes)))

    def _inside(self, padded: Tensor) -> Tensor:
        """Of padded images, the images; height and width are the last two dimensions."""
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


class Planar(Im2col):
    """Columns (plane * tap, position), as Torch7's own: results come out, and gradients go in, in place."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, library: str = "blas") -> None:
        super().__init__(shape, memory)
        self.library = library

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

    def _multiply(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        if self.library == "onednn":
            out.copy_(onednn.linear(left, right.t(), None, False))
        else:
            torch.mm(left, right, out=out)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
        cut = self._pieces()
        columns, padded, result = self._scratch(cut)
        for piece in cut:
            filled = self._columns(x, piece, columns, padded)
            target = out[piece[0], :, piece[1]]
            count, planes = target.shape[:2]
            if count == 1:
                product = target[0].view(planes, -1)
            else:
                product = result[: planes * filled.shape[1]].view(planes, -1)
            if bias is not None and self.library == "blas":
                torch.addmm(bias.unsqueeze(1), weight, filled, out=product)
            else:
                self._multiply(weight, filled, product)
                if bias is not None:
                    product.add_(bias.unsqueeze(1))
            if count > 1:
                target.copy_(product.view(planes, count, *target.shape[2:]).transpose(0, 1))

    def _gradient(self, grad_out: Tensor, piece: tuple[slice, slice], result: Tensor) -> Tensor:
        """A piece of it as (plane, position)."""
        grad = grad_out[piece[0], :, piece[1]]
        planes = grad.shape[1]
        if grad.shape[0] == 1:
            return grad[0].view(planes, -1)
        copy = result[: grad.numel()].view(planes, grad.shape[0], *grad.shape[2:])
        return copy.copy_(grad.transpose(0, 1)).view(planes, -1)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        shape = self.shape
        cut = self._pieces()
        columns, padded, result = self._scratch(cut)
        for images, rows in cut:
            grad = self._gradient(grad_out, (images, rows), result)
            target = grad_in[images]
            count = target.shape[0]
            if shape.is_pointwise and count == 1:
                self._multiply(weight.t(), grad, target[0, :, rows].flatten(1))
                continue
            filled = columns[: self._column_length * grad.shape[1]].view(self._column_length, -1)
            self._multiply(weight.t(), grad, filled)
            sums = padded[:count] if any(shape.padding) else target
            if rows.start == 0:
                sums.zero_()
            windows = (shape.in_channels, *shape.kernel, count, rows.stop - rows.start, shape.out_size[1])
            self._add_windows(filled.view(windows), rows.start, sums)
            if sums is not target and rows.stop == shape.out_size[0]:
                target.copy_(self._inside(sums))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        cut = self._pieces()
        columns, padded, result = self._scratch(cut)
        for piece in cut:
            filled = self._columns(x, piece, columns, padded)
            grad = self._gradient(grad_out, piece, result)
            if self.library == "onednn":
                grad_weight.add_(onednn.linear(grad, filled, None, False))
            else:
                grad_weight.addmm_(grad, filled.t())


class ByPosition(Im2col):
    """Columns (position, plane * tap): the order in which oneDNN multiplies fastest by a weight."""

    def _scratch(self, cut: list[tuple[slice, slice]]) -> tuple[Tensor, Tensor, Tensor]:
        """For one piece: columns, padded images with their planes last, and a (position, plane) gradient."""
        shape = self.shape
        images, rows = cut[0]
        count = images.stop - images.start
        positions = count * (rows.stop - rows.start) * shape.out_size[1]
        columns, padded, grad = self.memory.scratch(
            shape.dtype,
            (positions, self._column_length),
            (count, *self._padded_size, shape.in_channels),
            (positions, shape.out_channels),
        )
        return columns.flatten(), padded.permute(0, 3, 1, 2), grad.flatten()

    def _columns(self, x: Tensor, piece: tuple[slice, slice], columns: Tensor, padded: Tensor) -> Tensor:
        images, rows = piece
        source = x[images]
        if any(self.shape.padding) or self.shape.kernel[1] < _LONG_TAPS:
            padded = padded[: source.shape[0]]
            if rows.start == 0:  # once for all pieces of an image
                pad_into(padded.permute(0, 2, 3, 1), source.permute(0, 2, 3, 1), self.shape.padding)
            source = padded
        windows = self._windows(source, rows).permute(3, 4, 5, 0, 1, 2)
        filled = columns[: windows.numel()].view(windows.shape)
        if self.shape.kernel[1] < _LONG_TAPS:
            for i in range(windows.shape[4]):
                for j in range(windows.shape[5]):
                    filled[..., i, j].copy_(windows[..., i, j])
        else:
            filled.copy_(windows)
        return filled.view(-1, self._column_length)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
        cut = self._pieces()
        columns, padded, _ = self._scratch(cut)
        for piece in cut:
            found = onednn.linear(self._columns(x, piece, columns, padded), weight, bias, False)
            target = out[piece[0], :, piece[1]]
            count, planes, height, width = target.shape
            target.copy_(found.view(count, height, width, planes).permute(0, 3, 1, 2))

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        shape = self.shape
        cut = self._pieces()
        _, padded, by_position = self._scratch(cut)
        for images, rows in cut:
            part = grad_out[images, :, rows].permute(0, 2, 3, 1)
            grad = by_position[: part.numel()].view(part.shape).copy_(part)
            found = onednn.linear(grad.view(-1, shape.out_channels), weight.t(), None, False)
            sums = padded[: part.shape[0]]
            if rows.start == 0:
                sums.zero_()
            windows = found.view(*part.shape[:3], shape.in_channels, *shape.kernel).permute(3, 4, 5, 0, 1, 2)
            self._add_windows(windows, rows.start, sums)
            if rows.stop == shape.out_size[0]:
                grad_in[images].copy_(self._inside(sums))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        cut = self._pieces()
        columns, padded, by_position = self._scratch(cut)
        for piece in cut:
            filled = self._columns(x, piece, columns, padded)
            part = grad_out[piece[0], :, piece[1]].permute(0, 2, 3, 1)
            grad = by_position[: part.numel()].view(part.shape).copy_(part)
            grad_weight.addmm_(grad.view(-1, self.shape.out_channels).t(), filled)


class Covering(Im2col):
    """A kernel as large as its input, 1x1 on one pixel among them: one row per image, nothing to gather."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, product: MatrixProduct) -> None:
        super().__init__(shape, memory)
        self.product = product

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
        self.product.forward(x.flatten(1), weight, bias, out.flatten(1), False)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        self.product.input_gradient(grad_out.flatten(1), weight, grad_in.flatten(1))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        self.product.weight_gradient(x.flatten(1), grad_out.flatten(1), grad_weight)


Maker = Callable[[Memory], Im2col]


def candidates(shape: ConvolutionShape, phase: str) -> dict[str, Maker]:
    """Ways to run one phase, the plainest first."""
    if shape.covers_input:
        features = shape.in_channels * shape.taps
        products = linear_candidates(shape.batch, features, shape.out_channels, shape.dtype, phase)
        return {name: _covering(shape, make) for name, make in products.items()}
    found: dict[str, Maker] = {"planar": lambda memory: Planar(shape, memory)}
    if onednn.has_linear(shape.dtype):
        if phase != INPUT_GRADIENT:
            found["planar(onednn)"] = lambda memory: Planar(shape, memory, "onednn")
        found["by position"] = lambda memory: ByPosition(shape, memory)
    return found


def _covering(shape: ConvolutionShape, make: Callable[[Memory], MatrixProduct]) -> Maker:
    return lambda memory: Covering(shape, memory, make(memory))


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
    """``work`` by the fastest candidate, of a small layer by the plainest; ``trial`` is what is timed."""
    found = candidates(shape, phase)
    name = next(iter(found))
    image_work = shape.multiply_adds // shape.batch
    if len(found) > 1 and image_work >= _WORTH_TIMING:
        batch = shape.batch if shape.covers_input else max(1, min(shape.batch, _TIMED_WORK // image_work))
        timed = candidates(replace(shape, batch=batch), phase)
        key = f"planes first: {shape.describe()} batch {batch} {shape.dtype} {phase}"
        name = workspace.fastest(
            key, {name: partial(_prepare, trial, timed[name], workspace.memory, batch) for name in found}
        )
    work(found[name](workspace.memory), shape.batch)


def _prepare(
    trial: Callable[[Im2col, int], None], make: Maker, memory: Memory, batch: int
) -> Callable[[], None]:
    return partial(trial, make(memory), batch)

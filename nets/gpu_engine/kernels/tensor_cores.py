"""Convolutions and Linear layers in float32 on tensor cores: the three phases on channels-last tensors."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
import triton
from torch import Tensor

from convnet_benchmarks.nets.gpu_engine.kernels import implicit_gemm
from convnet_benchmarks.nets.gpu_engine.kernels.operands import (
    Operand,
    images,
    padded_channels,
    start,
    weights,
)
from convnet_benchmarks.nets.gpu_engine.kernels.tiles import Tile, in_halves, in_tf32x3, parts
from convnet_benchmarks.nets.gpu_engine.shape import Convolution

_LARGEST = 2**31 - 2**20  # elements: offsets are 32 bits


@dataclass(frozen=True)
class Implicit:
    """The three phases of ``shape`` by :mod:`implicit_gemm`."""

    shape: Convolution
    tile: Tile
    halves: bool

    def input_operand(self, x: Tensor) -> Operand:
        """Returns the padded input of updateOutput and accGradParameters."""
        sizes = zip(self.shape.out_size, self.shape.stride, self.shape.kernel, strict=True)
        height, width = ((out - 1) * stride + kernel for out, stride, kernel in sizes)
        return images(x.permute(0, 2, 3, 1), self.halves, height, width, *self.shape.padding)

    def gradient_operand(self, gradient: Tensor) -> Operand:
        """Returns the padded gradient of the output, for updateGradInput and accGradParameters."""
        blocks = self._blocks
        height, width = (out + taps - 1 for out, taps in zip(blocks.outputs, blocks.taps, strict=True))
        top, left = (taps - 1 - first for taps, first in zip(blocks.taps, blocks.first, strict=True))
        return images(gradient.permute(0, 2, 3, 1), self.halves, height, width, top, left)

    def forward(self, x: Operand, weight: Tensor, bias: Tensor | None, relu: bool = False) -> Tensor:
        shape = self.shape
        w = weights(weight.permute(0, 2, 3, 1), self.halves, self.tile.depth)
        out = _channels_last((shape.batch, shape.out_channels, *shape.out_size), weight)
        tiles = self._tiles(shape.pixels, shape.out_channels)
        steps = w.high.shape[1] // self.tile.depth
        per_part, count = parts(steps, tiles, out.numel(), self.tile, weight.device)
        cut = count > 1
        to = out.new_empty((count, *out.shape)) if cut else out
        self._convolve(x, w, None if cut else bias, to, False, per_part, count, relu and not cut)
        if cut:
            flat = out.permute(0, 2, 3, 1).view(shape.pixels, shape.out_channels)
            torch.sum(to.view(count, *flat.shape), 0, out=flat)
            if bias is not None:
                flat.add_(bias)
            if relu:
                flat.relu_()
        return out

    def input_gradient(self, gradient: Operand, weight: Tensor) -> Tensor:
        shape = self.shape
        (step_h, step_w), (taps_h, taps_w) = shape.stride, self._blocks.taps
        more_h, more_w = taps_h * step_h - shape.kernel[0], taps_w * step_w - shape.kernel[1]
        if more_h or more_w:
            weight = torch.nn.functional.pad(weight, (0, more_w, 0, more_h))
        taps = weight.reshape(*weight.shape[:2], taps_h, step_h, taps_w, step_w)
        if taps_h * taps_w > 1:
            taps = taps.flip(2, 4)
        by_block = taps.permute(3, 5, 1, 2, 4, 0).reshape(-1, taps_h, taps_w, shape.out_channels)
        w = weights(by_block, self.halves, self.tile.depth)
        out = _channels_last((shape.batch, shape.in_channels, *shape.in_size), weight)
        self._convolve(gradient, w, None, out, True, w.high.shape[1] // self.tile.depth, 1, False)
        return out

    def weight_gradient(self, x: Operand, gradient: Operand) -> Tensor:
        """Returns the gradient, in the weight's form but with the channels innermost."""
        shape, tile = self.shape, self.tile
        channels = x.high.shape[3]
        terms = math.prod(shape.kernel) * channels
        tiles, results = self._tiles(shape.out_channels, terms), shape.out_channels * terms
        steps = triton.cdiv(shape.pixels, tile.depth)
        per_part, count = parts(steps, tiles, results, tile, x.high.device)
        sums = x.high.new_empty((count, shape.out_channels, terms), dtype=torch.float32)
        g_line = gradient.high.shape[2]  # in pixels
        start(
            implicit_gemm.correlate, (tiles, count),
            gradient.high, gradient.low, x.high, x.low, gradient.largest, x.largest, sums,
            shape.out_channels, terms, shape.pixels, *shape.out_size,
            gradient.high.shape[1] * g_line, g_line, gradient.top * g_line + gradient.left, gradient.pixel,
            x.image, x.line * shape.stride[0], x.pixel * shape.stride[1], x.line, x.pixel * shape.kernel[1],
            per_part,
            self.halves, x.unit, gradient.unit,
            tile.rows, tile.columns, tile.depth, num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip
        whole = sums[0] if count == 1 else sums.sum(0)
        found = whole.view(shape.out_channels, *shape.kernel, channels)
        return found[..., : shape.in_channels].permute(0, 3, 1, 2)

    def _convolve(
        self,
        a: Operand,
        w: Operand,
        bias: Tensor | None,
        out: Tensor,
        of_input: bool,
        steps: int,
        count: int,
        relu: bool,
    ) -> None:
        """Computes ``count`` parts of the output, or the gradient ``of_input``."""
        shape, tile, blocks = self.shape, self.tile, self._blocks
        grid, stride, taps = shape.out_size, shape.stride, shape.kernel
        if of_input:
            grid, stride, taps = blocks.outputs, (1, 1), blocks.taps
        rows, outputs = shape.batch * math.prod(grid), w.high.shape[0]
        height, width = shape.in_size
        lines = out.stride()[-2:] if of_input else (0, 0)
        start(
            implicit_gemm.convolve, (self._tiles(rows, outputs), count),
            a.high, a.low, w.high, w.low, a.largest, w.largest, out if bias is None else bias, out,
            rows, outputs, math.prod(taps) * a.high.shape[3], w.high.shape[1] // tile.depth, *grid,
            a.image, a.line * stride[0], a.pixel * stride[1], a.line, a.pixel * taps[1],
            steps,
            out.stride(0), *lines, height, width, *shape.stride, *blocks.crop,
            self.halves, a.unit, count > 1, of_input and shape.stride != (1, 1), bias is not None, relu,
            tile.rows, tile.columns, tile.depth, num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip

    def _tiles(self, rows: int, columns: int) -> int:
        return triton.cdiv(rows, self.tile.rows) * triton.cdiv(columns, self.tile.columns)

    @cached_property
    def _blocks(self) -> "_Blocks":
        return _Blocks.of(self.shape)


@dataclass(frozen=True)
class _Blocks:
    """A strided convolution's input gradient as a convolution of stride 1: its outputs are blocks of pixels.

    With i + padding = stride * b + a and r = stride * t + a, gradInput[i] = sum over t of gradOutput[b - t] *
    weight[r]. ``first``: of the b that have a pixel; ``outputs``: how many there are; ``taps``: of the t;
    ``crop``: the pixels of the first block that are padding.
    """

    first: tuple[int, int]
    outputs: tuple[int, int]
    taps: tuple[int, int]
    crop: tuple[int, int]

    @classmethod
    def of(cls, shape: Convolution) -> "_Blocks":
        sizes = list(zip(shape.in_size, shape.kernel, shape.stride, shape.padding, strict=True))
        first_h, first_w = (pad // stride for _, _, stride, pad in sizes)
        last_h, last_w = ((size - 1 + pad) // stride for size, _, stride, pad in sizes)
        taps_h, taps_w = (-(-kernel // stride) for _, kernel, stride, _ in sizes)
        crop_h, crop_w = (pad % stride for _, _, stride, pad in sizes)
        outputs = (last_h - first_h + 1, last_w - first_w + 1)
        return cls((first_h, first_w), outputs, (taps_h, taps_w), (crop_h, crop_w))


def applies(shape: Convolution) -> bool:
    """Returns whether the kernels take this shape: float32, offsets of 32 bits, pads less than the kernel."""
    fits = all(pad < kernel for pad, kernel in zip(shape.padding, shape.kernel, strict=True))
    sizes = zip(shape.in_size, shape.padding, strict=True)
    padded = math.prod(size + 2 * pad for size, pad in sizes) * padded_channels(shape.in_channels, True)
    around = zip(shape.out_size, shape.kernel, strict=True)
    of_gradient = math.prod(size + kernel for size, kernel in around)
    gradient = of_gradient * padded_channels(shape.out_channels, True)
    small = shape.batch * max(padded, gradient) < _LARGEST
    return shape.dtype is torch.float32 and fits and small


def variants(shape: Convolution, phase: str) -> list[Implicit]:
    """Returns the kernels worth timing, beginning with the one that is usually the fastest."""
    halves = [Implicit(shape, tile, True) for tile in in_halves(shape, phase)]
    return halves + [Implicit(shape, tile, False) for tile in in_tf32x3(shape, phase)]


def _channels_last(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=torch.channels_last)

"""Operands of the kernels: padded channels-last tensors, split into halves or unchanged."""

import math
from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor

from convnet_benchmarks.nets.gpu_engine.kernels import implicit_gemm

_PIECE = 2048  # elements that one program copies
_MOST_CHANNELS = 128  # of these


@dataclass(frozen=True)
class Operand:
    """A padded tensor (n, height, width, channel), its pixel (0, 0) at (``top``, ``left``).

    In halves, with its largest element, or unchanged (then ``low`` is ``high``).
    """

    high: Tensor
    low: Tensor
    largest: Tensor
    top: int = 0
    left: int = 0

    @property
    def unit(self) -> int:
        """Returns the number of elements loaded at once, a divisor of the number of channels."""
        return 8 if self.low is not self.high and self.high.shape[3] % 8 == 0 else 4

    @property
    def line(self) -> int:
        """Returns the units from one line of an image to the next."""
        return self.high.shape[2] * self.pixel

    @property
    def pixel(self) -> int:
        return self.high.shape[3] // self.unit

    @property
    def image(self) -> int:
        return self.high.shape[1] * self.line


def padded_channels(channels: int, halves: bool) -> int:
    """Returns the channels of an operand: the kernels load several at once."""
    unit = 8 if halves and channels > 4 else 4
    return -(-channels // unit) * unit


def images(x: Tensor, halves: bool, height: int, width: int, top: int, left: int) -> Operand:
    """Returns ``x`` (n, h, w, channel; any strides) from (top, left) on in ``height`` x ``width`` zeros.

    Pixels outside (``top`` or ``left`` may be negative) are cut off.
    """
    shape = (x.shape[0], height, width, padded_channels(x.shape[3], halves))
    if not halves and x.shape == shape and not top and not left and x.is_contiguous():
        return Operand(x, x, x)
    high = x.new_empty(shape, dtype=torch.float16 if halves else torch.float32)
    low = torch.empty_like(high) if halves else high
    return Operand(high, low, _pad(x, high, low, high[0].numel(), top, left), top, left)


def weights(x: Tensor, halves: bool, depth: int) -> Operand:
    """Returns ``x`` (output, h, w, channel; any strides) as (output, term).

    Zeros follow the terms up to a multiple of ``depth``.
    """
    outputs, height, width, of_channels = x.shape
    channels = padded_channels(of_channels, halves)
    terms = height * width * channels
    pitch = -(-terms // depth) * depth
    if not halves and pitch == terms and channels == of_channels and x.is_contiguous():
        rows = x.view(outputs, terms)
        return Operand(rows, rows, x)
    make = torch.empty if pitch == terms else torch.zeros
    dtype = torch.float16 if halves else torch.float32
    both = make((1 + halves, outputs, pitch), dtype=dtype, device=x.device)
    high = both[0]
    low = both[1] if halves else high
    shaped = high[:, :terms].view(outputs, height, width, channels)
    return Operand(high, low, _pad(x, shaped, low, pitch, 0, 0))


def _pad(x: Tensor, high: Tensor, low: Tensor, pitch: int, top: int, left: int) -> Tensor:
    """Fills ``high`` (n, h, w, channel), whose images are ``pitch`` elements apart, and likewise ``low``;
    returns the largest element of ``x``."""
    halves = high.dtype is torch.float16
    largest = torch.linalg.vector_norm(x, math.inf).reshape(1) if halves else x
    batch, height, width, channels = high.shape
    block = min(triton.next_power_of_2(channels), _MOST_CHANNELS)
    pixels, count = _PIECE // block, batch * height * width
    start(
        implicit_gemm.pad, (triton.cdiv(count, pixels), triton.cdiv(channels, block)),
        x, largest, high, low,
        count, height, width, channels, pitch, top, left, *x.shape[1:], *x.stride(),
        halves, pixels, block,
    )  # fmt: skip
    return largest


def start(kernel: Any, grid: tuple[int, ...], *args: Any, **options: int) -> None:
    """Starts a kernel; on meta tensors it is only compiled, for tensors with the allocator's alignment."""
    if args[0].device.type == "meta":
        kernel.warmup(*(one.dtype if isinstance(one, Tensor) else one for one in args), grid=grid, **options)
    else:
        kernel[grid](*args, **options)

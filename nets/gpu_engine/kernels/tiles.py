"""The blocks computed by programs, and the number of programs that share a sum."""

import math
from dataclasses import dataclass
from functools import cache

import torch

from convnet_benchmarks.nets.gpu_engine.shape import Convolution
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT

# Measured on an H200 with 128x128x64 in halves, in microseconds: one step of a program; starting and ending a
# program; starting and ending the kernel that adds parts up. The last one is bytes per microsecond.
_STEP, _PROGRAM, _SUM, _BYTES = 1.5, 3.0, 6.0, 3.5e6
_SHARED_MEMORY = 227 << 10  # of a multiprocessor, in bytes
_MOST_PARTS = 64
_FEWEST_STEPS = 4  # per part


@dataclass(frozen=True)
class Tile:
    """A block of results that one program computes, ``depth`` terms of the sums per step."""

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}x{self.depth}"

    @property
    def programs(self) -> int:
        """Returns the programs on a multiprocessor at a time: each holds its stages of two operands of four
        bytes."""
        return max(1, _SHARED_MEMORY // (4 * (self.rows + self.columns) * self.depth * self.stages))


# The fastest of some twenty on an H200; wider ones do not fit the registers.
_WIDE, _SLIM = Tile(128, 128, 64, 8, 3), Tile(128, 64, 32, 4, 3)
_FEW_COLUMNS = (Tile(128, 32, 64, 4, 4), Tile(128, 16, 64, 4, 4))
_FEW_ROWS = Tile(64, 128, 64, 4, 3)
_TF32X3 = (Tile(128, 128, 32, 8, 3), Tile(64, 64, 32, 4, 3))


def in_halves(shape: Convolution, phase: str) -> list[Tile]:
    """Returns the tiles worth timing, for products in halves."""
    if phase == WEIGHT_GRADIENT:
        return [_WIDE] if shape.out_channels > 64 else [_FEW_ROWS]
    columns = shape.out_channels
    if phase == INPUT_GRADIENT:
        columns = shape.in_channels * math.prod(shape.stride)
    if columns > 64:
        return [_WIDE, _SLIM]
    return [_SLIM] if columns > 32 else [_FEW_COLUMNS[columns <= 16]]


def in_tf32x3(shape: Convolution, phase: str) -> list[Tile]:
    """Returns those for TF32, which pays off if nothing has to be copied before the multiplication."""
    if not shape.is_product or phase != FORWARD:
        return []
    return [_TF32X3[min(shape.out_channels, shape.pixels) < 128]]


def parts(steps: int, tiles: int, results: int, tile: Tile, device: torch.device) -> tuple[int, int]:
    """Returns the steps of a part, and the number of parts, for which ``steps`` of each tile's sums take the
    least time, including the addition of the parts. ``results``: elements."""
    at_a_time = _multiprocessors(device) * tile.programs
    step = _STEP * tile.programs * tile.rows * tile.columns * tile.depth / (128 * 128 * 64)

    def microseconds(count: int) -> float:
        waves = -(-tiles * count // at_a_time)
        addition = _SUM + 4 * results * (2 * count + 1) / _BYTES if count > 1 else 0.0
        return waves * (-(-steps // count) * step + _PROGRAM) + addition

    count = min(range(1, max(1, min(_MOST_PARTS, steps // _FEWEST_STEPS)) + 1), key=microseconds)
    per_part = -(-steps // count)
    return per_part, -(-steps // per_part)


@cache
def _multiprocessors(device: torch.device) -> int:
    if device.type == "cpu":  # Triton's interpreter
        return 4
    of = None if device.type == "meta" else device
    return int(torch.cuda.get_device_properties(of).multi_processor_count)

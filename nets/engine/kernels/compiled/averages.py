"""Average pooling by compiled code (averages.c)."""

import ctypes
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.shapes import Pair, check_windows

_SOURCE = Path(__file__).with_suffix(".c")

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("image", _Pointer),
        ("large", library.Layout),
        ("out", _Pointer),
        ("small", library.Layout),
        ("images", _Long),
        ("channels", _Long),
        ("kernel", _Long * 2),
        ("stride", _Long * 2),
        ("padding", _Long * 2),
        ("counts_padding", _Long),
        ("divisor", _Long),
        ("relu", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


class Averaging(NamedTuple):
    """A pooling's geometry; ``divisor`` replaces the number of elements unless it is None."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    counts_padding: bool
    divisor: int | None


class CompiledAverages:
    """``size`` and ``pooled_size`` are rows and columns of the images. Raises :class:`NotCompiled`
    when made where there is no compiler, or for other dtypes than float32, float64 and bfloat16, and
    ValueError for sizes that do not belong together."""

    def __init__(self, how: Averaging, size: Pair, pooled_size: Pair, dtype: torch.dtype) -> None:
        check_windows(size, pooled_size, *how[:3])
        self._library = compiled(dtype)
        self._how = how

    def forward(self, x: Tensor, out: Tensor, relu: bool) -> None:
        """Fills ``out`` (N, H', W', C) with means of windows of images (N, H, W, C) with contiguous
        channels."""
        how = self._how
        job = _Job(
            image=x.data_ptr(),
            large=library.layout(x),
            out=out.data_ptr(),
            small=library.layout(out),
            images=x.shape[0],
            channels=x.shape[3],
            kernel=how.kernel,
            stride=how.stride,
            padding=how.padding,
            counts_padding=how.counts_padding,
            divisor=how.divisor or 0,
            relu=relu,
            at_once=library.units_at_once(out.shape[0] * out.shape[1]),
        )
        library.run_on_all_threads(self._library.averages, job)


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of this file's C code. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype)

"""Writes windows and phases to images, for input gradients of strided convolutions (windows.c)."""

import ctypes
from pathlib import Path

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape

_SOURCE = Path(__file__).with_suffix(".c")
_MOST_NUMBERS = 1 << 14  # elements of a padded row of an image, on the stack
_CONSTANTS = f"#define MOST_NUMBERS {_MOST_NUMBERS}\n"  # needed by windows.c

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("windows", _Pointer),
        ("first_row", _Long),
        ("rows", _Long),
        ("columns", _Long),
        ("images", _Pointer),
        ("to", library.Layout),
        ("count", _Long),
        ("channels", _Long),
        ("kernel", _Long * 2),
        ("stride", _Long * 2),
        ("padding", _Long * 2),
        ("first", _Long),
        ("last", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


class _PhasesJob(ctypes.Structure):
    _fields_ = [
        ("phases", _Pointer),
        ("rows", _Long),
        ("columns", _Long),
        ("images", _Pointer),
        ("to", library.Layout),
        ("count", _Long),
        ("channels", _Long),
        ("stride", _Long * 2),
        ("padding", _Long * 2),
        ("at_once", _Long),
        ("next", _Long),
    ]


def fits(shape: ConvolutionShape) -> bool:
    """Returns whether :func:`add_windows` can sum the windows of ``shape``, and is worth its compilation: at
    stride 1 Winograd is faster."""
    padded = (shape.in_size[1] + 2 * shape.padding[1]) * shape.in_channels
    return padded <= _MOST_NUMBERS and shape.stride != (1, 1) and shape.kernel != (1, 1)


def add_windows(windows: Tensor, shape: ConvolutionShape, first_row: int, images: Tensor) -> None:
    """Adds contiguous ``windows`` to the pixels of ``images`` (N, H, W, C) that they come from.

    windows: (N, rows, out width, kernel height * kernel width * C), whose first row is ``first_row`` of the
    output.

    Raises :class:`NotCompiled`.
    """
    if not windows.is_contiguous():
        raise ValueError("windows must be contiguous")
    count, rows, columns = windows.shape[:3]
    (stride, _), (top, _), height = shape.stride, shape.padding, shape.in_size[0]
    first = max(0, first_row * stride - top)
    last = max(first, min(height, (first_row + rows - 1) * stride + shape.kernel[0] - top))
    job = _Job(
        windows=windows.data_ptr(),
        first_row=first_row,
        rows=rows,
        columns=columns,
        images=images.data_ptr(),
        to=library.layout(images),
        count=count,
        channels=shape.in_channels,
        kernel=shape.kernel,
        stride=shape.stride,
        padding=shape.padding,
        first=first,
        last=last,
        at_once=library.units_at_once(count * (last - first)),
    )
    library.run_on_all_threads(compiled(windows.dtype).add_windows, job)


def place_phases(phases: Tensor, shape: ConvolutionShape, images: Tensor) -> None:
    """Fills ``images`` (N, H, W, C) with the pixels that contiguous ``phases`` (N, rows, columns, stride
    height * stride width * C) hold, see :mod:`strided_input_gradient`; with zeros where they hold none.

    Raises :class:`NotCompiled`.
    """
    if not phases.is_contiguous():
        raise ValueError("phases must be contiguous")
    count, rows, columns, _ = phases.shape
    job = _PhasesJob(
        phases=phases.data_ptr(),
        rows=rows,
        columns=columns,
        images=images.data_ptr(),
        to=library.layout(images),
        count=count,
        channels=shape.in_channels,
        stride=shape.stride,
        padding=shape.padding,
        at_once=library.units_at_once(count * images.shape[1]),
    )
    library.run_on_all_threads(compiled(phases.dtype).place_phases, job)


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of windows.c. Raises :class:`NotCompiled`."""
    if dtype is torch.bfloat16:
        raise NotCompiled(f"no windows in {dtype}: no compiled products make them")
    return library.vector_library(_SOURCE, dtype, _CONSTANTS)

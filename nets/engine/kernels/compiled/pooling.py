"""Max-pooling by compiled code (pooling.c): by vectors of channels, with one byte for each position."""

import ctypes
from pathlib import Path

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.kernels.compiled.caches import passes_caches
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.max_pooling import (
    MaxPooling,
    OperatorMaxPooling,
    Window,
    window_of,
)
from convnet_benchmarks.nets.engine.shapes import Pair, check_windows

_SOURCE = Path(__file__).with_suffix(".c")
_PLACES = 255  # that a byte can number; 255 itself means "none"
_CONSTANTS = f"#define NONE {_PLACES}\n"  # needed by pooling.c

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("image", _Pointer),
        ("large", library.Layout),
        ("pooled", _Pointer),
        ("small", library.Layout),
        ("places", _Pointer),
        ("images", _Long),
        ("channels", _Long),
        ("kernel", _Long * 2),
        ("stride", _Long * 2),
        ("padding", _Long * 2),
        ("dilation", _Long * 2),
        ("relu", _Long),
        ("streams", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


class CompiledMaxPooling:
    """Runs max-pooling as ``nets/engine/kernels/max_pooling.py`` describes. ``places`` is contiguous.

    ``size`` and ``pooled_size`` are rows and columns of the images. The constructor raises
    :class:`NotCompiled` without a compiler, and for windows of more than 255 elements; ValueError for
    inconsistent sizes.
    """

    places_dtype = torch.uint8
    masks_gradient = True

    def __init__(self, window: Window, size: Pair, pooled_size: Pair, dtype: torch.dtype) -> None:
        check_windows(size, pooled_size, *window[:4])
        if window.kernel[0] * window.kernel[1] > _PLACES:
            raise NotCompiled(f"no compiled pooling with windows of {window.kernel[0]} x {window.kernel[1]}")
        self._library = compiled(dtype)
        self._window = window

    def forward(self, x: Tensor, out: Tensor, places: Tensor, relu: bool) -> None:
        self._run(self._library.pool, x, out, places, relu, out)

    def input_gradient(self, grad_out: Tensor, x: Tensor, places: Tensor, grad_in: Tensor) -> None:
        self._run(self._library.pool_gradient, grad_in, grad_out, places, False, grad_in)

    def _run(
        self, function: object, image: Tensor, pooled: Tensor, places: Tensor, relu: bool, written: Tensor
    ) -> None:
        window = self._window
        job = _Job(
            image=image.data_ptr(),
            large=library.layout(image),
            pooled=pooled.data_ptr(),
            small=library.layout(pooled),
            places=places.data_ptr(),
            images=image.shape[0],
            channels=image.shape[3],
            kernel=window.kernel,
            stride=window.stride,
            padding=window.padding,
            dilation=window.dilation,
            relu=relu,
            streams=passes_caches(written),
            at_once=library.units_at_once(written.shape[0] * written.shape[1]),
        )
        library.run_on_all_threads(function, job)


def max_pooling(pool: nn.MaxPool2d, size: Pair, pooled_size: Pair, dtype: torch.dtype) -> MaxPooling:
    """Makes the kernel of ``pool`` for images of ``size`` (rows, columns) and ``dtype``: compiled code, or
    else PyTorch's operators."""
    window = window_of(pool)
    try:
        return CompiledMaxPooling(window, size, pooled_size, dtype)
    except NotCompiled:
        return OperatorMaxPooling(window)


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of this file's C code. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype, _CONSTANTS)

"""Depthwise convolution by compiled code (depthwise.c)."""

import ctypes
from pathlib import Path

import torch
from torch import Tensor

from nets.engine.kernels.compiled import library
from nets.engine.kernels.compiled.library import NotCompiled
from nets.engine.kernels.depthwise import DepthwiseGeometry, DepthwiseKernel, OperatorDepthwise
from nets.engine.weights import CachedWeight

_SOURCE = Path(__file__).with_suffix(".c")

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("image", _Pointer),
        ("large", library.Layout),
        ("out", _Pointer),
        ("small", library.Layout),
        ("weight", _Pointer),
        ("bias", _Pointer),
        ("images", _Long),
        ("channels", _Long),
        ("kernel", _Long * 2),
        ("stride", _Long * 2),
        ("padding", _Long * 2),
        ("dilation", _Long * 2),
        ("relu", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


class CompiledDepthwise:
    """Runs the forward pass as :class:`nets.engine.kernels.depthwise.DepthwiseKernel` says.

    Raises :class:`NotCompiled` when made where there is no compiler, or for other dtypes than float32 and
    float64.
    """

    def __init__(self, geometry: DepthwiseGeometry, dtype: torch.dtype) -> None:
        self._library = compiled(dtype)
        self._geometry = geometry
        self._by_tap: CachedWeight[Tensor] = CachedWeight()

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool) -> None:
        by_tap = self._by_tap.get(weight, _by_tap)
        job = _Job(
            image=x.data_ptr(),
            large=library.layout(x),
            out=out.data_ptr(),
            small=library.layout(out),
            weight=by_tap.data_ptr(),
            bias=None if bias is None else bias.data_ptr(),
            images=x.shape[0],
            channels=x.shape[3],
            kernel=self._geometry.kernel,
            stride=self._geometry.stride,
            padding=self._geometry.padding,
            dilation=self._geometry.dilation,
            relu=relu,
            at_once=library.units_at_once(out.shape[0] * out.shape[1]),
        )
        library.run_on_all_threads(self._library.depthwise, job)

    def invalidate(self) -> None:
        self._by_tap.invalidate()


def depthwise(geometry: DepthwiseGeometry, dtype: torch.dtype) -> DepthwiseKernel:
    """Makes the kernel for images of ``dtype``: compiled code, or else PyTorch's operators."""
    try:
        return CompiledDepthwise(geometry, dtype)
    except NotCompiled:
        return OperatorDepthwise(geometry)


def _by_tap(weight: Tensor, out: Tensor | None) -> Tensor:
    """Turns (C, 1, kernel) into (taps, C)."""
    found = weight.flatten(1).t()
    return found.contiguous() if out is None else out.copy_(found)


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of this file's C code. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype)

"""Depthwise convolution by compiled code (depthwise.c).

The input gradient is one convolution for each phase a of the stride s. Along one axis, with padding p and
dilation d, the input position y = a + s t contributes to the outputs o with s o = y + p - d i, so that

    g'[a + s t] = sum over i of g[(a + p - d i) / s + t] w[i], for the taps i with d i = a + p modulo s

These taps are s / gcd(s, d) apart, and the outputs that they reach d / gcd(s, d).
"""

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.depthwise import (
    DepthwiseGeometry,
    DepthwiseKernel,
    OperatorDepthwise,
)
from convnet_benchmarks.nets.engine.shapes import Pair, check_windows
from convnet_benchmarks.nets.engine.weights import CachedWeight

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
        ("sums", _Pointer),
        ("gradient", _Pointer),
        ("done", _Long),
        ("at_once", _Long),
        ("next", _Long),
    ]


_HIGH = 2  # rows of outputs that depthwise.c computes together
_CONSTANTS = f"#define HIGH {_HIGH}\n"  # needed by it
_FEW_ROWS = 8  # per thread: pieces of several rows would not be balanced
_LEAST_UNITS = 4  # per thread, whose sums need memory, too


class CompiledDepthwise:
    """Runs the phases as ``DepthwiseKernel`` in ``nets/engine/kernels/depthwise.py`` says.

    ``size`` and ``out_size`` are rows and columns of the images. The constructor raises :class:`NotCompiled`
    without a compiler, ValueError for inconsistent sizes.
    """

    def __init__(self, geometry: DepthwiseGeometry, size: Pair, out_size: Pair, dtype: torch.dtype) -> None:
        g = geometry
        check_windows(size, out_size, g.kernel, g.stride, g.padding, g.dilation)
        self._library = compiled(dtype)
        self._geometry = geometry
        self._by_tap: CachedWeight[Tensor] = CachedWeight()
        self._of_phases: CachedWeight[list[Tensor]] = CachedWeight()
        self._sums = torch.empty(0)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool) -> None:
        by_tap = self._by_tap.get(weight, _by_tap)
        self._convolve(self._geometry, x, by_tap, bias, out, relu)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        phases = product(self._phases(0), self._phases(1))
        for (rows, columns), taps in zip(phases, self._of_phases.get(weight, self._by_phase), strict=True):
            part = grad_in[:, rows.positions, columns.positions]
            if taps.numel() == 0:
                part.zero_()
            elif part.numel():
                kernel, dilation = (taps.shape[0], taps.shape[1]), (rows.dilation, columns.dilation)
                geometry = DepthwiseGeometry(kernel, (1, 1), (rows.padding, columns.padding), dilation)
                self._convolve(geometry, grad_out, taps, None, part, False)

    def _by_phase(self, weight: Tensor, out: list[Tensor] | None) -> list[Tensor]:
        """Returns the taps (height, width, C) of each phase of the input gradient, in reverse order."""
        by_tap = _by_tap(weight, None).view(*self._geometry.kernel, -1)
        found = [
            by_tap[rows.taps][:, columns.taps].flip(0, 1).contiguous()
            for rows, columns in product(self._phases(0), self._phases(1))
        ]
        if out is None:
            return found
        for kept, taps in zip(out, found, strict=True):
            kept.copy_(taps)
        return out

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        rows = grad_out.shape[0] * grad_out.shape[1]
        at_once = -(-rows // (_LEAST_UNITS * torch.get_num_threads()))
        kernel, channels = self._geometry.kernel, x.shape[3]
        parts = (-(-rows // at_once), math.prod(kernel), channels)
        if self._sums.shape != parts:
            self._sums = torch.empty(parts, dtype=library.ARITHMETIC[x.dtype])
        job = self._job(self._geometry, x, grad_out)
        job.sums, job.gradient, job.at_once = self._sums.data_ptr(), grad_weight.data_ptr(), at_once
        library.run_on_all_threads(self._library.weight_gradient, job)

    def invalidate(self) -> None:
        self._by_tap.invalidate()
        self._of_phases.invalidate()

    def _convolve(
        self,
        geometry: DepthwiseGeometry,
        x: Tensor,
        by_tap: Tensor,
        bias: Tensor | None,
        out: Tensor,
        relu: bool,
    ) -> None:
        job = self._job(geometry, x, out)
        job.weight, job.bias = by_tap.data_ptr(), None if bias is None else bias.data_ptr()
        job.relu = relu
        job.at_once = _rows_at_once(out.shape[0] * out.shape[1])
        library.run_on_all_threads(self._library.depthwise, job)

    def _job(self, geometry: DepthwiseGeometry, x: Tensor, out: Tensor) -> _Job:
        return _Job(
            image=x.data_ptr(),
            large=library.layout(x),
            out=out.data_ptr(),
            small=library.layout(out),
            images=x.shape[0],
            channels=x.shape[3],
            kernel=geometry.kernel,
            stride=geometry.stride,
            padding=geometry.padding,
            dilation=geometry.dilation,
        )

    def _phases(self, axis: int) -> "Iterator[_Phase]":
        g = self._geometry
        kernel, stride, padding, dilation = (
            sizes[axis] for sizes in (g.kernel, g.stride, g.padding, g.dilation)
        )
        common = math.gcd(stride, dilation)
        for phase in range(stride):
            found = range(kernel)
            taps = [i for i in found if dilation * i % stride == (phase + padding) % stride]
            first = (phase + padding - dilation * taps[-1]) // stride if taps else 0
            step = slice(taps[0], None, stride // common) if taps else slice(0, 0)
            yield _Phase(slice(phase, None, stride), step, -first, dilation // common)


@dataclass(frozen=True)
class _Phase:
    """Along one axis, the input positions of a phase, and the taps of its convolution."""

    positions: slice
    taps: slice
    padding: int  # of the outputs' gradients; negative if the first ones are skipped
    dilation: int


def depthwise(geometry: DepthwiseGeometry, size: Pair, out_size: Pair, dtype: torch.dtype) -> DepthwiseKernel:
    """Makes the kernel for images of ``size`` (rows, columns) and ``dtype``: compiled code, or else PyTorch's
    operators."""
    try:
        return CompiledDepthwise(geometry, size, out_size, dtype)
    except NotCompiled:
        return OperatorDepthwise(geometry)


def _rows_at_once(rows: int) -> int:
    """Returns how many rows of outputs a thread computes at a time: several, which share inputs; if there are
    few rows, as many for all threads."""
    share = -(-rows // torch.get_num_threads())
    several = _HIGH * -(-library.units_at_once(rows) // _HIGH)
    return share if share < _FEW_ROWS else several


def _by_tap(weight: Tensor, out: Tensor | None) -> Tensor:
    """Turns (C, 1, kernel) into (taps, C), the layout of compiled code."""
    found = weight.flatten(1).t().to(library.ARITHMETIC[weight.dtype])
    return found.contiguous() if out is None else out.copy_(found)


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of this file's C code. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype, _CONSTANTS)

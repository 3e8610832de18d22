"""Batch normalisation by compiled code (batch_norm.c): one pass over memory for the statistics, one for the
result."""

import contextlib
import ctypes
from pathlib import Path

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.batch_norm import (
    BatchNormKernel,
    OperatorBatchNorm,
    Running,
    part_of_batch,
)
from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.kernels.compiled.caches import CACHE_LINE, passes_caches
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.kernels.compiled.recording import count_write

_SOURCE = Path(__file__).with_suffix(".c")
_BLOCK = 16  # rows that are summed in the element type; few enough to keep precision
_LEAST_BLOCKS = 8  # per unit: its sums need memory, too
_UNITS = 8  # of work per thread
_CONSTANTS = f"#define BLOCK {_BLOCK}\n"  # needed by batch_norm.c

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("x", _Pointer),
        ("x_row", _Long),
        ("grad_out", _Pointer),
        ("grad_out_row", _Long),
        ("result", _Pointer),
        ("result_row", _Long),
        ("add", _Long),
        ("streams", _Long),
        ("rows", _Long),
        ("channels", _Long),
        ("addend", _Pointer),
        ("addend_row", _Long),
        ("output", _Pointer),
        ("output_row", _Long),
        ("mean", _Pointer),
        ("scale", _Pointer),
        ("bias", _Pointer),
        ("relu", _Long),
        ("gain", _Pointer),
        ("slope", _Pointer),
        ("offset", _Pointer),
        ("by_batch", _Long),
        ("sums", _Pointer),
        ("exact_mean", _Pointer),
        ("variance", _Pointer),
        ("inverse_deviation", _Pointer),
        ("eps", ctypes.c_double),
        ("unbiased", _Pointer),
        ("of_weight", _Pointer),
        ("of_bias", _Pointer),
        ("grad_weight", _Pointer),
        ("grad_bias", _Pointer),
        ("weight", _Pointer),
        ("shift", _Pointer),
        ("running_mean", _Pointer),
        ("running_variance", _Pointer),
        ("batches", _Pointer),
        ("momentum", ctypes.c_double),
        ("at_once", _Long),
        ("done", _Long),
        ("next", _Long),
    ]


class CompiledBatchNorm:
    """See ``BatchNormKernel`` (``nets/engine/kernels/batch_norm.py``). ``mean`` and ``variance`` (C,) are the
    statistics used last, in float64.

    The constructor raises :class:`NotCompiled` without a compiler.
    """

    masks_gradient = True
    adds_gradient = True

    def __init__(self, channels: int, relu: bool, eps: float, dtype: torch.dtype) -> None:
        self._library = compiled(dtype)
        self._relu = relu
        self._statistics = torch.zeros(3, channels, dtype=torch.float64)
        self.mean, self.variance, inverse_deviation = self._statistics.unbind()
        # mean, scale and bias of the result; gain, slope and offset of the gradient; and the requested
        # outputs.
        real = library.ARITHMETIC[dtype]
        rows = torch.zeros(9, channels + CACHE_LINE // real.itemsize, dtype=real)
        coefficients = [row[:channels] for row in rows]
        self._rounded_mean, self._unbiased, *self._of_parameters = (coefficients[i] for i in (0, 6, 7, 8))
        self._sums = torch.empty(0, dtype=torch.float64)  # for sums
        names = ("mean", "scale", "bias", "gain", "slope", "offset", "unbiased", "of_weight", "of_bias")
        places = {name: row.data_ptr() for name, row in zip(names, coefficients, strict=True)}
        # Made once, because it takes as long as a small layer. Each call fills in what changes.
        self._job = _Job(
            channels=channels,
            exact_mean=self.mean.data_ptr(),
            variance=self.variance.data_ptr(),
            inverse_deviation=inverse_deviation.data_ptr(),
            eps=eps,
            **places,
        )

    def normalise_batch(
        self,
        x: Tensor,
        running: Running | None,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        job = self._prepared(x, weight, bias, out, addend)
        job.by_batch = True
        kept = () if running is None else _writable(running, x.dtype)
        job.running_mean, job.running_variance, job.batches = (
            map(_address, kept) if kept else (None, None, None)
        )
        if running is not None:
            job.momentum = -1.0 if running.momentum is None else running.momentum
        self._run(self._library.sum_moments)
        if kept:
            count_write(*kept)
        elif running is not None:
            part = part_of_batch(running)
            for total, found in ((running.mean, self._rounded_mean), (running.variance, self._unbiased)):
                total.lerp_(found.to(total.dtype), part)
        self._run(self._library.normalise)

    def normalise(
        self,
        x: Tensor,
        mean: Tensor,
        variance: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        self.mean.copy_(mean)
        self.variance.copy_(variance)
        job = self._prepared(x, weight, bias, out, addend)
        job.by_batch = False
        self._library.prepare_result(ctypes.byref(job))
        self._run(self._library.normalise)

    def input_gradient(
        self,
        x: Tensor,
        grad_out: Tensor,
        weight: Tensor | None,
        grad_in: Tensor,
        output: Tensor | None = None,
        add: bool = False,
    ) -> None:
        job, weight = self._over(x), _contiguous(weight)
        job.relu, job.add, job.weight = self._relu and output is None, add, _address(weight)
        job.grad_out, job.grad_out_row = _place(grad_out)
        job.result, job.result_row = _place(grad_in)
        # What the result replaces is in a cache already.
        in_place = add or grad_in.data_ptr() == grad_out.data_ptr()
        job.streams = passes_caches(_rows(grad_in)) and not in_place
        job.output, job.output_row = _place(output if self._relu else None)
        self._run(self._library.sum_gradients)
        self._run(self._library.input_gradient)

    def add_parameter_gradients(self, grad_weight: Tensor | None, grad_bias: Tensor | None) -> None:
        totals = grad_weight, grad_bias
        if all(total is None or total.is_contiguous() for total in totals):
            self._job.grad_weight, self._job.grad_bias = map(_address, totals)
            self._run(self._library.add_parameter_gradients)
            return
        for total, found in zip(totals, self._of_parameters, strict=True):
            if total is not None:
                total.add_(found)

    def _prepared(
        self, x: Tensor, weight: Tensor | None, bias: Tensor | None, out: Tensor, addend: Tensor | None
    ) -> _Job:
        """Returns the job of a forward pass, without its statistics."""
        job, weight, bias = self._over(x), _contiguous(weight), _contiguous(bias)
        job.relu, job.weight, job.shift = self._relu, _address(weight), _address(bias)
        job.addend, job.addend_row = _place(addend)
        job.result, job.result_row = _place(out)
        job.streams = passes_caches(_rows(out))
        return job

    def _over(self, x: Tensor) -> _Job:
        """Returns the job, for the rows of ``x``."""
        job, rows = self._job, _rows(x)
        count = rows.shape[0]
        blocks = -(-count // (_BLOCK * _UNITS * torch.get_num_threads()))
        job.x, job.x_row, job.rows = rows.data_ptr(), rows.stride(0), count
        job.at_once = _BLOCK * max(_LEAST_BLOCKS, blocks)
        units = -(-count // job.at_once)
        if self._sums.shape[0] < units:
            self._sums = torch.empty(units, 2, job.channels, dtype=torch.float64)
        job.sums = self._sums.data_ptr()
        return job

    def _run(self, function: object) -> None:
        self._job.next = 0
        library.run_on_all_threads(function, self._job)


def batch_norm(channels: int, dimensions: int, relu: bool, eps: float, dtype: torch.dtype) -> BatchNormKernel:
    """Makes the kernel for tensors of ``dimensions`` dimensions: compiled code, or else PyTorch's
    operators."""
    if dimensions in (2, 4):
        with contextlib.suppress(NotCompiled):
            return CompiledBatchNorm(channels, relu, eps, dtype)
    return OperatorBatchNorm(relu, eps, dtype)


def _rows(tensor: Tensor) -> Tensor:
    """Shows (N, C, H, W), channels last, or (N, C), as a view of rows with contiguous channels."""
    rows = tensor.permute(0, 2, 3, 1).view(-1, tensor.shape[1]) if tensor.dim() == 4 else tensor
    library.check_channels(rows)
    return rows


def _contiguous(parameter: Tensor | None) -> Tensor | None:
    return None if parameter is None else parameter.contiguous()


def _writable(running: Running, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor | None] | tuple[()]:
    """Returns the running statistics and the count of batches, if compiled code can write to them."""
    mean, variance, batches, momentum = running
    plain = all(kept.dtype is dtype and kept.is_contiguous() for kept in (mean, variance))
    counted = batches is not None and batches.dtype is torch.int64
    return (mean, variance, batches) if plain and (counted or batches is None is not momentum) else ()


def _place(images: Tensor | None) -> tuple[int | None, int]:
    """Returns the address of the first row, and the distance between rows."""
    if images is None:
        return None, 0
    rows = _rows(images)
    return rows.data_ptr(), rows.stride(0)


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of this file's C code. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype, _CONSTANTS)

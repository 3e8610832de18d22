"""Batch normalisation by compiled code (batch_norm.c): the statistics in one pass over memory, every
result in another."""

import contextlib
import ctypes
import math
from pathlib import Path

import torch
from torch import Tensor

from nets.engine.kernels.batch_norm import BatchNormKernel, OperatorBatchNorm
from nets.engine.kernels.compiled import library
from nets.engine.kernels.compiled.library import NotCompiled

_SOURCE = Path(__file__).with_suffix(".c")
_BLOCK = 16  # rows that are summed in the element type; few enough that nothing is lost
_LEAST_BLOCKS = 8  # of a unit: its sums are memory too
_CACHE_LINE = 64  # bytes, beside rows: a power of two apart, they would compete for places in the cache
_UNITS = 8  # of work for each thread
_CONSTANTS = f"#define BLOCK {_BLOCK}\n"  # that batch_norm.c asks for

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("x", _Pointer),
        ("x_row", _Long),
        ("grad_out", _Pointer),
        ("grad_out_row", _Long),
        ("result", _Pointer),
        ("result_row", _Long),
        ("rows", _Long),
        ("channels", _Long),
        ("addend", _Pointer),
        ("addend_row", _Long),
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
        ("of_weight", _Pointer),
        ("of_bias", _Pointer),
        ("weight", _Pointer),
        ("shift", _Pointer),
        ("at_once", _Long),
        ("next", _Long),
    ]


class CompiledBatchNorm:
    """See :class:`nets.engine.kernels.batch_norm.BatchNormKernel`.

    Raises :class:`NotCompiled` when made where there is no compiler.
    """

    masks_gradient = True

    def __init__(self, channels: int, relu: bool, eps: float, dtype: torch.dtype) -> None:
        self._library = compiled(dtype)
        self._relu, self._eps = relu, eps
        self._by_batch = False
        self._adds = False
        self._mean = self._inverse_deviation = torch.zeros(channels, dtype=torch.float64)
        # mean, scale and bias of the result; gain, slope and offset of the gradient.
        real = library.ARITHMETIC[dtype]
        rows = torch.zeros(6, channels + _CACHE_LINE // real.itemsize, dtype=real)
        self._coefficients = rows[:, :channels]
        self._room = torch.empty(0, dtype=torch.float64)  # for sums

    def statistics(
        self, x: Tensor, running_mean: Tensor | None, running_variance: Tensor | None, momentum: float
    ) -> tuple[Tensor, Tensor]:
        """Returns mean and variance in float64."""
        job = self._job(_rows(x))
        mean, variance = torch.empty(2, job.channels, dtype=torch.float64).unbind()
        self._sum(self._library.sum_moments, job)
        job.exact_mean, job.variance = mean.data_ptr(), variance.data_ptr()
        self._library.find_statistics(ctypes.byref(job))
        if running_mean is not None and running_variance is not None:
            unbiased = job.rows / (job.rows - 1) if job.rows > 1 else math.nan
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
            running_variance.mul_(1 - momentum).add_(variance, alpha=momentum * unbiased)
        return mean, variance

    def forward(
        self,
        x: Tensor,
        mean: Tensor,
        variance: Tensor,
        by_batch: bool,
        weight: Tensor | None,
        bias: Tensor | None,
        out: Tensor,
        addend: Tensor | None = None,
    ) -> None:
        self._by_batch, self._adds = by_batch, addend is not None
        self._mean, self._inverse_deviation = mean.double(), (variance.double() + self._eps).rsqrt_()
        weight, bias = _contiguous(weight), _contiguous(bias)
        job = self._job(_rows(x), weight)
        job.shift = None if bias is None else bias.data_ptr()
        self._library.prepare_result(ctypes.byref(job))
        if addend is not None:
            added = _rows(addend)
            job.addend, job.addend_row = added.data_ptr(), added.stride(0)
        self._make(self._library.normalise, job, _rows(out))

    def input_gradient(
        self, x: Tensor, grad_out: Tensor, weight: Tensor | None, grad_in: Tensor
    ) -> tuple[Tensor, Tensor]:
        rows, gradients, weight = _rows(x), _rows(grad_out), _contiguous(weight)
        job = self._job(rows, weight)
        job.relu = self._relu and not self._adds
        job.grad_out, job.grad_out_row = gradients.data_ptr(), gradients.stride(0)
        self._sum(self._library.sum_gradients, job)
        of_weight, of_bias = torch.empty(2, job.channels, dtype=torch.float64).unbind()
        job.of_weight, job.of_bias = of_weight.data_ptr(), of_bias.data_ptr()
        self._library.prepare_gradient(ctypes.byref(job))
        self._make(self._library.input_gradient, job, _rows(grad_in))
        return of_weight, of_bias

    def _sum(self, function: object, job: _Job) -> None:
        units = -(-job.rows // job.at_once)
        if self._room.shape[0] < units:
            self._room = torch.empty(units, 2, job.channels, dtype=torch.float64)
        job.sums = self._room.data_ptr()
        library.run_on_all_threads(function, job)

    def _make(self, function: object, job: _Job, result: Tensor) -> None:
        job.result, job.result_row = result.data_ptr(), result.stride(0)
        job.next = 0
        library.run_on_all_threads(function, job)

    def _job(self, rows: Tensor, weight: Tensor | None = None) -> _Job:
        count, channels = rows.shape
        start, step = (
            self._coefficients.data_ptr(),
            self._coefficients.stride(0) * self._coefficients.element_size(),
        )
        blocks = -(-count // (_BLOCK * _UNITS * torch.get_num_threads()))
        return _Job(
            x=rows.data_ptr(),
            x_row=rows.stride(0),
            rows=count,
            channels=channels,
            mean=start,
            scale=start + step,
            bias=start + 2 * step,
            relu=self._relu,
            gain=start + 3 * step,
            slope=start + 4 * step,
            offset=start + 5 * step,
            by_batch=self._by_batch,
            exact_mean=self._mean.data_ptr(),
            inverse_deviation=self._inverse_deviation.data_ptr(),
            weight=None if weight is None else weight.data_ptr(),
            at_once=_BLOCK * max(_LEAST_BLOCKS, blocks),
        )


def batch_norm(channels: int, dimensions: int, relu: bool, eps: float, dtype: torch.dtype) -> BatchNormKernel:
    """Makes the kernel for tensors of so many dimensions: compiled code, or else PyTorch's operators."""
    if dimensions in (2, 4):
        with contextlib.suppress(NotCompiled):
            return CompiledBatchNorm(channels, relu, eps, dtype)
    return OperatorBatchNorm(relu, eps, dtype)


def _rows(tensor: Tensor) -> Tensor:
    """Shows (N, C, H, W), channels last, or (N, C), as rows with neighbouring channels; a view."""
    rows = tensor.permute(0, 2, 3, 1).view(-1, tensor.shape[1]) if tensor.dim() == 4 else tensor
    library.check_channels(rows)
    return rows


def _contiguous(parameter: Tensor | None) -> Tensor | None:
    return None if parameter is None else parameter.contiguous()


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of this file's C code. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype, _CONSTANTS)

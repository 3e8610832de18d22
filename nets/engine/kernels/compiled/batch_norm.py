"""Batch normalisation by compiled code (batch_norm.c): the statistics in one pass over memory, every
result in another."""

import contextlib
import ctypes
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
        ("eps", ctypes.c_double),
        ("unbiased", _Pointer),
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
        self._relu = relu
        self._adds = False
        self._statistics = torch.zeros(3, channels, dtype=torch.float64)
        self._mean, self._variance, inverse_deviation = self._statistics.unbind()
        # mean, scale and bias of the result; gain, slope and offset of the gradient; and what is asked for.
        real = library.ARITHMETIC[dtype]
        rows = torch.zeros(9, channels + _CACHE_LINE // real.itemsize, dtype=real)
        coefficients = [row[:channels] for row in rows]
        self._rounded_mean, self._unbiased, *self._of_parameters = (coefficients[i] for i in (0, 6, 7, 8))
        self._room = torch.empty(0, dtype=torch.float64)  # for sums
        names = ("mean", "scale", "bias", "gain", "slope", "offset", "unbiased", "of_weight", "of_bias")
        places = {name: row.data_ptr() for name, row in zip(names, coefficients, strict=True)}
        # What changes from call to call is filled in by each: to make a job takes as long as a small layer.
        self._job = _Job(
            channels=channels,
            exact_mean=self._mean.data_ptr(),
            variance=self._variance.data_ptr(),
            inverse_deviation=inverse_deviation.data_ptr(),
            eps=eps,
            **places,
        )

    def statistics(
        self, x: Tensor, running_mean: Tensor | None, running_variance: Tensor | None, momentum: float
    ) -> tuple[Tensor, Tensor]:
        """Returns mean and variance in float64, in memory that is used again."""
        job = self._over(x)
        self._sum(self._library.sum_moments)
        self._library.find_statistics(ctypes.byref(job))
        for running, found in ((running_mean, self._rounded_mean), (running_variance, self._unbiased)):
            if running is not None:
                running.lerp_(found.to(running.dtype), momentum)
        return self._mean, self._variance

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
        if mean is not self._mean or variance is not self._variance:
            self._mean.copy_(mean)
            self._variance.copy_(variance)
        job = self._over(x)
        job.relu, job.by_batch, self._adds = self._relu, by_batch, addend is not None
        weight, bias = _contiguous(weight), _contiguous(bias)
        job.weight, job.shift = _address(weight), _address(bias)
        self._library.prepare_result(ctypes.byref(job))
        added = None if addend is None else _rows(addend)
        job.addend, job.addend_row = _address(added), 0 if added is None else added.stride(0)
        self._make(self._library.normalise, out)

    def input_gradient(
        self, x: Tensor, grad_out: Tensor, weight: Tensor | None, grad_in: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Returns the gradients in memory that is used again."""
        job, gradients, weight = self._over(x), _rows(grad_out), _contiguous(weight)
        job.relu, job.weight = self._relu and not self._adds, _address(weight)
        job.grad_out, job.grad_out_row = gradients.data_ptr(), gradients.stride(0)
        self._sum(self._library.sum_gradients)
        self._library.prepare_gradient(ctypes.byref(job))
        self._make(self._library.input_gradient, grad_in)
        of_weight, of_bias = self._of_parameters
        return of_weight, of_bias

    def _over(self, x: Tensor) -> _Job:
        """Returns the job, for the rows of ``x``."""
        job, rows = self._job, _rows(x)
        count = rows.shape[0]
        blocks = -(-count // (_BLOCK * _UNITS * torch.get_num_threads()))
        job.x, job.x_row, job.rows = rows.data_ptr(), rows.stride(0), count
        job.at_once = _BLOCK * max(_LEAST_BLOCKS, blocks)
        return job

    def _sum(self, function: object) -> None:
        job = self._job
        units = -(-job.rows // job.at_once)
        if self._room.shape[0] < units:
            self._room = torch.empty(units, 2, job.channels, dtype=torch.float64)
        job.sums, job.next = self._room.data_ptr(), 0
        library.run_on_all_threads(function, job)

    def _make(self, function: object, result: Tensor) -> None:
        job, rows = self._job, _rows(result)
        job.result, job.result_row, job.next = rows.data_ptr(), rows.stride(0), 0
        library.run_on_all_threads(function, job)


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


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of this file's C code. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype, _CONSTANTS)

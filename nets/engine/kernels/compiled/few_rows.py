"""Products of few rows with a large weight, which is read once and not packed (few_rows.c)."""

import ctypes
from pathlib import Path

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import library
from convnet_benchmarks.nets.engine.kernels.compiled.caches import first_cache
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import LESS, NotCompiled

ROWS = range(1, 33)  # so many are not worth packing a weight for

_SOURCE = Path(__file__).with_suffix(".c")
_ROWS = 8  # of few_rows.c's, whose sums stay in registers
_MOST_BYTES = 32 << 10  # bytes of few_rows.c's buffer for a part of them
_OUTPUTS = 64  # per unit, at most: so that a block of the weight stays in the second-level cache
_INPUTS = 1024
_LANES = 16  # a multiple of a vector's elements
_UNITS = 2  # per thread, at least

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("rows", _Pointer),
        ("count", _Long),
        ("row", _Long),
        ("weight", _Pointer),
        ("outputs", _Long),
        ("inputs", _Long),
        ("weight_row", _Long),
        ("out", _Pointer),
        ("out_row", _Long),
        ("add", _Long),
        ("bias", _Pointer),
        ("relu", _Long),
        ("at_once", _Long),
        ("block", _Long),
        ("next", _Long),
    ]


def multiply_transposed(
    rows: Tensor,
    weight: Tensor,
    out: Tensor,
    add: bool = False,
    bias: Tensor | None = None,
    relu: bool = False,
) -> None:
    """Fills ``out`` (m, outputs) with ``rows`` (m, inputs) times the transpose of ``weight`` (outputs,
    inputs), or adds the product to it. Then adds ``bias`` (outputs,), and with ``relu`` sets negative results
    to 0.

    Raises :class:`NotCompiled`.
    """
    made = compiled(out.dtype, len(rows))
    if bias is not None and not bias.is_contiguous():
        raise ValueError("the numbers of a bias must be contiguous in memory")
    job = _job(rows, weight, out, add, len(weight), _OUTPUTS)
    job.bias = None if bias is None else bias.data_ptr()
    job.relu = relu
    size = min(_MOST_BYTES, first_cache() // 2)
    job.block = max(_LANES, size // (_ROWS * out.itemsize) // _LANES * _LANES)
    library.run_on_all_threads(made.multiply_transposed, job)


def multiply(rows: Tensor, weight: Tensor, out: Tensor, add: bool = False) -> None:
    """Fills ``out`` (m, inputs) with, or adds to it, ``rows`` (m, outputs) times ``weight`` (outputs,
    inputs).

    Raises :class:`NotCompiled`.
    """
    made = compiled(out.dtype, len(rows))
    library.run_on_all_threads(made.multiply_plain, _job(rows, weight, out, add, weight.shape[1], _INPUTS))


def _job(rows: Tensor, weight: Tensor, out: Tensor, add: bool, units: int, most: int) -> _Job:
    for matrix in (rows, weight, out):
        library.check_channels(matrix)
    share = -(-units // (_UNITS * torch.get_num_threads() * _LANES)) * _LANES
    return _Job(
        rows=rows.data_ptr(),
        count=len(rows),
        row=rows.stride(0),
        weight=weight.data_ptr(),
        outputs=weight.shape[0],
        inputs=weight.shape[1],
        weight_row=weight.stride(0),
        out=out.data_ptr(),
        out_row=out.stride(0),
        add=add,
        at_once=min(most, share),
    )


def compiled(dtype: torch.dtype, count: int) -> ctypes.CDLL:
    """Returns the library of few_rows.c for ``count`` rows. Raises :class:`NotCompiled`.

    For one row it has less in it, and is compiled in a third of the time.
    """
    if dtype is torch.bfloat16:
        raise NotCompiled(f"no products of few rows in {dtype}")
    return library.vector_library(_SOURCE, dtype, "#define ONE_ROW\n" if count == 1 else "", LESS)

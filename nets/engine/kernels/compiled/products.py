"""Batches of matrix products by compiled code (products.c).

For hundreds of rows and columns, as transformed tiles have them, BLAS libraries reach half to three quarters
of a core's peak; this code, which does only what is needed here, 90 %.
"""

import ctypes
from pathlib import Path

import torch
from torch import Tensor

from nets.engine.kernels.compiled import library
from nets.engine.kernels.compiled.library import NotCompiled
from nets.engine.memory import Memory

_SOURCE = Path(__file__).with_suffix(".c")
_ROWS = 1020  # of a unit, at most: enough to be worth packing what they are multiplied with
_ROWS_TOGETHER = 6  # products.c keeps their sums in registers
_UNITS = 4  # of work for each thread, at least
_CONSTANTS = f"#define ROWS {_ROWS_TOGETHER}\n"  # that products.c asks for

_Long, _Pointer = ctypes.c_long, ctypes.c_void_p


class _Job(ctypes.Structure):
    _fields_ = [
        ("a", _Pointer),
        ("a_product", _Long),
        ("a_row", _Long),
        ("a_inner", _Long),
        ("b", _Pointer),
        ("b_product", _Long),
        ("b_inner", _Long),
        ("b_column", _Long),
        ("out", _Pointer),
        ("out_product", _Long),
        ("out_row", _Long),
        ("products", _Long),
        ("rows", _Long),
        ("inner", _Long),
        ("columns", _Long),
        ("rows_at_once", _Long),
        ("add", _Long),
        ("bias", _Pointer),
        ("relu", _Long),
        ("panels", _Pointer),
        ("next", _Long),
    ]


def bmm(
    a: Tensor,
    b: Tensor,
    out: Tensor,
    add: bool = False,
    bias: Tensor | None = None,
    relu: bool = False,
    packed: Tensor | None = None,
) -> None:
    """Computes ``out`` (R, n, m) = ``a`` (R, n, k) times ``b`` (R, k, m), or plus that; ``bias`` (m,) is
    added, and with ``relu`` negative results become 0. Any strides, but for out's columns and the bias: they
    must be neighbours. ``packed``: what :func:`pack` made of ``b``. Raises :class:`NotCompiled`."""
    products, rows, inner = a.shape
    columns = b.shape[2]
    if (columns > 1 and out.stride(2) != 1) or (bias is not None and not bias.is_contiguous()):
        raise ValueError("columns of the result, and its bias, must be neighbours in memory")
    made = compiled(a.dtype)
    panels = products * -(-columns // made.panel_columns())
    job = _Job(
        a=a.data_ptr(),
        a_product=a.stride(0),
        a_row=a.stride(1),
        a_inner=a.stride(2),
        b=b.data_ptr(),
        b_product=b.stride(0),
        b_inner=b.stride(1),
        b_column=b.stride(2),
        out=out.data_ptr(),
        out_product=out.stride(0),
        out_row=out.stride(1),
        products=products,
        rows=rows,
        inner=inner,
        columns=columns,
        rows_at_once=_rows_at_once(rows, panels),
        add=add,
        bias=None if bias is None else bias.data_ptr(),
        relu=relu,
        panels=None if packed is None else packed.data_ptr(),
    )
    library.run_on_all_threads(made.multiply_all, job)


def pack(b: Tensor, out: Tensor | None, memory: Memory) -> Tensor:
    """Packs ``b`` (R, k, m), of any strides, as :func:`bmm` multiplies it.

    ``out``: an earlier result for the same shape, to be filled again. Raises :class:`NotCompiled`.
    """
    products, inner, columns = b.shape
    made = compiled(b.dtype)
    width = made.panel_columns()
    if out is None:
        out = memory.empty((products, -(-columns // width), inner, width), b.dtype)
    job = _Job(
        b=b.data_ptr(),
        b_product=b.stride(0),
        b_inner=b.stride(1),
        b_column=b.stride(2),
        products=products,
        inner=inner,
        columns=columns,
        panels=out.data_ptr(),
    )
    library.run_on_all_threads(made.pack_all, job)
    return out


def mm(
    a: Tensor,
    b: Tensor,
    out: Tensor,
    add: bool = False,
    bias: Tensor | None = None,
    relu: bool = False,
    packed: Tensor | None = None,
) -> None:
    """Computes :func:`bmm` of single matrices."""
    bmm(a[None], b[None], out[None], add, bias, relu, packed)


def why_not(dtype: torch.dtype) -> str:
    """Returns why there are no compiled products; empty if there are."""
    try:
        compiled(dtype)
    except NotCompiled as error:
        return str(error)
    return ""


def _rows_at_once(rows: int, panels: int) -> int:
    """Returns as many as are worth packing a panel for, unless some thread would then have nothing to do."""
    blocks = max(-(-rows // _ROWS), -(-_UNITS * torch.get_num_threads() // panels))
    return _ROWS_TOGETHER * max(1, -(-rows // (blocks * _ROWS_TOGETHER)))


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of the products. Raises :class:`NotCompiled`."""
    return library.vector_library(_SOURCE, dtype, _CONSTANTS)

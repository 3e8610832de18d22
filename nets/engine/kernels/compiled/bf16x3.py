"""Products of float32 matrices on the processor's bfloat16 matrix unit, by compiled code (bf16x3.c).

Intel's AMX adds up products of bfloat16 in float32, up to 16 times as fast as the vector units do those of
float32. Each number is split into two parts of bfloat16, to 2^-16 of it, and three of the four products of
parts are made: a term's error is at most 3 * 2^-16 of it. Infinite numbers give NaN.
"""

import ctypes
import platform
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from nets.engine.kernels.compiled import library
from nets.engine.kernels.compiled.library import NotCompiled
from nets.engine.kernels.compiled.products import Windows, check_columns
from nets.engine.memory import Memory

_SOURCE = Path(__file__).with_suffix(".c")
_PROCESSOR = Path("/proc/cpuinfo")  # by Linux
_NEEDED = {"amx_tile", "amx_bf16", "avx512f", "avx512bw", "avx512_bf16"}
_PANEL = 32  # rows or columns that are multiplied together
_ROWS = 256  # of a unit, at most, where what they are multiplied with comes packed
_COLUMNS = 512  # of a unit, at most, where it does not
_UNITS = 4  # of work for each thread, at least
_OF_A, _OF_B = 1, 2  # what is made of windows

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
        ("columns_at_once", _Long),
        ("add", _Long),
        ("bias", _Pointer),
        ("relu", _Long),
        ("panels", _Pointer),
        ("windows", _Long),
        ("row_offsets", _Pointer),
        ("run_offsets", _Pointer),
        ("run", _Long),
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
    added, and with ``relu`` negative results become 0. Columns of out and the bias must be neighbours in
    memory; so must be, of the other two, the rows or the columns. ``packed``: what :func:`pack` made of
    ``b``. Raises :class:`NotCompiled`."""
    job = _job(a.shape[2], out, add, bias, relu)
    job.a, job.a_product, job.a_row, job.a_inner = (a.data_ptr(), *a.stride())
    _check_lines(a)
    if packed is None:
        _check_lines(b)
        job.b_product, job.b_inner, job.b_column = b.stride()
        job.b = b.data_ptr()
    _run(job, packed)


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


def mm_of_windows(
    images: Tensor,
    windows: Windows,
    out: Tensor,
    add: bool,
    bias: Tensor | None,
    relu: bool,
    packed: Tensor,
) -> None:
    """Computes :func:`mm` where the rows of ``a`` are the ``windows`` of ``images``, and b is ``packed``, in
    runs of ``windows.run``."""
    job = _job(windows.inner, out[None], add, bias, relu)
    job.a, job.a_inner, job.windows = images.data_ptr(), 1, _OF_A
    _place(job, windows)
    _run(job, packed)


def mm_by_windows(a: Tensor, images: Tensor, windows: Windows, out: Tensor) -> None:
    """Computes :func:`mm` of ``a`` (n, positions) and the ``windows`` (positions, window) of ``images``.
    Raises ValueError for runs of neighbours that are not whole tiles."""
    if not whole_tiles(windows.run):
        raise ValueError("runs of neighbours must be whole tiles")
    job = _job(a.shape[1], out[None], False, None, False)
    job.a, job.a_row, job.a_inner = (a.data_ptr(), *a.stride())
    job.b, job.b_column, job.windows = images.data_ptr(), 1, _OF_B
    _place(job, windows)
    _run(job, None)


def pack(b: Tensor, out: Tensor | None, memory: Memory, run: int | None = None) -> Tensor:
    """Packs ``b`` (R, k, m), its rows or columns neighbours in memory, as :func:`bmm` multiplies it.

    ``run``: of the windows that it is multiplied with. ``out``: an earlier result for the same shape, to be
    filled again. Raises :class:`NotCompiled`.
    """
    products, inner, columns = b.shape
    made = compiled(b.dtype)
    _check_lines(b)
    job = _Job(products=products, inner=inner, columns=columns, run=run or inner, windows=_OF_A if run else 0)
    job.b, job.b_product, job.b_inner, job.b_column = (b.data_ptr(), *b.stride())
    steps = inner // job.run * -(-job.run // _PANEL)
    if out is None:
        out = memory.empty((products, -(-columns // _PANEL), steps, made.block_size()), torch.bfloat16)
    job.panels = out.data_ptr()
    library.run_on_all_threads(made.pack_all, job)
    return out


def _run(job: _Job, packed: Tensor | None) -> None:
    job.panels = None if packed is None else packed.data_ptr()
    job.rows_at_once, job.columns_at_once = _sides_at_once(
        job.products, job.rows, job.columns, packed is not None
    )
    library.run_on_all_threads(compiled(torch.float32).multiply_all, job)


def why_not(dtype: torch.dtype) -> str:
    """Returns why there are no such products; empty if there are."""
    try:
        compiled(dtype)
    except NotCompiled as error:
        return str(error)
    return ""


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of the products. Raises :class:`NotCompiled`."""
    if dtype is not torch.float32:
        raise NotCompiled(f"bf16x3 multiplies float32, not {dtype}")
    if not _has_matrix_unit():
        raise NotCompiled("bf16x3 needs a processor with a matrix unit (amx_bf16)")
    made = library.vector_library(_SOURCE, dtype)
    if _not_permitted(made):
        raise NotCompiled("the system does not permit the use of the processor's matrix unit")
    return made


def whole_tiles(run: int) -> bool:
    """Returns whether :func:`mm_by_windows` can take windows with runs of so many neighbours."""
    return run % (_PANEL // 2) == 0


def _job(inner: int, out: Tensor, add: bool, bias: Tensor | None, relu: bool) -> _Job:
    """Describes the work to C, but for where the factors lie."""
    check_columns(out, bias)
    products, rows, columns = out.shape
    return _Job(
        out=out.data_ptr(),
        out_product=out.stride(0),
        out_row=out.stride(1),
        products=products,
        rows=rows,
        inner=inner,
        columns=columns,
        add=add,
        bias=None if bias is None else bias.data_ptr(),
        relu=relu,
    )


def _check_lines(matrix: Tensor) -> None:
    if 1 not in matrix.stride()[1:]:
        raise ValueError("the rows or the columns of a matrix must be neighbours in memory")


def _place(job: _Job, windows: Windows) -> None:
    job.row_offsets, job.run_offsets = windows.rows.data_ptr(), windows.runs.data_ptr()
    job.run = windows.run


def _sides_at_once(products: int, rows: int, columns: int, packed: bool) -> tuple[int, int]:
    """Returns how many rows and columns of a result make a unit: many, unless some thread would then have
    nothing to do. Rows are split once for all columns of a unit, and what is not packed for its rows."""
    threads = torch.get_num_threads()
    wanted = _UNITS * threads if packed and threads > 1 else threads
    down, across = (-(-rows // _ROWS), 1) if packed else (1, -(-columns // _COLUMNS))
    while products * down * across < wanted and max(rows // down, columns // across) > _PANEL:
        if rows // down >= columns // across:
            down *= 2
        else:
            across *= 2
    high, wide = (-(-size // (parts * _PANEL)) * _PANEL for size, parts in ((rows, down), (columns, across)))
    return high, wide


@cache
def _has_matrix_unit() -> bool:
    if platform.system() != "Linux":
        return False
    try:
        told = next(line for line in _PROCESSOR.read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        return False
    return set(told.split()) >= _NEEDED


@cache
def _not_permitted(made: ctypes.CDLL) -> bool:
    return bool(made.not_permitted())

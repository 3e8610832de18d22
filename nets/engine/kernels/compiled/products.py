"""Batches of matrix products by compiled code (products.c).

For the hundreds of rows and columns of transformed tiles, BLAS libraries reach half to three quarters of a
core's peak; this specialized code reaches 90 %.
"""

import ctypes
import math

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels.compiled import early, library
from convnet_benchmarks.nets.engine.kernels.compiled.caches import first_cache, second_cache
from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled
from convnet_benchmarks.nets.engine.memory import Memory

_ROWS = 1020  # per unit, at most: enough to be worth packing the other factor
_OF_SECOND_CACHE = 1 / 3  # for rows that are multiplied with several panels in turn
_ROWS_OF_THREAD = 64  # are worth reading all packed panels for
_COLUMNS_PACKED = 512  # at a time, at most
_UNITS = 4  # of work for each thread, at least

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
        ("inner_at_once", _Long),
        ("add", _Long),
        ("bias", _Pointer),
        ("relu", _Long),
        ("panels", _Pointer),
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
    """Computes ``out`` (R, n, m) = ``a`` (R, n, k) times ``b`` (R, k, m), or adds the product to it; then
    adds ``bias`` (m,), and with ``relu`` sets negative results to 0. Any strides are accepted, but out's
    columns and the bias must be contiguous. ``packed``: the result of :func:`pack` for ``b``. Raises
    :class:`NotCompiled`."""
    products, rows, inner = a.shape
    columns = b.shape[2]
    check_columns(out, bias)
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
        rows_at_once=_rows_at_once(rows, panels, inner * a.itemsize if packed is not None else 0),
        add=add,
        bias=None if bias is None else bias.data_ptr(),
        relu=relu,
        panels=None if packed is None else packed.data_ptr(),
        inner_at_once=_inner_at_once(),
    )
    by_lines = packed is None and bias is None and not relu and a.stride(1) == 1 != a.stride(2)
    if by_lines and (b.stride(2) == 1 or columns == 1):
        lines = made.line_rows(), made.line_columns()
        job.rows_at_once, job.columns_at_once = _sides_at_once(products, rows, columns, lines)
        library.run_on_all_threads(made.multiply_columns, job)
    else:
        library.run_on_all_threads(made.multiply_all, job)


class Windows:
    """The windows of a convolution over images (N, H, W, C), as rows (N * H' * W', window) that are scattered
    in memory.

    ``images`` includes its padding; channels are contiguous. The order within a window is (row, column,
    channel).
    """

    def __init__(self, images: Tensor, kernel: tuple[int, int], stride: tuple[int, int]) -> None:
        library.check_channels(images)
        (count, height, width, channels), steps = images.shape, images.stride()
        extents = zip((height, width), kernel, stride, strict=True)
        self.positions = (count, *((size - taps) // step + 1 for size, taps, step in extents))
        self.apart = stride[1] * steps[2]  # neighbouring windows
        # Adjacent pixels, with all their channels, are one contiguous run.
        self.run, columns = (kernel[1] * channels, 1) if steps[2] == channels else (channels, kernel[1])
        self.inner = math.prod(kernel) * channels
        self.rows = _offsets(self.positions, (steps[0], stride[0] * steps[1], self.apart))
        self.runs = _offsets((kernel[0], columns), (steps[1], steps[2]))


def _offsets(size: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """Returns the offset of each element of a tensor, in order."""
    found = torch.zeros((), dtype=torch.int64)
    for count, stride in zip(size, strides, strict=True):
        found = found[..., None] + stride * torch.arange(count)
    return found.flatten()


def mm_of_windows(
    images: Tensor,
    windows: Windows,
    out: Tensor,
    add: bool,
    bias: Tensor | None,
    relu: bool,
    packed: Tensor,
) -> None:
    """Computes :func:`mm` where the rows of ``a`` are the ``windows`` of ``images``, and ``packed`` replaces
    ``b``."""
    rows, columns = out.shape
    check_columns(out, bias)
    made = compiled(out.dtype)
    job = _Job(
        a=images.data_ptr(),
        a_row=windows.apart,
        a_inner=1,
        out=out.data_ptr(),
        out_row=out.stride(0),
        products=1,
        rows=rows,
        inner=windows.inner,
        columns=columns,
        rows_at_once=_rows_at_once(
            rows, -(-columns // made.panel_columns()), windows.apart * images.itemsize
        ),
        add=add,
        bias=None if bias is None else bias.data_ptr(),
        relu=relu,
        panels=packed.data_ptr(),
        inner_at_once=_inner_at_once(),
        row_offsets=windows.rows.data_ptr(),
        run_offsets=windows.runs.data_ptr(),
        run=windows.run,
    )
    library.run_on_all_threads(made.multiply_all, job)


def check_columns(out: Tensor, bias: Tensor | None) -> None:
    """Raises ValueError if the rows of ``out``, or ``bias``, are not contiguous."""
    if (out.shape[-1] > 1 and out.stride(-1) != 1) or (bias is not None and not bias.is_contiguous()):
        raise ValueError("columns of the result, and its bias, must be contiguous in memory")


def pack(b: Tensor, out: Tensor | None, memory: Memory) -> Tensor:
    """Packs ``b`` (R, k, m), of any strides, for :func:`bmm`.

    ``out``: an earlier result for the same shape, to be overwritten. Raises :class:`NotCompiled`.
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


def _inner_at_once() -> int:
    """Returns how much of the inner index is multiplied at a time. If the first-level cache has space for
    that part of a panel and of the rows, as much as fits. Otherwise the panel comes from the second-level
    cache anyway, and long parts mean fewer additions to the result."""
    return 128 if first_cache() >= 48 << 10 else 1024


def _rows_at_once(rows: int, panels: int, row_bytes: int) -> int:
    """Returns as many rows as are worth packing a panel for, unless some thread would then have nothing to
    do. For panels that are already packed: as many as stay in the second-level cache (``row_bytes`` each)
    from one panel to the next, and only rows of the same thread, which finds them in its cache in the next
    layer, too. Reading them from another core's cache takes longer than reading all panels from the shared
    cache."""
    threads = torch.get_num_threads()
    most = _ROWS
    if row_bytes:
        most = max(early.ROWS_TOGETHER, min(most, int(second_cache() * _OF_SECOND_CACHE) // row_bytes))
    blocks = max(-(-rows // most), -(-_UNITS * threads // panels))
    if row_bytes and rows >= _ROWS_OF_THREAD * threads:
        blocks = max(blocks, threads)
    share = threads // math.gcd(panels, threads)
    blocks = -(-blocks // share) * share  # the same number of units for each thread
    return early.ROWS_TOGETHER * max(1, -(-rows // (blocks * early.ROWS_TOGETHER)))


def _sides_at_once(products: int, rows: int, columns: int, lines: tuple[int, int]) -> tuple[int, int]:
    """Returns how many rows and columns of a result make a unit: as many columns as are packed at a time, and
    all rows, unless some thread would then have nothing to do. Both are multiples of ``lines``."""
    down, across = 1, -(-columns // _COLUMNS_PACKED)
    threads = torch.get_num_threads()
    while products * down * across < threads and max(rows // down, columns // across) > max(lines):
        if rows // down >= columns // across:
            down *= 2
        else:
            across *= 2
    sides = zip((rows, columns), (down, across), lines, strict=True)
    high, wide = (-(-size // (parts * tile)) * tile for size, parts, tile in sides)
    return high, wide


def compiled(dtype: torch.dtype) -> ctypes.CDLL:
    """Returns the library of the products. Raises :class:`NotCompiled`."""
    if dtype is torch.bfloat16:
        raise NotCompiled(f"no compiled products in {dtype}: oneDNN multiplies near the peak")
    return library.vector_library(early.PRODUCTS, dtype, early.CONSTANTS, early.LEVEL)

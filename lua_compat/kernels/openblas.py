"""Products of matrices by the BLAS inside numpy, on processors where it is faster than PyTorch's.

PyTorch's library holds Intel's BLAS, which computes on AMD's processors with half of their width; numpy's
OpenBLAS takes half to three quarters of its time there for doubles. For floats it is the faster one unless
the second factor is a transposed matrix. It is given one thread here: larger products are PyTorch's where
that may use several. LuaJIT calls the same routines (lua/torch/blas.lua), for the same bits.
"""

import ctypes
import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lua_compat.kernels.strings import to_lua
from lua_compat.kernels.system import get_num_cores, is_amd

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["computes_alone", "product_library"]
SANDBOXED = __all__

# Multiplications of a product that one thread computes, however many there are: a fifth of a millisecond.
# LuaJIT has the same bound.
MOST_ALONE = 1 << 22

# What the names of its routines begin with; they end with 64_: whole numbers have 64 bits.
_PREFIXES = ("scipy_", "")

_NUMBER_OF_THREADS = "OPENBLAS_NUM_THREADS"


def product_library() -> tuple[str, str]:
    """Returns the path of numpy's BLAS and what the names of its routines begin with, empty strings where
    PyTorch's is as fast, or numpy has another. It is loaded, and computes with one thread from then on."""
    loaded = _load()
    return (to_lua(loaded[0]), loaded[1]) if loaded else ("", "")


def computes_alone() -> bool:
    """Returns whether PyTorch computes, or would if it were loaded, with one thread."""
    count = getattr(sys.modules.get("torch"), "get_num_threads", None)
    if count is not None:
        return bool(count() == 1)
    wanted = os.environ.get("OMP_NUM_THREADS") or os.environ.get("MKL_NUM_THREADS")
    return (wanted or str(get_num_cores())) == "1"


def multiply(
    out: "Tensor", a: "Tensor", b: "Tensor", beta: float, alpha: float, t: "Tensor | None" = None
) -> bool:
    """Computes ``out = beta * t + alpha * a @ b`` of matrices in main memory and returns True; False, with
    nothing done, where that is for PyTorch: other types and layouts, large products on several threads.
    ``t``: ``out``, if it is not given."""
    bits = 8 * out.element_size()
    if bits < 32 or not out.is_floating_point() or not a.dtype == b.dtype == out.dtype:
        return False
    (rows, inner), columns = a.shape, b.shape[1]
    if rows * inner * columns > MOST_ALONE and not computes_alone():
        return False
    of_a = _seen(rows, a.stride(0), inner, a.stride(1))
    of_b = _seen(inner, b.stride(0), columns, b.stride(1))
    if not of_a or not of_b or out.numel() == 0:
        return False
    in_place = beta == 0 or t is None or (t.data_ptr() == out.data_ptr() and t.stride() == out.stride())
    if in_place and (out.stride(1) != 1 or out.stride(0) < columns):
        return False
    if bits == 32 and of_b[0] == b"t":
        return False
    gemm = _gemm("d" if bits == 64 else "s")
    if gemm is None:
        return False
    result = out if in_place or t is None else t.new_empty(t.shape).copy_(t)
    number = ctypes.c_double if bits == 64 else ctypes.c_float
    # row by row is column by column of the transposed product
    sizes = map(ctypes.c_int64, (columns, rows, inner, of_b[1], of_a[1], result.stride(0)))
    m, n, k, b_step, a_step, step = map(ctypes.byref, sizes)
    numbers = map(ctypes.byref, map(number, (alpha, beta)))
    p, q, r = (ctypes.c_void_p(one.data_ptr()) for one in (b, a, result))
    gemm(of_b[0], of_a[0], m, n, k, next(numbers), p, b_step, q, a_step, next(numbers), r, step)
    if result is not out:
        out.copy_(result)
    return True


def _seen(rows: int, row: int, columns: int, column: int) -> tuple[bytes, int] | None:
    """Returns how the routine, for which columns lie one after the other, sees the transposed matrix, and
    the step to its next column; None where elements lie apart in both directions."""
    if column == 1 and row >= columns:
        return b"n", row
    if row == 1 and column >= rows:
        return b"t", column
    return None


@cache
def _load() -> tuple[str, str, ctypes.CDLL] | None:
    """Returns the library's path, what the names of its routines begin with, and the library."""
    numpy = find_spec("numpy") if is_amd() else None
    for folder in numpy.submodule_search_locations or () if numpy else ():
        for path in sorted(Path(folder).parent.glob("numpy.libs/lib*openblas64_*.so")):
            before = os.environ.get(_NUMBER_OF_THREADS)
            os.environ[_NUMBER_OF_THREADS] = "1"  # it starts its threads while it is loaded
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            finally:
                del os.environ[_NUMBER_OF_THREADS]
                if before is not None:
                    os.environ[_NUMBER_OF_THREADS] = before
            for prefix in _PREFIXES:
                set_threads = f"{prefix}openblas_set_num_threads64_"
                if hasattr(library, set_threads) and hasattr(library, f"{prefix}dgemm_64_"):
                    getattr(library, set_threads)(1)
                    return str(path), prefix, library
    return None


@cache
def _gemm(letter: str) -> Any:
    loaded = _load()
    return loaded and getattr(loaded[2], f"{loaded[1]}{letter}gemm_64_")

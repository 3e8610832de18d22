"""Products of matrices by the BLAS inside numpy, on processors where it is faster than PyTorch's.

PyTorch contains Intel's BLAS, which uses half the vector width on AMD's processors. numpy's OpenBLAS takes
half to three quarters of its time there for doubles, and for a matrix times a vector. Floats take no
longer, and it loads in a hundredth of the time. It gets one thread here: larger products go to PyTorch if
that may use several. LuaJIT calls the same routines (lua/torch/luajit/blas.lua), for the same bits.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from importlib.util import find_spec

from lua_compat.kernels.strings import to_lua
from lua_compat.kernels.system import get_num_cores, is_amd

TYPE_CHECKING = False  # typing is not loaded for a small script
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

__all__ = ["computes_alone", "product_library"]
SANDBOXED = __all__

# A product of up to this many multiplications is computed by one thread (a fifth of a millisecond), however
# many there are. LuaJIT has the same bound.
MOST_ALONE = 1 << 22

# The letter of a type in the routines' names, by the bytes of a number.
_LETTERS = {4: "s", 8: "d"}

# Prefixes of its routines' names. They end with 64_, because integers have 64 bits.
_PREFIXES = ("scipy_", "")

_NUMBER_OF_THREADS = "OPENBLAS_NUM_THREADS"


def product_library() -> tuple[str, str]:
    """Returns the path of numpy's BLAS and the prefix of its routines' names; empty strings where PyTorch's
    is as fast, or numpy has another. From then on it is loaded, and computes with one thread."""
    loaded = _load()
    return (to_lua(loaded[0]), loaded[1]) if loaded else ("", "")


def computes_alone() -> bool:
    """Returns whether PyTorch computes with one thread, or would if it were loaded."""
    count = getattr(sys.modules.get("torch"), "get_num_threads", None)
    if count is not None:
        return bool(count() == 1)
    wanted = os.environ.get("OMP_NUM_THREADS") or os.environ.get("MKL_NUM_THREADS")
    return (wanted or str(get_num_cores())) == "1"


def multiply(out: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float, t: Tensor | None = None) -> bool:
    """Computes ``out = beta * t + alpha * a @ b`` of matrices in main memory and returns True. Returns False,
    with nothing done, for what PyTorch computes: other types and layouts, large products on several threads.
    ``t``: ``out`` by default."""
    (rows, inner), columns = a.shape, b.shape[1]
    gemm = _routine_for("gemm", rows * inner * columns, out, a, b)
    of_a = _seen(rows, a.stride(0), inner, a.stride(1))
    of_b = _seen(inner, b.stride(0), columns, b.stride(1))
    if gemm is None or not of_a or not of_b:
        return False
    result = _begun(out, beta, t)
    if result.stride(1) != 1 or result.stride(0) < columns:
        return False
    # a row-major product is the transposed product in column-major order
    m, n, k, b_step, a_step, step = _sizes(columns, rows, inner, of_b[1], of_a[1], result.stride(0))
    factor, of_t = _numbers(out, alpha, beta)
    p, q, r = _places(a, b, result)
    gemm(of_b[0], of_a[0], m, n, k, factor, q, b_step, p, a_step, of_t, r, step)
    return _finish(out, result)


def multiply_vector(
    out: Tensor, a: Tensor, b: Tensor, beta: float, alpha: float, t: Tensor | None = None
) -> bool:
    """Computes the same of a matrix ``a`` and a vector ``b``."""
    rows, inner = a.shape
    gemv = _routine_for("gemv", rows * inner, out, a, b)
    transposed = _seen(inner, a.stride(1), rows, a.stride(0))
    if gemv is None or not transposed or b.stride(0) < 1:
        return False
    result = _begun(out, beta, t)
    if result.stride(0) < 1:
        return False
    if beta == 0:
        result.zero_()  # some versions multiply a NaN by zero
    kind, a_step = transposed
    sizes = (rows, inner) if kind == b"n" else (inner, rows)
    m, n, step, b_step, out_step = _sizes(*sizes, a_step, b.stride(0), result.stride(0))
    factor, of_t = _numbers(out, alpha, beta)
    p, q, r = _places(a, b, result)
    gemv(kind, m, n, factor, p, step, q, b_step, of_t, r, out_step)
    return _finish(out, result)


def _routine_for(name: str, work: int, out: Tensor, *factors: Tensor) -> Any:
    """Returns the routine for ``work`` multiplications of ``out``'s type; None: PyTorch computes them."""
    letter = _LETTERS.get(out.dtype.itemsize) if out.is_floating_point() else None
    if letter is None or any(t.dtype != out.dtype for t in factors):
        return None
    if work == 0 or (work > MOST_ALONE and not computes_alone()):
        return None
    return _routine(letter + name)


def _begun(out: Tensor, beta: float, t: Tensor | None) -> Tensor:
    """Returns ``out`` if it is ``t`` or ``beta`` is 0; otherwise a copy of ``t``."""
    if beta == 0 or t is None or (t.data_ptr() == out.data_ptr() and t.stride() == out.stride()):
        return out
    return t.new_empty(t.shape).copy_(t)


def _finish(out: Tensor, result: Tensor) -> bool:
    if result is not out:
        out.copy_(result)
    return True


def _sizes(*sizes: int) -> list[Any]:
    return [ctypes.byref(ctypes.c_int64(size)) for size in sizes]


def _numbers(out: Tensor, *numbers: float) -> list[Any]:
    number = ctypes.c_double if out.dtype.itemsize == 8 else ctypes.c_float
    return [ctypes.byref(number(value)) for value in numbers]


def _places(*tensors: Tensor) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(t.data_ptr()) for t in tensors]


def _seen(rows: int, row: int, columns: int, column: int) -> tuple[bytes, int] | None:
    """Returns the transposition flag with which the routine, which expects columns, reads the transposed
    matrix, and the step to its next column; None if neither dimension is contiguous."""
    if column == 1 and row >= columns:
        return b"n", row
    if row == 1 and column >= rows:
        return b"t", column
    return None


@cache
def _load() -> tuple[str, str, ctypes.CDLL] | None:
    """Returns the library's path, the prefix of its routines' names, and the library."""
    numpy = find_spec("numpy") if is_amd() else None
    for folder in numpy.submodule_search_locations or () if numpy else ():
        for path in _libraries(os.path.join(os.path.dirname(folder), "numpy.libs")):
            before = os.environ.get(_NUMBER_OF_THREADS)
            os.environ[_NUMBER_OF_THREADS] = "1"  # it starts its threads while it is loaded
            try:
                library = ctypes.CDLL(path)
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
                    return path, prefix, library
    return None


def _libraries(folder: str) -> list[str]:
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else ()
    return [os.path.join(folder, name) for name in names if "openblas64_" in name and name.endswith(".so")]


@cache
def _routine(name: str) -> Any:
    """Returns BLAS's routine of a name; None if there is none."""
    loaded = _load()
    return getattr(loaded[2], f"{loaded[1]}{name}_64_", None) if loaded else None

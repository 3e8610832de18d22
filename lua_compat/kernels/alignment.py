"""Matrix products whose bits do not depend on the addresses of their factors.

At some addresses, the BLAS behind PyTorch adds up in another order (system.py tells which). After
getParameters a layer's weight often has such an address, and so have rows of a matrix. Such a factor or
result is copied first.
"""

import torch
from torch import Tensor

from lua_compat.kernels import openblas
from lua_compat.kernels.system import blas_alignments

# A larger factor of a product of many rows is not copied: the copy would cost more than the last bit is
# worth.
_COPIED_BYTES = 4 << 20
# For a matrix times a vector, this much is copied at a time, so that the copy stays in the cache.
_PIECE_BYTES = 256 << 10
# Each row of such a product is computed independently of the others; 16 keep the result aligned.
_ROWS = 16


def _is_good_factor(t: Tensor) -> bool:
    return not t.dtype.is_floating_point or t.is_cuda or t.data_ptr() % blas_alignments()[0] == 0


def _is_good_result(t: Tensor) -> bool:
    factor, float_result = blas_alignments()
    return t.data_ptr() % (float_result if t.dtype is torch.float32 else factor) == 0


def _room_like(t: Tensor) -> Tensor:
    """Returns an aligned tensor of the same sizes and, unless one is 0, strides."""
    if any(stride == 0 and size > 1 for size, stride in zip(t.shape, t.stride(), strict=True)):
        return torch.empty(t.shape, dtype=t.dtype)
    return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype)


def aligned(t: Tensor) -> Tensor:
    """Returns t as a factor, or a copy of it if its address would give other bits."""
    if _is_good_factor(t) or t.nbytes > _COPIED_BYTES:
        return t
    return _room_like(t).copy_(t)


def multiply(
    out: Tensor, a: Tensor, b: Tensor, beta: float = 0, t: Tensor | None = None, alpha: float = 1
) -> None:
    """Writes ``beta * t + alpha * a @ b`` to out: of two matrices or a matrix and a vector.

    t: of out's sizes, which it may be itself; None: zeros.
    """
    if out.is_cuda:
        _add(out, a, b, beta, t, alpha)
    elif b.dim() == 1:
        _times_vector(out, a, b, beta, t, alpha)
    elif b.shape[1] == 1 and a.shape[0] > 1:
        _times_vector(out[:, 0], a, b[:, 0], beta, None if t is None else t[:, 0], alpha)
    elif a.shape[0] == 1:
        _times_vector(out[0], b.t(), a[0], beta, None if t is None else t[0], alpha)
    elif _is_good_result(out) or out.nbytes > _COPIED_BYTES:
        _add(out, aligned(a), aligned(b), beta, t, alpha)
    else:
        result = _room_like(out)
        _add(result, aligned(a), aligned(b), beta, t, alpha)
        out.copy_(result)


def _add(out: Tensor, a: Tensor, b: Tensor, beta: float, t: Tensor | None, alpha: float) -> None:
    if b.dim() == 2 and not out.is_cuda and openblas.multiply(out, a, b, 0 if t is None else beta, alpha, t):
        return
    if t is None:
        (torch.mv if b.dim() == 1 else torch.mm)(a, b, out=out)
    else:
        (torch.addmv if b.dim() == 1 else torch.addmm)(t, a, b, beta=beta, alpha=alpha, out=out)


def _times_vector(out: Tensor, a: Tensor, b: Tensor, beta: float, t: Tensor | None, alpha: float) -> None:
    if openblas.multiply_vector(out, a, b, 0 if t is None else beta, alpha, t):
        return
    b = aligned(b)
    if not _is_good_result(out):
        result = torch.empty(out.shape, dtype=out.dtype)
        _times_vector(result, a, b, beta, t, alpha)
        out.copy_(result)
        return
    if _is_good_factor(a) or a.stride(1) != 1:
        _add(out, a, b, beta, t, alpha)
        return
    rows = max(_ROWS, _PIECE_BYTES // max(1, a[0].nbytes) // _ROWS * _ROWS)
    for first in range(0, a.shape[0], rows):
        part = slice(first, first + rows)
        piece = _room_like(a[part]).copy_(a[part])
        _add(out[part], piece, b, beta, None if t is None else t[part], alpha)

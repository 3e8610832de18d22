"""Products of vectors and matrices, and LAPACK's functions as Torch7 names them.

LAPACK's results may have any size, so they are ``Out``. ``uplo`` 'U' or 'L' selects the triangle.
"""

import torch
from torch import Tensor

from lua_compat.kernels.alignment import multiply
from lua_compat.kernels.results import Out, write

__all__ = [
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "eig", "gels", "geqrf",
    "ger", "gesv", "inverse", "mm", "mv", "orgqr", "ormqr", "potrf", "potri", "potrs", "pstrf", "qr",
    "squared_distances", "svd", "symeig", "trtrs",
]  # fmt: skip
SANDBOXED = __all__


def _write(out: Tensor, result: Tensor, argument: Tensor | None = None) -> None:
    """Writes a result. Matrices get LAPACK's layout, column by column; one that replaces the ``argument``
    keeps its own, because Torch7 has LAPACK compute it in a copy."""
    if out is not argument and result.dim() == 2 and (out.shape != result.shape or out.is_contiguous()):
        out.resize_(result.shape[::-1])
        out.t_()
    write(out, result)


def dot(a: Tensor, b: Tensor) -> float:
    if a.dtype.is_floating_point:
        return torch.dot(a.reshape(-1), b.reshape(-1)).item()
    return (a.reshape(-1).long() * b.reshape(-1).long()).sum().item()


def mv(out: Tensor, a: Tensor, b: Tensor) -> None:
    multiply(out, a, b)


def mm(out: Tensor, a: Tensor, b: Tensor) -> None:
    multiply(out, a, b)


def _rows(t: Tensor) -> Tensor:
    """Returns a batch of single columns as a batch of single rows."""
    return t[:, :, 0].unsqueeze(1)


def _plain(t: Tensor) -> Tensor:
    """Gives matrices of one row the strides of contiguous ones: PyTorch would treat others as transposed."""
    return t[:, 0].unsqueeze(1) if t.shape[1] == 1 else t


def _factors(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, bool]:
    """Returns the factors of each product of matrices, and whether they give its transpose. PyTorch computes
    a row times a matrix by a vector's routine, which is faster; it has none for a column."""
    if b.shape[2] == 1:
        return _rows(b).contiguous(), a.mT, True
    return _plain(a), _plain(b), False


def bmm(out: Tensor, a: Tensor, b: Tensor) -> None:
    left, right, transposed = _factors(a, b)
    torch.bmm(left, right, out=_rows(out) if transposed else out)


def ger(out: Tensor, a: Tensor, b: Tensor) -> None:
    torch.outer(a, b, out=out)


def _scale(value: float, t: Tensor) -> float:
    return value if t.dtype.is_floating_point else int(value)


def addmv(out: Tensor, beta: float, t: Tensor, alpha: float, a: Tensor, b: Tensor) -> None:
    """Computes out = beta * t + alpha * a @ b; the following functions are alike."""
    multiply(out, a, b, _scale(beta, t), t, _scale(alpha, t))


def addmm(out: Tensor, beta: float, t: Tensor, alpha: float, a: Tensor, b: Tensor) -> None:
    multiply(out, a, b, _scale(beta, t), t, _scale(alpha, t))


def addr(out: Tensor, beta: float, t: Tensor, alpha: float, a: Tensor, b: Tensor) -> None:
    torch.addr(t, a, b, beta=_scale(beta, t), alpha=_scale(alpha, t), out=out)


def addbmm(out: Tensor, beta: float, t: Tensor, alpha: float, a: Tensor, b: Tensor) -> None:
    torch.addbmm(t, a, b, beta=_scale(beta, t), alpha=_scale(alpha, t), out=out)


def baddbmm(out: Tensor, beta: float, t: Tensor, alpha: float, a: Tensor, b: Tensor) -> None:
    left, right, transposed = _factors(a, b)
    if transposed:
        out, t = _rows(out), _rows(t)
    torch.baddbmm(t, left, right, beta=_scale(beta, t), alpha=_scale(alpha, t), out=out)


def _columns(b: Tensor) -> Tensor:
    return b.unsqueeze(1) if b.dim() == 1 else b


def gesv(solution: Out, factors: Out, b: Tensor, a: Tensor) -> None:
    """Returns the solution of a x = b, and a's LU factors in one matrix."""
    lu, pivots, info = torch.linalg.lu_factor_ex(a)
    if info.item() > 0:
        raise ValueError(f"Lapack Error in gesv : U({info.item()},{info.item()}) is zero, singular U.")
    _write(solution, torch.linalg.lu_solve(lu, pivots, _columns(b)), b)
    _write(factors, lu, a)


def gels(solution: Out, factors: Out, b: Tensor, a: Tensor) -> None:
    """Finds the least-squares (more rows than columns) or least-norm solution of a x = b, a's QR or LQ."""
    rows, columns = a.shape
    right = _columns(b)
    wide = rows < columns
    packed, tau = torch.geqrf(a.T if wide else a)
    if wide:
        triangle = packed[:rows].triu()
        y = torch.linalg.solve_triangular(triangle.T, right, upper=False)
        padded = torch.cat([y, y.new_zeros(columns - rows, y.shape[1])])
        _write(solution, torch.ormqr(packed, tau, padded), b)
        _write(factors, packed.T, a)
        return
    left = torch.ormqr(packed, tau, right, transpose=True)
    x = torch.linalg.solve_triangular(packed[:columns].triu(), left[:columns], upper=True)
    _write(solution, x, b)
    _write(factors, packed, a)


def _first_zero(a: Tensor) -> int:
    """Returns the position of the first zero on the diagonal, from 1; 0: there is none."""
    zeros = (a.diagonal() == 0).nonzero()
    return int(zeros[0]) + 1 if len(zeros) else 0


def trtrs(solution: Out, matrix: Out, b: Tensor, a: Tensor, uplo: str, trans: str, diag: str) -> None:
    """Solves a x = b for a triangular a; ``trans`` 'T': transposed; ``diag`` 'U': with ones on it."""
    upper = uplo == "U"
    triangle = a.triu() if upper else a.tril()
    if diag != "U" and (zero := _first_zero(a)):
        raise ValueError(f"Lapack Error in trtrs : A({zero},{zero}) is zero, singular A")
    _write(matrix, a, a)
    if trans == "T":
        triangle, upper = triangle.T, not upper
    _write(
        solution,
        torch.linalg.solve_triangular(triangle, _columns(b), upper=upper, unitriangular=diag == "U"),
        b,
    )


def symeig(values: Out, vectors: Out, a: Tensor, job: str, uplo: str) -> None:
    """Eigenvalues of a symmetric matrix, ascending; with ``job`` 'V' the eigenvectors as columns."""
    if job == "V":
        found, columns = torch.linalg.eigh(a, UPLO=uplo)
        _write(values, found)
        _write(vectors, columns, a)
    else:
        _write(values, torch.linalg.eigvalsh(a, UPLO=uplo))
        _write(vectors, torch.zeros_like(a), a)


def eig(values: Out, vectors: Out, a: Tensor, job: str) -> None:
    """Eigenvalues of a matrix, one row (real, imaginary) each; with ``job`` 'V' the eigenvectors as LAPACK
    packs them: a complex pair takes two columns, its real and its imaginary part."""
    found, columns = torch.linalg.eig(a)
    values.resize_(len(found), 2)
    values.copy_(torch.view_as_real(found))
    if job != "V":
        vectors.resize_(0)
        return
    packed = torch.empty_like(a)
    j = 0
    while j < len(found):
        packed[:, j] = columns[:, j].real
        if found[j].imag != 0:
            packed[:, j + 1] = columns[:, j].imag
            j += 1
        j += 1
    _write(vectors, packed)


def svd(u: Out, s: Out, v: Out, a: Tensor, job: str) -> None:
    """Factorises a = u diag(s) v^T; ``job`` 'A': all columns of u and v."""
    left, values, right = torch.linalg.svd(a, full_matrices=job == "A")
    _write(u, left)
    _write(s, values)
    write(v, right.T)


def inverse(out: Out, a: Tensor) -> None:
    result, info = torch.linalg.inv_ex(a)
    if info.item() > 0:
        raise ValueError(f"Lapack Error getrf : U({info.item()},{info.item()}) is 0, U is singular")
    _write(out, result, a)


def potrf(out: Out, a: Tensor, uplo: str) -> None:
    """Computes the Cholesky factor: a = u^T u ('U') or l l^T ('L')."""
    factor, info = torch.linalg.cholesky_ex(a if uplo == "L" else a.T)
    if info.item() > 0:
        raise ValueError(
            f"Lapack Error in potrf : the leading minor of order {info.item()} is not positive definite"
        )
    _write(out, factor if uplo == "L" else factor.T, a)


def potrs(out: Out, b: Tensor, factor: Tensor, uplo: str) -> None:
    """Solves a x = b, given a's Cholesky factor."""
    _write(out, torch.cholesky_solve(_columns(b), factor, upper=uplo == "U"), b)


def potri(out: Out, factor: Tensor, uplo: str) -> None:
    """Computes the inverse of a, given its Cholesky factor."""
    if zero := _first_zero(factor):
        raise ValueError(f"Lapack Error potri : A({zero},{zero}) is 0, A cannot be factorized")
    _write(out, torch.cholesky_inverse(factor, upper=uplo == "U"), factor)


def pstrf(out: Out, pivots: Out, a: Tensor, uplo: str, tolerance: float) -> None:
    """Factorises a positive definite matrix with complete pivoting (Cholesky); ``pivots`` count from 1.

    ``tolerance`` < 0: n * epsilon * the largest diagonal element.
    """
    work = (a.triu() + a.triu(1).T if uplo == "U" else a.tril() + a.tril(-1).T).clone()
    n = len(work)
    if tolerance < 0:
        tolerance = n * torch.finfo(a.dtype).eps * work.diagonal().max().item()
    order = torch.arange(n, device=a.device)
    factor = torch.zeros_like(work)
    for k in range(n):
        p = k + int(work.diagonal()[k:].argmax())
        if not work[p, p] > tolerance:
            raise ValueError("Lapack Error pstrf : matrix is rank deficient or not positive semidefinite")
        if p != k:
            swapped = torch.arange(n, device=a.device)
            swapped[k], swapped[p] = p, k
            work, order = work[swapped][:, swapped], order[swapped]
            factor = factor[swapped]
        factor[k, k] = work[k, k].sqrt()
        factor[k + 1 :, k] = work[k + 1 :, k] / factor[k, k]
        work[k + 1 :, k + 1 :] -= torch.outer(factor[k + 1 :, k], factor[k + 1 :, k])
    _write(out, factor.T if uplo == "U" else factor, a)
    _write(pivots, (order + 1).int())


def qr(q: Out, r: Out, a: Tensor) -> None:
    orthogonal, triangle = torch.linalg.qr(a)
    _write(q, orthogonal)
    write(r, triangle)


def geqrf(packed: Out, tau: Out, a: Tensor) -> None:
    """Computes QR in LAPACK's packed form: r above the diagonal, the reflectors below."""
    result, scales = torch.geqrf(a)
    _write(packed, result, a)
    _write(tau, scales)


def squared_distances(out: Tensor, a: Tensor, b: Tensor, gain: float) -> None:
    """Computes out[i, j] = gain * the sum of (a[i] - b[j])^2; integers wrap around, as in C."""
    columns = b.flatten(1) if b.dim() > 1 else b.unsqueeze(1)
    for distances, row in zip(out, a, strict=True):
        torch.sum((columns - row.flatten()).square_(), 1, dtype=out.dtype, out=distances)
    out.mul_(gain if out.dtype.is_floating_point else int(gain))


def orgqr(out: Out, packed: Tensor, tau: Tensor) -> None:
    """Writes the q of a packed QR to the first columns, one per reflector, and leaves the others
    unchanged."""
    reflectors = len(tau)
    q = torch.orgqr(packed[:, :reflectors], tau)
    _write(out, q if reflectors == packed.shape[1] else torch.cat([q, packed[:, reflectors:]], 1), packed)


def ormqr(out: Out, packed: Tensor, tau: Tensor, c: Tensor, side: str, trans: str) -> None:
    """Multiplies c by the q of a packed QR, from the left ('L') or right ('R'), transposed ('T') or not."""
    _write(out, torch.ormqr(packed, tau, c, left=side == "L", transpose=trans == "T"), c)

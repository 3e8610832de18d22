"""Elementwise operations: arithmetic, functions of one element, comparisons, copies."""

import ctypes

import numpy as np
import torch
from torch import Tensor

from lua_compat.kernels.arrays import array_of

__all__ = [
    "add_scalar", "add_scaled", "addcdiv", "addcmul", "atan2", "bitand", "bitor", "bitxor", "cbitand",
    "cbitor", "cbitxor", "cdiv", "cfmod", "clamp", "clshift", "cmax", "cmax_value", "cmin", "cmin_value",
    "cmul", "compare", "compare_value", "copy", "cpow", "cremainder", "crshift", "div", "equal", "fill",
    "fmod", "half_bits", "half_values", "lerp", "lshift", "mul", "pow", "remainder", "rshift",
    "scalar_pow", "unary",
]  # fmt: skip
SANDBOXED = __all__

Number = int | float

_scalars: dict[tuple[torch.dtype, Number | str], Tensor] = {}
_SCALARS_KEPT = 64


def _scalar(value: Number, like: Tensor) -> Tensor:
    """``value`` as a tensor without dimensions: with Python numbers an operation takes PyTorch three times as
    long."""
    key = (like.dtype, value or str(value))  # 0.0 == -0.0
    held = _scalars.get(key)
    if held is None:
        if len(_scalars) >= _SCALARS_KEPT:
            _scalars.clear()
        held = _scalars[key] = torch.tensor(value, dtype=like.dtype)
    return held


def copy(out: Tensor, t: Tensor) -> None:
    """Copies t to out, converted to out's type as a C cast does: from double to byte via 32-bit integers."""
    if out.dtype == torch.uint8 and t.dtype == torch.float64 and not t.is_cuda:
        t = t.to(torch.int32)
    out.copy_(t)


def _writable(out: Tensor) -> Tensor:
    """``out`` with its stride-0 dimensions cut to one element: PyTorch does not write to expanded tensors."""
    for dimension, (size, stride) in enumerate(zip(out.shape, out.stride(), strict=True)):
        if stride == 0 and size > 1:
            out = out.narrow(dimension, 0, 1)
    return out


def fill(out: Tensor, value: Number) -> None:
    _writable(out).fill_(value)


def add_scalar(out: Tensor, t: Tensor, value: Number) -> None:
    torch.add(t, _scalar(value, t), out=out)


def add_scaled(out: Tensor, t: Tensor, value: Number, s: Tensor) -> None:
    """Computes out = t + value * s; an expanded out (t the same) sums what falls on its elements."""
    narrowed = _writable(out)
    if narrowed is not out:
        narrowed.add_(s.sum_to_size(narrowed.shape), alpha=_whole(value, t))
        return
    torch.add(t, s, alpha=_whole(value, t), out=out)


def _whole(value: Number, t: Tensor) -> Number:
    return value if t.dtype.is_floating_point else int(value)


def mul(out: Tensor, t: Tensor, value: Number) -> None:
    torch.mul(t, _scalar(value, t), out=out)


def div(out: Tensor, t: Tensor, value: Number) -> None:
    """Divides; integers towards zero, as in C."""
    torch.div(t, _scalar(value, t), rounding_mode=_rounding(t), out=out)


def _rounding(t: Tensor) -> str | None:
    return None if t.dtype.is_floating_point else "trunc"


def fmod(out: Tensor, t: Tensor, value: Number) -> None:
    cfmod(out, t, _scalar(value, t))


def remainder(out: Tensor, t: Tensor, value: Number) -> None:
    """Computes t - value * floor(t / value), with the sign of value; NaN if value is 0."""
    cremainder(out, t, _scalar(value, t))


def bitand(out: Tensor, t: Tensor, value: Number) -> None:
    torch.bitwise_and(t, int(value), out=out)


def bitor(out: Tensor, t: Tensor, value: Number) -> None:
    torch.bitwise_or(t, int(value), out=out)


def bitxor(out: Tensor, t: Tensor, value: Number) -> None:
    torch.bitwise_xor(t, int(value), out=out)


def lshift(out: Tensor, t: Tensor, value: Number) -> None:
    """Computes t * 2**value."""
    clshift(out, t, _scalar(value, t))


def rshift(out: Tensor, t: Tensor, value: Number) -> None:
    """Computes t / 2**value; integers are shifted logically."""
    crshift(out, t, _scalar(value, t))


def cmul(out: Tensor, t: Tensor, s: Tensor) -> None:
    torch.mul(t, s, out=out)


def cdiv(out: Tensor, t: Tensor, s: Tensor) -> None:
    torch.div(t, s, rounding_mode=_rounding(t), out=out)


def cpow(out: Tensor, t: Tensor, s: Tensor) -> None:
    """Computes t ** s; integers in double precision, as in Torch7."""
    if t.dtype.is_floating_point:
        torch.pow(t, s, out=out)
    else:
        copy(out, torch.pow(t.double(), s.double()))


def cfmod(out: Tensor, t: Tensor, s: Tensor) -> None:
    """Computes C's fmod. PyTorch's gives NaN where the quotient is very large."""
    if not t.dtype.is_floating_point:
        torch.fmod(t, s, out=out)
        return
    found = torch.fmod(t, s)
    if not bool(found.isfinite().all()):
        with np.errstate(invalid="ignore"):
            exact = np.fmod(array_of(t.cpu().double()), array_of(s.cpu().double()))
        found = torch.from_numpy(np.asarray(exact)).to(t)
    out.copy_(found)


def cremainder(out: Tensor, t: Tensor, s: Tensor) -> None:
    """Computes t - s * floor(t / s), with the sign of s; NaN if s is 0. (PyTorch's 3 % 0.1 is 0.1, as
    C's.)"""
    if not t.dtype.is_floating_point:
        torch.remainder(t, s, out=out)
        return
    # The quotient is in the tensor's precision; C's floor makes the rest double. Divided by zero it is
    # infinite or NaN, and zero times it is NaN.
    out.copy_(t.double() - s.double() * torch.floor(t / s).double())


def cbitand(out: Tensor, t: Tensor, s: Tensor) -> None:
    torch.bitwise_and(t, s, out=out)


def cbitor(out: Tensor, t: Tensor, s: Tensor) -> None:
    torch.bitwise_or(t, s, out=out)


def cbitxor(out: Tensor, t: Tensor, s: Tensor) -> None:
    torch.bitwise_xor(t, s, out=out)


def _bits(t: Tensor) -> Tensor:
    """Returns the bits of integers of up to 32 bits as nonnegative numbers."""
    return t.long() & ((1 << 8 * t.element_size()) - 1)


def clshift(out: Tensor, t: Tensor, s: Tensor) -> None:
    """Computes t * 2**s. For integers only the low 5 bits of a count are used (6 for 64-bit ones), as
    processors do."""
    if t.dtype.is_floating_point:
        torch.mul(t, torch.pow(2.0, s), out=out)
    elif t.dtype == torch.int64:
        torch.bitwise_left_shift(t, s & 63, out=out)
    else:
        out.copy_(_bits(t) << (s.long() & 31))


def crshift(out: Tensor, t: Tensor, s: Tensor) -> None:
    """Computes t / 2**s; integers are shifted logically, with counts as in ``clshift``."""
    if t.dtype.is_floating_point:
        torch.div(t, torch.pow(2.0, s), out=out)
    elif t.dtype == torch.int64:
        count = s & 63
        # The arithmetic shift inserts copies of the sign bit; the mask clears them.
        mask = torch.where(count > 0, (1 << (64 - count.clamp(min=1))) - 1, -1)
        torch.bitwise_and(torch.bitwise_right_shift(t, count), mask, out=out)
    else:
        out.copy_(_bits(t) >> (s.long() & 31))


def clamp(out: Tensor, t: Tensor, low: Number, high: Number) -> None:
    """Limits t to low from below, else to high from above, also if low > high."""
    if low <= high:
        torch.clamp(t, low, high, out=out)
    else:
        out.copy_(torch.where(t < low, _scalar(low, t), torch.clamp(t, max=high)))


def addcmul(out: Tensor, value: Number, a: Tensor, b: Tensor) -> None:
    """Adds value * a * b to out."""
    out.addcmul_(a, b, value=_whole(value, out))


def addcdiv(out: Tensor, value: Number, a: Tensor, b: Tensor) -> None:
    """Adds value * a / b to out."""
    if out.dtype.is_floating_point:
        out.addcdiv_(a, b, value=value)
    else:
        products = (a.int() if a.element_size() < 4 else a) * int(value)  # as C computes with small numbers
        out.copy_(out + torch.div(products, b, rounding_mode="trunc"))


def cmax(out: Tensor, t: Tensor, s: Tensor) -> None:
    """Takes t where it is greater, else s, also where either is NaN."""
    if t.dtype.is_floating_point:
        torch.where(t > s, t, s, out=out)
    else:
        torch.maximum(t, s, out=out)


def cmin(out: Tensor, t: Tensor, s: Tensor) -> None:
    """Takes t where it is smaller, else s, also where either is NaN."""
    if t.dtype.is_floating_point:
        torch.where(t < s, t, s, out=out)
    else:
        torch.minimum(t, s, out=out)


def cmax_value(out: Tensor, t: Tensor, value: Number) -> None:
    cmax(out, t, _scalar(value, t))


def cmin_value(out: Tensor, t: Tensor, value: Number) -> None:
    cmin(out, t, _scalar(value, t))


def _round_half_away(t: Tensor) -> Tensor:
    """Rounds halves away from zero, as C does (PyTorch rounds them to even)."""
    whole = torch.trunc(t)
    return torch.copysign(whole + torch.where((t - whole).abs() >= 0.5, torch.sign(t), 0.0), t)


def unary(out: Tensor, t: Tensor, name: str) -> None:
    """Computes out = name(t), for PyTorch's functions of one element and C's round."""
    if name == "round":
        out.copy_(_round_half_away(t))
    elif name == "sqrt":
        square_root(out, t)
    elif name in ("cosh", "sinh"):
        out.copy_(_hyperbolic(t, name))
    else:
        getattr(torch, name)(t, out=out)


def _hyperbolic(t: Tensor, name: str) -> Tensor:
    """Returns cosh or sinh. PyTorch's overflow where exp does, although the results are representable."""
    found = getattr(torch, name)(t)
    if bool(found.isfinite().all()):
        return found
    root = torch.exp(t.abs() / 2)
    return torch.where(found.isinf(), torch.copysign(root * (root / 2), found), found)


def square_root(out: Tensor, t: Tensor) -> None:
    """Computes out = sqrt(t), correctly rounded, like the processor and Torch7. The vector library that
    PyTorch calls is wrong in the last bit of one result in 160."""
    on_cpu = t.device.type == out.device.type == "cpu" and t.shape == out.shape
    if on_cpu and t.dtype == out.dtype in (torch.float32, torch.float64):
        with np.errstate(invalid="ignore"):
            np.sqrt(array_of(t), out=array_of(out))
    else:
        torch.sqrt(t, out=out)


def lerp(out: Tensor, t: Tensor, s: Tensor, value: Number) -> None:
    """Computes out = t + value * (s - t)."""
    out.copy_(t + value * (s - t))


def atan2(out: Tensor, t: Tensor, s: Tensor) -> None:
    torch.atan2(t, s, out=out)


def pow(out: Tensor, t: Tensor, value: Number) -> None:
    if value == 0.5:  # PyTorch would use its own square root
        square_root(out, t)
    else:
        torch.pow(t, value, out=out)


def scalar_pow(out: Tensor, value: Number, t: Tensor) -> None:
    """Computes out = value ** t."""
    torch.pow(value, t, out=out)


def compare(out: Tensor, t: Tensor, s: Tensor, name: str) -> None:
    """Sets out to 1 where the comparison holds, else 0; ``name``: lt, le, gt, ge, eq or ne."""
    out.copy_(getattr(torch, name)(t, s))


def compare_value(out: Tensor, t: Tensor, value: Number, name: str) -> None:
    out.copy_(getattr(torch, name)(t, value))


def equal(t: Tensor, s: Tensor) -> bool:
    return torch.equal(t, s)


def half_bits(value: float) -> int:
    """Returns the bits of the half-precision number nearest to ``value``."""
    with np.errstate(over="ignore"):
        return int(np.float16(value).view(np.uint16))


def half_values(address: int) -> None:
    """Writes all 65536 half-precision numbers, in the order of their bits, as float32 to an address."""
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    ctypes.memmove(address, values.ctypes.data, values.nbytes)

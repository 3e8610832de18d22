"""The likely cause when two tensors of the same name differ.

Each check is a mistake that is common between Torch7 and PyTorch; the first that explains the whole
difference is named. Arrays come as doubles.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np

_MOST_DIMENSIONS = 5  # 120 permutations; beyond that the search costs more than it tells
_SAMPLE = 1000
_COARSER = {
    "half precision (float16)": (np.float16, 1e-3),
    "single precision (float32)": (np.float32, 1e-5),
}


def likely_cause(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    """Returns one line, '' where nothing is recognised. ``tolerance``: relative to A's largest value."""
    tolerance = max(tolerance, 1e-12)
    checks = _SAME_SHAPE if a.shape == b.shape else _OTHER_SHAPE
    if not a.size or not b.size:
        return "one of them is empty" if a.size != b.size else "another shape"
    # inf - inf and sums beyond the largest double explain nothing: no check takes them for a match.
    with np.errstate(all="ignore"):
        return next(filter(None, (check(a, b, tolerance) for check in checks)), "")


def _close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    if a.shape != b.shape:
        return False
    limit = tolerance * float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    return bool(np.all((np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b))))


def _in_same_order(view: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """Returns whether ``view``, row by row, holds b's values; a sample decides first, as a whole pass is
    slow.
    """
    sample = np.linspace(0, b.size - 1, min(b.size, _SAMPLE)).astype(np.int64)
    some_a, some_b = (x[np.unravel_index(sample, x.shape)] for x in (view, b))
    return _close(some_a, some_b, tolerance) and _close(view.reshape(b.shape), b, tolerance)


def _not_finite(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    counts = [int(np.count_nonzero(~np.isfinite(x))) for x in (a, b)]
    if counts[0] == counts[1]:
        return ""
    name, count = ("B", counts[1]) if counts[1] > counts[0] else ("A", counts[0])
    return f"{name} has {count} of {a.size} values that are NaN or infinite"


def _permuted(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    """Recognises B's dimensions as A's in another order."""
    if not 2 <= a.ndim <= _MOST_DIMENSIONS or a.ndim != b.ndim or np.all(a == a.flat[0]):
        return ""
    for order in itertools.permutations(range(a.ndim)):
        if order == tuple(range(a.ndim)) or tuple(a.shape[i] for i in order) != b.shape:
            continue
        if _in_same_order(a.transpose(order), b, tolerance):
            return f"transposed: B is A with its dimensions in the order {_order(order)}"
    return ""


def _order(order: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, order))}){_LAYOUT_NAMES.get(tuple(order), '')}"


_LAYOUT_NAMES: dict[tuple[int, ...], str] = {
    (0, 2, 3, 1): " (NCHW -> NHWC)",
    (0, 3, 1, 2): " (NHWC -> NCHW)",
    (1, 2, 3, 0): " (NCHW -> CHWN)",
    (3, 0, 1, 2): " (CHWN -> NCHW)",
}


def _memory_order(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    """Recognises bytes that were written in one layout and read in another."""
    if not 2 <= a.ndim <= _MOST_DIMENSIONS or a.shape != b.shape:
        return ""
    for order in itertools.permutations(range(a.ndim)):
        if order == tuple(range(a.ndim)):
            continue
        if _in_same_order(a.transpose(order), b, tolerance):
            return (
                f"memory layout: B holds A's values as laid out with its dimensions in the order "
                f"{_order(order)}"
            )
    return ""


def _reshaped(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    if a.size == b.size and _close(a.reshape(-1), b.reshape(-1), tolerance):
        return f"the same values in another shape: {_shape(a)} and {_shape(b)}"
    return ""


def _pooling_rounding(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    """Sizes one apart in the last dimensions: a pooling or convolution that rounds its size the other way."""
    if a.ndim != b.ndim or not a.ndim:
        return ""
    steps = [m - n for m, n in zip(a.shape, b.shape, strict=True)]
    spatial = steps[-2:] if a.ndim >= 3 else steps[-1:]
    if (
        any(steps[: -len(spatial)])
        or not all(abs(step) <= 1 for step in spatial)
        or min(steps) < 0 < max(steps)
    ):
        return ""
    larger = "A" if sum(steps) > 0 else "B"
    overlap = tuple(slice(min(m, n)) for m, n in zip(a.shape, b.shape, strict=True))
    also = "; what both have is the same" if _close(a[overlap], b[overlap], tolerance) else ""
    return f"size rounding: {larger} is one larger, as with ceil mode in a pooling{also}"


def _broadcast(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    """Recognises a batch in one file where the other holds one sample of it."""
    name, few, many = ("A", a, b) if a.ndim < b.ndim else ("B", b, a)
    if many.ndim == few.ndim + 1 and many.shape[1:] == few.shape and _close(many[0], few, tolerance):
        return f"{name} holds only the first sample of the batch"
    return ""


def _label_base(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    step = b - a
    if not np.all(a == np.rint(a)) or not np.all(np.abs(step) == 1) or not np.all(step == step.flat[0]):
        return ""
    one, zero = ("A", "B") if step.flat[0] < 0 else ("B", "A")
    return f"index base: {one} counts from 1 (Lua), {zero} from 0"


def _scaled(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    energy = float(np.vdot(a, a).real)
    if not energy or not np.all(np.isfinite(a)) or not np.all(np.isfinite(b)):
        return ""
    factor = complex(np.vdot(a, b)) / energy
    # abs(factor) would raise where it is too large for a double.
    if abs(factor.imag) > tolerance * abs(factor.real) or factor.real == 0:
        return ""
    scale = factor.real
    if not _close(a * scale, b, tolerance) or abs(scale - 1) <= tolerance:
        return ""
    if math.isclose(scale, -1, rel_tol=max(tolerance, 1e-9)):
        return "sign: B is -A"
    return f"scale: B is A * {scale:.6g}{_known_scale(scale)}"


def _known_scale(scale: float) -> str:
    inverse = 1 / scale
    if math.isinf(inverse):
        return ""
    whole = round(inverse)
    if whole > 1 and math.isclose(inverse, whole, rel_tol=1e-4):
        return f" (1 / {whole}: divided by a count, as sizeAverage does?)"
    whole = round(scale)
    if whole > 1 and math.isclose(scale, whole, rel_tol=1e-4):
        return f" (multiplied by a count of {whole}, as without sizeAverage?)"
    return ""


def _shifted(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    step = b - a
    middle = float(np.median(step.real))
    if a.size > 1 and middle and _close(a + middle, b, tolerance):
        return f"offset: B is A + {middle:.6g}"
    return ""


def _reversed(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    for axis in range(a.ndim):
        if a.shape[axis] > 1 and _close(np.flip(a, axis), b, tolerance):
            planes = " (RGB / BGR?)" if a.shape[axis] == 3 and a.ndim - axis == 3 else ""
            return f"reversed along dimension {axis}{planes}"
    for axes in ((a.ndim - 2, a.ndim - 1),) if a.ndim >= 2 else ():
        if _close(np.flip(a, axes), b, tolerance):
            return "reversed along the last two dimensions (convolution / cross-correlation?)"
    return ""


def _precision(a: np.ndarray, b: np.ndarray, tolerance: float) -> str:
    """Recognises rounding: one side holds only numbers of a coarser type, and nearly all of them changed."""
    if np.count_nonzero(a != b) < a.size / 2:
        return ""
    for name, (kind, coarse) in _COARSER.items():
        parts = ([x.real, x.imag] for x in (a, b))
        rounded = [all(np.all(part == part.astype(kind)) for part in both) for both in parts]
        if tolerance < coarse and rounded[0] != rounded[1] and _close(a, b, coarse):
            return f"agrees to {name}: one side was computed or stored in less precision"
    return ""


def _shape(a: np.ndarray) -> str:
    return "x".join(map(str, a.shape)) or "a single number"


Check = Callable[[np.ndarray, np.ndarray, float], str]
_SAME_SHAPE: tuple[Check, ...] = (
    _not_finite,
    _precision,
    _label_base,
    _scaled,
    _permuted,
    _reversed,
    _memory_order,
    _shifted,
)
_OTHER_SHAPE: tuple[Check, ...] = (_permuted, _reshaped, _broadcast, _pooling_rounding)

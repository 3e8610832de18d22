"""Two result files, tensor by tensor: how far apart, where first, and what looks like the cause."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np

from convnet_benchmarks.commands.crosscheck.likely_cause import likely_cause
from convnet_benchmarks.commands.crosscheck.tree import Entry, ResultTree

Verdict = Literal["same", "differs", "only in A", "only in B"]

# The largest error accepted, over the largest absolute value of the tensor in A. A pair of two precisions is
# held to the coarser one's. Integers, texts and booleans must be equal.
RELATIVE_TOLERANCES = {
    "float64": 1e-9,
    "number": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-5,
    "complex64": 1e-5,
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "float8_e4m3fn": 0.1,
    "float8_e5m2": 0.3,
}


@dataclass(frozen=True)
class Tolerance:
    """``relative``: of the tensor's largest value in A, None for the default of its precision.

    ``absolute`` is added to it. ``defaults``: by precision; what is not in it must be equal.
    """

    relative: float | None = None
    absolute: float = 0.0
    defaults: Mapping[str, float] = field(default_factory=lambda: RELATIVE_TOLERANCES)

    def relative_for(self, *precisions: str) -> float:
        if self.relative is not None:
            return self.relative
        return max(self.defaults.get(precision, 0.0) for precision in precisions)


@dataclass(frozen=True)
class Comparison:
    """One path of two files. Shapes are None for texts and booleans; errors None if they have no meaning
    (other shapes, texts). ``first_difference``: 0-based index, row by row."""

    path: str
    verdict: Verdict
    precisions: tuple[str, str] | None = None
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...] | None] | None = None
    max_error: float | None = None
    relative_error: float | None = None
    tolerance: float | None = None
    differing: int = 0
    first_difference: tuple[int, ...] | None = None
    values: tuple[Any, Any] | None = None  # at first_difference
    cause: str = ""


def compare_trees(
    a: ResultTree, b: ResultTree, tolerance: Tolerance, only: tuple[str, ...] = ()
) -> list[Comparison]:
    """Returns every path of A in A's order, then those of B alone.

    ``only``: patterns ('*.weight') of the paths wanted; all where there are none. Where each file holds a
    single value, the two are compared whatever their names.
    """
    if len(a.entries) == len(b.entries) == 1 and not only:
        ((path_a, entry_a),), ((path_b, entry_b),) = a.entries.items(), b.entries.items()
        name = path_a if path_a == path_b else f"{path_a} | {path_b}"
        return [compare_entries(name, entry_a, entry_b, tolerance)]
    comparisons = []
    for path in dict.fromkeys([*a.entries, *b.entries]):
        if only and not any(fnmatchcase(path, pattern) for pattern in only):
            continue
        one, other = a.find(path), b.find(path)
        if one is None or other is None:
            comparisons.append(Comparison(path, "only in B" if one is None else "only in A"))
        else:
            comparisons.append(compare_entries(path, one, other, tolerance))
    return comparisons


def compare_entries(path: str, a: Entry, b: Entry, tolerance: Tolerance) -> Comparison:
    precisions = (a.precision, b.precision)
    if not (a.is_array and b.is_array):
        same = not a.is_array and not b.is_array and a.precision == b.precision and a.value == b.value
        shapes = tuple(entry.value.shape if entry.is_array else None for entry in (a, b))
        return Comparison(
            path,
            "same" if same else "differs",
            precisions,
            (shapes[0], shapes[1]),
            values=None if same else (_shown(a), _shown(b)),
            cause="" if a.precision == b.precision else "values of another kind",
        )
    relative = tolerance.relative_for(*precisions)
    if a.value.shape != b.value.shape:
        cause = likely_cause(_wide(a.value), _wide(b.value), relative)
        return Comparison(path, "differs", precisions, (a.value.shape, b.value.shape), cause=cause)
    return _compare_arrays(path, precisions, a.value, b.value, relative, tolerance.absolute)


def _compare_arrays(
    path: str, precisions: tuple[str, str], a: np.ndarray, b: np.ndarray, relative: float, absolute: float
) -> Comparison:
    wide_a, wide_b = _wide(a), _wide(b)
    error = absolute_error(wide_a, wide_b)
    largest = largest_value(wide_a)
    limit = absolute + (relative * largest if relative else 0.0)
    wrong = error > limit
    differing = int(np.count_nonzero(wrong))
    max_error = float(error.max(initial=0.0))
    comparison = Comparison(
        path,
        "differs" if differing else "same",
        precisions,
        (a.shape, b.shape),
        max_error=max_error,
        relative_error=_ratio(max_error, largest),
        tolerance=limit,
    )
    if not differing:
        return comparison
    flat = int(np.argmax(wrong.reshape(-1)))
    index = tuple(int(i) for i in np.unravel_index(flat, a.shape)) if a.ndim else ()
    return Comparison(
        **{
            **comparison.__dict__,
            "differing": differing,
            "first_difference": index,
            "values": (a[index].item(), b[index].item()),
            "cause": likely_cause(wide_a, wide_b, relative),
        }
    )


def absolute_error(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns |a - b| by element; 0 if both are NaN or the same infinity, infinite where only one is."""
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(a - b).astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))


def largest_value(a: np.ndarray) -> float:
    """Returns the largest absolute finite value; 0 without any."""
    finite = np.abs(a[np.isfinite(a)])
    return float(finite.max(initial=0.0))


def _wide(a: np.ndarray) -> np.ndarray:
    """Converts to an element type whose differences are exact enough: double (or complex double)."""
    if np.issubdtype(a.dtype, np.complexfloating):
        return a.astype(np.complex128)
    if a.dtype.itemsize == 8 and np.issubdtype(a.dtype, np.integer):
        # Whole numbers beyond 2**53 are not exact in a double; long double keeps 64-bit ones.
        return a.astype(np.longdouble)
    return a.astype(np.float64)


def _ratio(error: float, largest: float) -> float:
    if error == 0:
        return 0.0
    return error / largest if largest else float("inf")


def _shown(entry: Entry) -> Any:
    if entry.is_array:
        return entry.value.item() if entry.value.size == 1 else "x".join(map(str, entry.value.shape))
    return entry.value

"""Comparing what our th computes with what Torch7 computed: values loaded from .t7 files."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from lua_compat import t7


def differences(
    expected: Any, got: Any, tolerance: float, path: str = "", seen: set[int] | None = None
) -> Iterator[str]:
    """What differs, each with its place; numbers and tensors within ``tolerance`` of the largest value."""
    seen = set() if seen is None else seen
    if isinstance(expected, t7.TorchObject | t7.LuaTable):
        if id(expected) in seen:
            return
        seen.add(id(expected))
        if type(expected) is not type(got):
            yield f"{path}: {expected!r} became {got!r}"
            return
        if isinstance(expected, t7.TorchObject) and isinstance(got, t7.TorchObject):
            if expected.typename != got.typename:
                yield f"{path}: {expected.typename} became {got.typename}"
            expected, got = expected.fields, got.fields
        for key in [*expected, *[key for key in got if key not in expected]]:
            if key not in expected or key not in got:
                yield f"{path}.{key}: only in {'the recorded' if key in expected else 'ours'}"
            else:
                yield from differences(expected[key], got[key], tolerance, f"{path}.{key}", seen)
    elif isinstance(expected, t7.Tensor | t7.Storage):
        if not isinstance(got, type(expected)) or expected.typename != got.typename:
            yield f"{path}: {expected!r} became {got!r}"
            return
        a = expected.numpy() if isinstance(expected, t7.Tensor) else expected.array
        b = got.numpy() if isinstance(got, t7.Tensor) else got.array
        if a.shape != b.shape:
            yield f"{path}: shape {a.shape} became {b.shape}"
        elif not close(a, b, tolerance):
            with np.errstate(all="ignore"):
                worst = np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)))
            yield f"{path}: differs by {worst:.3g}"
    elif isinstance(expected, bool) or not isinstance(expected, int | float):
        if type(expected) is not type(got) or expected != got:
            yield f"{path}: {expected!r} became {got!r}"
    elif isinstance(got, bool) or not isinstance(got, int | float) or not close(expected, got, tolerance):
        yield f"{path}: {expected!r} became {got!r}"


def close(a: Any, b: Any, tolerance: float) -> bool:
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    finite = np.abs(a[np.isfinite(a)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    return bool(np.allclose(b, a, rtol=0, atol=tolerance * scale, equal_nan=True))


def message(error: str) -> str:
    """An error without the position in Torch7's own Lua files, which ours do not have."""
    return re.sub(r"^[\w/.-]*\w+\.lua:\d+: ", "", error)


def same_up_to_sign_of_columns(expected: np.ndarray, got: np.ndarray, tolerance: float) -> bool:
    """LAPACK leaves the sign of an eigenvector or a singular vector open."""
    return all(
        min(np.abs(x - y).max(), np.abs(x + y).max()) <= tolerance
        for x, y in zip(expected.T, got.T, strict=True)
    )

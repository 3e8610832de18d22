"""Cephes's errors where scipy.special reports none, or others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_Rule = tuple[Callable[..., Any], str]
_MAXIMAL_EXPONENT = 710.475860073944  # of sinh and cosh: the logarithm of twice the largest double
_LARGEST_OF_RGAMMA = 34.84425627277176
LARGEST_FACTORIAL = 33


def _is_pole(x: Any) -> Any:
    """Returns where the gamma function has poles: at zero and the negative integers."""
    return (x <= 0) & np.isfinite(x) & (x == np.floor(x))


_LOGARITHM: tuple[_Rule, ...] = (
    (lambda x: x < 0, "{}: domain"),
    (lambda x: x == 0, "{}: singularity"),
)
_NOT_POSITIVE: tuple[_Rule, ...] = ((lambda x: x <= 0, "{}: domain"),)
_BEYOND_ONE: tuple[_Rule, ...] = ((lambda x: np.abs(x) > 1, "{}: domain"),)
_NOT_BETWEEN_0_AND_1: tuple[_Rule, ...] = ((lambda x: (x < 0) | (x > 1), "{}: domain"),)
_CHI_SQUARE: tuple[_Rule, ...] = ((lambda a, x: (x < 0) | (a <= 0), "{}: domain"),)
_BETA: tuple[_Rule, ...] = (
    (lambda a, b: _is_pole(a) | _is_pole(b), "{}: overflow"),
    (lambda a, b: _is_pole(a + b), "gamma: domain"),
)


def _overflows_as_power(x: Any, y: Any) -> Any:
    return np.isinf(np.power(x, y)) & np.isfinite(x) & np.isfinite(y) & (x != 0)


# The rules of each function, of which the first match applies; {} is replaced by its name.
_RULES: dict[str, tuple[_Rule, ...]] = {
    **dict.fromkeys(("log", "log10", "log2"), _LOGARITHM),
    **dict.fromkeys(("y0", "y1", "k0", "k0e", "k1", "k1e", "ei"), _NOT_POSITIVE),
    **dict.fromkeys(("asin", "acos", "atanh"), _BEYOND_ONE),
    **dict.fromkeys(("igamc", "chdtr", "chdtrc"), _CHI_SQUARE),
    "ellpe": _NOT_BETWEEN_0_AND_1,
    **dict.fromkeys(("beta", "lbeta"), _BETA),
    "ellpk": ((lambda x: x == 0, "{}: singularity"), *_NOT_BETWEEN_0_AND_1),
    "log1p": ((lambda x: x < -1, "log: domain"), (lambda x: x == -1, "log: singularity")),
    "kn": ((lambda n, x: x < 0, "{}: domain"), (lambda n, x: x == 0, "{}: singularity")),
    **dict.fromkeys(("pdtr", "pdtrc"), ((lambda k, m: (k < 0) | (m <= 0), "{}: domain"),)),
    "zeta": ((lambda x, q: x < 1, "{}: domain"),),
    "igam": ((lambda a, x: (x != 0) & ((x < 0) | (a <= 0)), "{}: domain"),),
    "acosh": ((lambda x: x < 1, "{}: domain"),),
    "sqrt": ((lambda x: x < 0, "{}: domain"),),
    "ndtri": ((lambda x: (x <= 0) | (x >= 1), "{}: domain"),),
    "gamma": ((_is_pole, "{}: domain"),),
    "rgamma": ((lambda x: x > _LARGEST_OF_RGAMMA, "{}: underflow"),),
    "sinh": ((lambda x: np.abs(x) > _MAXIMAL_EXPONENT, "{}: domain"),),
    "cosh": ((lambda x: np.abs(x) > _MAXIMAL_EXPONENT, "{}: overflow"),),
    "cot": ((lambda x: x == 0, "{}: singularity"),),
    "fac": (
        (lambda n: n < 0, "{}: singularity"),
        (lambda n: n > LARGEST_FACTORIAL, "{}: overflow"),
    ),
    "pow": (
        (lambda x, y: (x < 0) & np.isfinite(y) & (y != np.floor(y)), "{}: domain"),
        (lambda x, y: _overflows_as_power(x, y) & (y == np.floor(y)), "powi: overflow"),
        (_overflows_as_power, "{}: overflow"),
    ),
    "jv": ((lambda v, x: (x < 0) & (v != np.floor(v)), "Jv: domain"),),
}
# Functions of which scipy reports more than Cephes does.
QUIET = frozenset((*_RULES, "i0", "expm1")) - {"jv"}


def problem(name: str, arguments: Sequence[Any]) -> str | None:
    """Returns the first error for any of the arguments, such as 'log: domain error'."""
    for fits, said in _RULES.get(name, ()):
        if np.any(fits(*arguments)):
            return f"{said.format(name)} error"
    return None

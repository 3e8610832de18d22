"""The functions of the Cephes library, for the Lua package cephes, from scipy.special and numpy."""

import cmath
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.packages import special_errors
from lua_compat.kernels.packages.extras import extra
from lua_compat.kernels.packages.special_errors import LARGEST_FACTORIAL

__all__ = ["cephes_complex", "cephes_function", "cephes_names", "cephes_values"]

# Functions with another name in scipy.
_IN_SCIPY = {
    "btdtr": "betainc", "ei": "expi", "ellie": "ellipeinc", "ellik": "ellipkinc",
    "ellpe": "ellipe", "ellpk": "ellipkm1", "hyperg": "hyp1f1", "igam": "gammainc",
    "igamc": "gammaincc", "igami": "gammainccinv", "incbet": "betainc", "incbi": "betaincinv",
    "lbeta": "betaln", "lgam": "gammaln", "stdtri": "stdtrit",
}  # fmt: skip
# All functions by the types of their arguments: d a double, i an int.
_SPECIAL = {
    "d": "gamma lgam ndtr ndtri erf erfc log1p expm1 cosm1 dawsn ei psi rgamma spence zetac ellpe ellpk "
    "i0 i0e i1 i1e j0 j1 y0 y1 k0 k0e k1 k1e cbrt exp2 exp10 round sindg cosdg tandg cotdg kolmogorov "
    "kolmogi",
    "dd": "chdtr chdtrc chdtri igam igamc igami beta lbeta zeta ellie ellik iv jv struve",
    "id": "pdtr pdtrc pdtri stdtr stdtri expn jn kn yn smirnov smirnovi",
    "ddd": "btdtr gdtr gdtrc incbet incbi hyperg radian",
    "iid": "bdtr bdtrc bdtri fdtr fdtrc fdtri nbdtr nbdtrc nbdtri",
    "dddd": "hyp2f1",
}
_IN_NUMPY = {
    "d": {
        "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
        "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "exp": "exp", "fabs": "fabs",
        "floor": "floor", "log": "log", "log10": "log10", "log2": "log2", "sin": "sin", "sinh": "sinh",
        "sqrt": "sqrt", "tan": "tan", "tanh": "tanh",
    },
    "dd": {"atan2": "arctan2", "hypot": "hypot", "pow": "power"},
    "di": {"ldexp": "ldexp", "powi": "power"},
}  # fmt: skip


def _factorial(n: float) -> float:
    """Returns n!, rounded once; the largest double for numbers that Cephes has no factorial of."""
    return float(math.factorial(int(n))) if 0 <= n <= LARGEST_FACTORIAL else np.finfo(np.float64).max


_OURS: dict[str, tuple[str, Callable[..., Any]]] = {
    "cot": ("d", lambda x: 1 / np.tan(x)),
    "expx2": ("di", lambda x, sign: np.exp(np.copysign(x * x, sign))),
    "fac": ("i", np.vectorize(_factorial, otypes=[np.float64])),
    "signbit": ("d", lambda x: np.signbit(x).astype(np.float64)),
}
_SEVERAL = {"airy": "airy", "ellpj": "ellipj", "fresnl": "fresnel", "shichi": "shichi", "sici": "sici"}
_COMPLEX: dict[str, Callable[..., complex]] = {
    "cadd": lambda a, b: b + a, "csub": lambda a, b: b - a, "cmul": lambda a, b: b * a,
    "cdiv": lambda a, b: b / a, "cneg": lambda a: -a, "cpow": pow, "ccot": lambda z: 1 / cmath.tan(z),
    **{f"c{name}": getattr(cmath, name) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "sin", "sinh",
        "sqrt", "tan", "tanh",
    )},
}  # fmt: skip
# Cephes's names for scipy's errors.
_PROBLEMS = {"singular": "singularity", "overflow": "overflow", "underflow": "underflow", "domain": "domain",
             "loss": "total loss of precision", "slow": "partial loss of precision"}  # fmt: skip


@functools.cache
def _found() -> dict[str, tuple[str, str]]:
    """Returns, by a function's name, the types of its arguments and its location."""
    found = {name: (letters, "special") for letters, names in _SPECIAL.items() for name in names.split()}
    found |= {name: (letters, "numpy") for letters, names in _IN_NUMPY.items() for name in names}
    return found | {name: (letters, "") for name, (letters, _) in _OURS.items()}


def cephes_names() -> str:
    """Returns the functions with one result, as ``name:letters``, and those of complex numbers, separated
    by spaces."""
    real = [f"{name}:{letters}" for name, (letters, _) in _found().items()]
    return " ".join([*real, *(f"{name}:complex" for name in _COMPLEX)])


def _function(name: str) -> Callable[..., Any]:
    letters, home = _found()[name]
    if home == "special":
        special = extra("scipy.special", "cephes", "scipy")
        found: Callable[..., Any] = getattr(special, _IN_SCIPY.get(name, name))
        if name == "fdtri":  # the inverse of fdtrc
            return lambda a, b, y: found(a, b, 1 - y)
        if name == "ellpe":  # of the complementary parameter
            return lambda x: found(1 - x)
        return found
    if home == "numpy":
        computed: Callable[..., Any] = getattr(np, _IN_NUMPY[letters][name])
        return computed
    return _OURS[name][1]


def cephes_function(out: Tensor, name: str, strict: bool, *arguments: Tensor) -> str | None:
    """Computes a function of one result element by element; arguments of one element are broadcast.

    ``strict``: returns the first error, in Cephes's words.
    """
    letters = _found()[name][0]
    arrays: list[Any] = [array_of(t).reshape(-1).astype(np.float64) for t in arguments]
    for place, letter in enumerate(letters):
        if letter == "i":
            arrays[place] = np.trunc(arrays[place])
            if name == "ldexp":
                arrays[place] = arrays[place].astype(np.int32)
    function = _function(name)
    problem = None
    with np.errstate(all="ignore"):
        if strict:
            problem = _problem(name, function, arrays)
        result = np.broadcast_to(function(*arrays), (out.numel(),))
    array_of(out).reshape(-1)[...] = result
    return problem


def _problem(name: str, function: Callable[..., Any], arrays: Sequence[Any]) -> str | None:
    if found := special_errors.problem(name, arrays):
        return found
    if name in special_errors.QUIET:
        return None
    special = extra("scipy.special", "cephes", "scipy")
    for said, word in _PROBLEMS.items():
        try:
            with special.errstate(**{said: "raise"}):
                function(*arrays)
        except special.SpecialFunctionError:
            return f"{name}: {word} error"
    return None


def cephes_values(name: str, *arguments: float) -> tuple[float, ...]:
    """Returns the results of a function that has several."""
    if name == "frexp":
        return math.frexp(arguments[0])
    special = extra("scipy.special", "cephes", "scipy")
    return tuple(float(value) for value in getattr(special, _SEVERAL[name])(*arguments))


def cephes_complex(name: str, *parts: float) -> tuple[float, float]:
    """Computes a function of one or two complex numbers, each given as real and imaginary part."""
    numbers = [complex(*parts[place : place + 2]) for place in range(0, len(parts), 2)]
    try:
        result = _COMPLEX[name](*numbers)
    except (ZeroDivisionError, OverflowError, ValueError):
        return math.inf, math.inf
    return result.real, result.imag

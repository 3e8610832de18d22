"""Random numbers of many distributions, for the Lua package randomkit: numpy's, over Torch7's stream.

numpy's RandomState has randomkit's own formulas, so that both draw the same numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from nets.torch7.random import Generator

__all__ = ["randomkit_draw", "randomkit_names"]
SANDBOXED = __all__

# By letters of the arguments: d a double, l a whole number. What returns whole numbers is named again below.
_DISTRIBUTIONS = {
    "": "standard_cauchy standard_exponential gauss double random long ulong",
    "d": "chisquare exponential pareto power rayleigh standard_gamma standard_t weibull geometric logseries "
    "poisson zipf",
    "dd": "beta f gamma gumbel laplace logistic lognormal negative_binomial noncentral_chisquare normal "
    "uniform vonmises wald",
    "ddd": "noncentral_f triangular",
    "l": "interval",
    "ll": "randint",
    "ld": "binomial",
    "lll": "hypergeometric",
}
_OTHER_NAMES = {"gauss": "standard_normal", "double": "random_sample"}
_OURS: dict[str, Callable[..., Any]] = {
    "random": lambda draw, size: draw.randint(0, 2**32, size, np.int64),
    "long": lambda draw, size: draw.randint(0, 2**63, size, np.uint64).astype(np.int64),
    "ulong": lambda draw, size: draw.randint(0, 2**64, size, np.uint64),
    "interval": lambda draw, most, size: _each(draw.randint, 0, most + 1, size=size),
    "randint": lambda draw, low, high, size: _each(draw.randint, low, high, size=size),
}


def _each(draw: Callable[..., Any], low: Any, high: Any, size: int) -> Any:
    return draw(low, high, size, dtype=np.int64)


def randomkit_names() -> str:
    """Returns the distributions, each as ``name:letters`` of its arguments, separated by spaces."""
    return " ".join(
        f"{name}:{letters}" for letters, names in _DISTRIBUTIONS.items() for name in names.split()
    )


def randomkit_draw(out: Tensor, g: Generator, name: str, letters: str, *arguments: Tensor) -> None:
    """Fills a contiguous tensor; arguments have one element, or as many as it."""
    arrays: list[Any] = [array_of(t).reshape(-1).astype(np.float64) for t in arguments]
    for place, letter in enumerate(letters):
        if letter == "l":
            arrays[place] = arrays[place].astype(np.int64)
    arrays = [array[0] if array.size == 1 else array for array in arrays]
    draw = g.numpys()
    function = _OURS.get(name)
    if function is not None:
        drawn = function(draw, *arrays, size=out.numel())
    else:
        drawn = getattr(draw, _OTHER_NAMES.get(name, name))(*arrays, size=out.numel())
    array_of(out).reshape(-1)[...] = np.asarray(drawn)

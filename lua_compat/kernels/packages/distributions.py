"""Random numbers of many distributions, for the Lua package randomkit: numpy's, from Torch7's generator.

numpy's RandomState has randomkit's own formulas, so that both draw the same numbers.
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from lua_compat.kernels.arrays import array_of

__all__ = ["randomkit_draw", "randomkit_names"]
SANDBOXED = __all__

# By the types of the arguments: d a double, l an integer. Those that return integers are listed again below.
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
# Torch7's generator as torch.getRNGState gives it in bytes (lua_compat/lua/torch/tensor/generator.lua).
_STATE = np.dtype(
    [
        ("seed", "<i8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", 624),
        ("x", "<f8"), ("y", "<f8"), ("rho", "<f8"), ("waiting", "<i4"), ("unused", "<i4"),
    ]
)  # fmt: skip
_WORDS = 624
_OTHER_NAMES = {"gauss": "standard_normal", "double": "random_sample"}
_OURS: dict[str, Callable[..., Any]] = {
    "random": lambda draw, size: draw.randint(0, 2**32, size, np.int64),
    "long": lambda draw, size: draw.randint(0, 2**63, size, np.uint64).astype(np.int64),
    "ulong": lambda draw, size: draw.randint(0, 2**64, size, np.uint64),
    "interval": lambda draw, most, size: _each(draw.randint, 0, most + 1, size=size),
    "randint": lambda draw, low, high, size: _each(draw.randint, low, high, size=size),
}


class _Generators(threading.local):
    """numpy's generator of each thread, which gets its state before it draws: making one takes far longer."""

    def __init__(self) -> None:
        self.generator = np.random.RandomState(np.random.MT19937(0))


_numpys = _Generators()


def _each(draw: Callable[..., Any], low: Any, high: Any, size: int) -> Any:
    return draw(low, high, size, dtype=np.int64)


def randomkit_names() -> str:
    """Returns the distributions, each as ``name:letters`` of its arguments, separated by spaces."""
    return " ".join(
        f"{name}:{letters}" for letters, names in _DISTRIBUTIONS.items() for name in names.split()
    )


def randomkit_draw(
    out: Tensor, state: Tensor, waiting: float | None, name: str, letters: str, *arguments: Tensor
) -> float | None:
    """Fills a contiguous tensor; arguments have one element, or as many as it.

    ``state``: the bytes of Torch7's generator, updated by the draws. Normal numbers are made in pairs:
    ``waiting`` is the second one of a pair, and so is what is returned.
    """
    arrays: list[Any] = [array_of(t).reshape(-1).astype(np.float64) for t in arguments]
    for place, letter in enumerate(letters):
        if letter == "l":
            arrays[place] = arrays[place].astype(np.int64)
    arrays = [array[0] if array.size == 1 else array for array in arrays]
    generator = array_of(state).view(_STATE)[0]
    draw = _numpys.generator
    words, position = generator["words"].astype(np.uint32), _WORDS + 1 - int(generator["left"])
    draw.set_state(
        {
            "bit_generator": "MT19937",
            "state": {"key": words, "pos": position},
            "has_gauss": int(waiting is not None),
            "gauss": waiting or 0.0,
        }
    )
    function = _OURS.get(name)
    if function is not None:
        drawn = function(draw, *arrays, size=out.numel())
    else:
        drawn = getattr(draw, _OTHER_NAMES.get(name, name))(*arrays, size=out.numel())
    array_of(out).reshape(-1)[...] = np.asarray(drawn)
    numpys = draw.get_state(legacy=False)
    after = numpys["state"]
    generator["words"], generator["left"] = after["key"], _WORDS + 1 - int(after["pos"])
    generator["next"] = int(after["pos"]) % _WORDS
    return float(numpys["gauss"]) if numpys["has_gauss"] else None

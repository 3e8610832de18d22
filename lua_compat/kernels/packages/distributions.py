"""Random numbers of many distributions, for the Lua package randomkit: numpy's, from Torch7's generator.

numpy's RandomState has randomkit's own formulas, so that both draw the same numbers.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from lua_compat.kernels.lua_memory import array_at

__all__ = ["randomkit_draw", "randomkit_draw_one", "randomkit_names"]
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
_OTHER_NAMES = {"gauss": "standard_normal", "double": "random_sample"}
_OURS: dict[str, Callable[..., Any]] = {
    "random": lambda draw, size: draw.randint(0, 2**32, size, np.int64),
    "long": lambda draw, size: draw.randint(0, 2**63, size, np.uint64).astype(np.int64),
    "ulong": lambda draw, size: draw.randint(0, 2**64, size, np.uint64),
    "interval": lambda draw, most, size: _each(draw.randint, 0, most + 1, size=size),
    "randint": lambda draw, low, high, size: _each(draw.randint, low, high, size=size),
}


class _Generator(np.random.MT19937):
    """Its state is read and written in ``words`` alone: numpy's own property costs 60 us each time."""

    def __init__(self) -> None:
        super().__init__(0)
        self.words = array_at(self.ctypes.state_address, "Int", (625,))  # the last: the position
        state: Any = super().state["state"]
        if not np.array_equal(self.words, np.append(state["key"], state["pos"]).astype(np.int32)):
            raise RuntimeError(f"numpy {np.__version__} keeps the state of MT19937 in another form")

    @property
    def state(self) -> Any:
        return {"bit_generator": "MT19937", "state": None}

    @state.setter
    def state(self, value: Any) -> None:
        pass


class _Generators(threading.local):
    """numpy's generator of each thread, which gets its state before it draws: making one takes far longer."""

    def __init__(self) -> None:
        self.bits = _Generator()
        self.generator = np.random.RandomState(self.bits)


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

    ``state``: the 624 words of Torch7's generator and the position of the next one, as ints, updated by the
    draws. Normal numbers are made in pairs: ``waiting`` is the second one of a pair, and so is what is
    returned.
    """
    arrays: list[Any] = [array_of(t).reshape(-1).astype(np.float64) for t in arguments]
    arrays = [array[0] if array.size == 1 else array for array in arrays]
    return _fill(out, state, waiting, name, letters, arrays)


def randomkit_draw_one(
    out: Tensor, state: Tensor, waiting: float | None, name: str, letters: str, *numbers: float
) -> float | None:
    """Does the same for numbers as arguments."""
    return _fill(out, state, waiting, name, letters, numbers)


def _fill(
    out: Tensor, state: Tensor, waiting: float | None, name: str, letters: str, given: Sequence[Any]
) -> float | None:
    values = [np.int64(v) if letter == "l" else v for v, letter in zip(given, letters, strict=True)]
    draw, words, torchs = _numpys.generator, _numpys.bits.words, array_of(state)
    words[:] = torchs
    draw.set_state(_numpys.bits.state | {"has_gauss": int(waiting is not None), "gauss": waiting or 0.0})
    if name in _OURS:
        drawn = _OURS[name](draw, *values, size=out.numel())
    else:
        drawn = getattr(draw, _OTHER_NAMES.get(name, name))(*values, size=out.numel())
    array_of(out).reshape(-1)[...] = drawn
    torchs[:] = words
    after: Any = draw.get_state(legacy=False)
    return float(after["gauss"]) if after["has_gauss"] else None

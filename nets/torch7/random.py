"""Torch7's random generator: the exact streams of ``torch.manualSeed`` in Lua.

Torch7 draws from MT19937 (Matsumoto and Nishimura, 1998); every distribution is a formula in double
precision over its 32-bit draws. numpy has the same MT19937, so blocks of draws are vectorised. Logarithms
and trigonometric functions go through ``math`` (the C library's, as in Torch7): numpy's own vector versions
differ in the last bit.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float64Array = NDArray[np.float64]

_DRAWS = 2**32  # a draw is a whole number in [0, 2**32)
_BLOCK = 1 << 16  # draws converted at a time: 64 Ki doubles stay in the second-level cache


class Generator:
    """One stream of Torch7 random numbers.

    Every distribution method takes ``size``, the number of values wanted, and returns a one-dimensional
    float64 (or int64) array; values are drawn in Torch7's order, so two calls for 3 and 4 values give what
    one call for 7 gives. Arguments out of range raise ValueError.
    """

    def __init__(self, seed: int) -> None:
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> None:
        """Starts the stream of ``torch.manualSeed(seed)``; only the low 32 bits count, as in Torch7."""
        self._initial_seed = seed
        self._bits = np.random.MT19937()
        self._bits._legacy_seeding(seed % _DRAWS)
        self._draws = np.random.Generator(self._bits)
        # Box-Muller makes normal numbers in pairs; the second of a pair waits here as (x, rho).
        self._pending: tuple[float, float] | None = None

    def get_state(self) -> dict[str, Any]:
        """Returns a copy of the whole state, for ``set_state`` (``torch.getRNGState``)."""
        return copy.deepcopy({"seed": self._initial_seed, "bits": self._bits.state, "pending": self._pending})

    def set_state(self, state: dict[str, Any]) -> None:
        """Continues from a state returned by ``get_state``."""
        self._initial_seed = state["seed"]
        self._bits.state = copy.deepcopy(state["bits"])
        self._pending = state["pending"]

    def random_uint32(self, size: int) -> NDArray[np.uint32]:
        """Returns the raw 32-bit draws."""
        return self._draws.integers(0, _DRAWS, size, dtype=np.uint32)

    def random(self, size: int, low: int | None = None, high: int | None = None) -> NDArray[np.int64]:
        """Draws ``torch.random()``: 32-bit draws; ``random(low, high)``: whole numbers in [low, high]."""
        draws = self.random_uint32(size).astype(np.int64)
        if low is None or high is None:
            return draws
        if high < low:
            raise ValueError(f"random({low}, {high}): the upper bound must be at least the lower one")
        return draws % (high + 1 - low) + low

    def uniform(self, size: int, low: float = 0.0, high: float = 1.0) -> Float64Array:
        """Draws ``torch.uniform(low, high)``: draw * 2**-32 * (high - low) + low."""
        values: Float64Array = self.random_uint32(size) * np.float64(1.0 / _DRAWS)
        if (low, high) != (0.0, 1.0):
            values *= high - low
            values += low
        return values

    def fill_uniform(self, out: NDArray[Any], low: float, high: float) -> None:
        """Draws ``tensor:uniform(low, high)`` on a contiguous array.

        Torch7 reads the bounds as numbers of the tensor's own type, computes in double, and rounds the
        result; a FloatTensor's bounds are therefore rounded to float32 first.
        """
        low, high = float(out.dtype.type(low)), float(out.dtype.type(high))
        flat = out.reshape(-1)
        if not np.shares_memory(flat, out):
            raise ValueError("fill_uniform needs a contiguous array")
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            block[...] = self.uniform(block.size, low, high)

    def normal(self, size: int, mean: float = 0.0, stdv: float = 1.0) -> Float64Array:
        """Draws ``torch.normal(mean, stdv)`` by Box-Muller: rho * cos(2 pi x), then rho * sin(2 pi x)."""
        _require(stdv > 0, "normal", "standard deviation must be strictly positive")
        values = np.empty(size)
        filled = 0
        if self._pending is not None and size > 0:
            values[0] = self._pending[1] * math.sin(2.0 * math.pi * self._pending[0])
            self._pending = None
            filled = 1
        rest = size - filled
        pairs = self.uniform(2 * ((rest + 1) // 2))
        angle = 2.0 * math.pi * pairs[0::2]
        rho = np.sqrt(-2.0 * _each(math.log, 1.0 - pairs[1::2]))
        values[filled::2] = rho * _each(math.cos, angle)
        values[filled + 1 :: 2] = (rho * _each(math.sin, angle))[: rest // 2]
        if rest % 2:
            self._pending = (float(pairs[-2]), float(rho[-1]))
        if (mean, stdv) != (0.0, 1.0):
            values *= stdv
            values += mean
        return values

    def fill_normal(self, out: NDArray[Any], mean: float = 0.0, stdv: float = 1.0) -> None:
        """Draws ``tensor:normal(mean, stdv)`` (``torch.randn``) on a contiguous array; bounds as
        fill_uniform."""
        mean, stdv = float(out.dtype.type(mean)), float(out.dtype.type(stdv))
        flat = out.reshape(-1)
        if not np.shares_memory(flat, out):
            raise ValueError("fill_normal needs a contiguous array")
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            block[...] = self.normal(block.size, mean, stdv)

    def exponential(self, size: int, rate: float) -> Float64Array:
        """Draws ``torch.exponential(rate)``: -1 / rate * log(1 - u); with rate 0 infinite."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.float64(-1.0) / rate * _each(math.log, 1.0 - self.uniform(size))

    def cauchy(self, size: int, median: float = 0.0, sigma: float = 1.0) -> Float64Array:
        """Draws ``torch.cauchy(median, sigma)``: median + sigma * tan(pi * (u - 1/2))."""
        return median + sigma * _each(math.tan, math.pi * (self.uniform(size) - 0.5))

    def log_normal(self, size: int, mean: float = 1.0, stdv: float = 2.0) -> Float64Array:
        """Draws ``torch.logNormal(mean, stdv)``: the exponential of a normal number."""
        return _each(math.exp, self.normal(size, mean, stdv))

    def geometric(self, size: int, p: float) -> NDArray[np.int64]:
        """Draws ``torch.geometric(p)``: floor(log(1 - u) / log(p)) + 1."""
        _require(0 < p < 1, "geometric", "must be > 0 and < 1")
        logarithms = _each(math.log, 1.0 - self.uniform(size))
        return (logarithms / math.log(p)).astype(np.int64) + 1

    def bernoulli(self, size: int, p: float | Float64Array = 0.5) -> NDArray[np.int64]:
        """Draws ``torch.bernoulli(p)``: 1 if u <= p; ``p`` may be one probability per value."""
        in_range = np.logical_and(np.greater_equal(p, 0), np.less_equal(p, 1)).all()
        _require(bool(in_range), "bernoulli", "must be >= 0 and <= 1")
        return (self.uniform(size) <= p).astype(np.int64)

    def randperm(self, n: int) -> NDArray[np.int64]:
        """Draws ``torch.randperm(n)``: a permutation of 1..n (Fisher-Yates from the front, n - 1 draws)."""
        _require(n > 0, "randperm", "must be strictly positive")
        permutation = list(range(1, n + 1))
        distance = self.random_uint32(n - 1).astype(np.int64) % np.arange(n, 1, -1)
        for i, step in enumerate(distance.tolist()):
            permutation[i], permutation[i + step] = permutation[i + step], permutation[i]
        return np.array(permutation, dtype=np.int64)

    def multinomial(
        self, weights: Float64Array, n_sample: int, replacement: bool = False
    ) -> NDArray[np.int64]:
        """Draws ``torch.multinomial(weights, n_sample, replacement)``: 1-based categories.

        ``weights`` is one distribution (categories,) or several (rows, categories); the result is
        (n_sample,) or (rows, n_sample).
        """
        weights = np.asarray(weights, dtype=np.float64)
        rows = np.atleast_2d(weights)
        _require(n_sample > 0, "multinomial", "cannot sample n_sample < 0 samples")
        _require(
            replacement or n_sample <= rows.shape[1],
            "multinomial",
            "cannot sample n_sample > prob_dist:size(1) samples without replacement",
        )
        samples = np.stack([self._categories(row, n_sample, replacement) for row in rows])
        return samples[0] if weights.ndim == 1 else samples

    def _categories(self, weights: Float64Array, n_sample: int, replacement: bool) -> NDArray[np.int64]:
        cumulative = np.cumsum(weights)
        total = cumulative[-1]
        _require(total > 0, "multinomial", "invalid multinomial distribution (sum of probabilities <= 0)")
        cumulative /= total
        draws = self.uniform(n_sample)
        if replacement:
            cumulative[-1] = 1.0
            return np.searchsorted(cumulative, draws) + 1
        chosen = np.empty(n_sample, dtype=np.int64)
        for j, draw in enumerate(draws):
            cumulative[-1] = 1.0
            index = int(np.searchsorted(cumulative, draw))
            chosen[j] = index + 1
            # The drawn category is removed from the distribution; the rest is rescaled to sum to one.
            mass = cumulative[index] - (cumulative[index - 1] if index else 0.0)
            cumulative[index:] -= mass
            with np.errstate(divide="ignore", invalid="ignore"):  # nothing is left after the last category
                cumulative /= 1.0 - mass
        return chosen


def _require(condition: bool, function: str, accepted: str) -> None:
    if not condition:
        raise ValueError(f"{function}: {accepted}")


def _each(function: Callable[[float], float], values: Float64Array) -> Float64Array:
    """Applies the C library's ``function`` to each value."""
    return np.fromiter(map(function, values.tolist()), dtype=np.float64, count=values.size)

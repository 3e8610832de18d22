"""Torch7's random numbers, from ``nets.torch7.random``: tensors filled in the order of their elements."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from lua_compat.kernels.arrays import array_of
from nets.torch7.random import Generator

__all__ = [
    "alias_draw", "alias_setup", "draw_bernoulli", "draw_cauchy", "draw_exponential", "draw_geometric",
    "draw_log_normal", "draw_normal", "draw_random", "draw_uniform", "fill_bernoulli",
    "fill_bernoulli_each", "fill_cauchy", "fill_exponential", "fill_geometric", "fill_log_normal",
    "fill_normal", "fill_random", "fill_uniform", "get_rng_state", "initial_seed", "least_row_sum",
    "manual_seed", "multinomial", "randperm", "seed", "set_rng_state", "uniform_bytes",
]  # fmt: skip
SANDBOXED = __all__

# The layout of Torch7's generator in memory, which getRNGState gives as bytes.
_STATE = np.dtype(
    [
        ("initial_seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", 624),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),
        ("normal_rho", "<f8"),
        ("normal_is_valid", "<i4"),
        ("padding", "<i4"),
    ]
)
STATE_BYTES = _STATE.itemsize


def _in_place(out: Tensor, values: Callable[[int], np.ndarray]) -> None:
    """out's elements, in row-major order, become values(count)."""
    drawn = torch.from_numpy(values(out.numel())).reshape(out.shape)
    out.copy_(drawn)


def manual_seed(generator: Generator, seed: float) -> None:
    generator.manual_seed(int(seed))


def seed(generator: Generator) -> int:
    """Starts anew from the system's randomness; the seed."""
    value = int.from_bytes(np.random.SeedSequence().generate_state(2).tobytes(), "little") >> 11
    generator.manual_seed(value)
    return value


def initial_seed(generator: Generator) -> int:
    return generator.initial_seed


def get_rng_state(generator: Generator, out: Tensor) -> None:
    """Returns the generator as the bytes of Torch7's own (``STATE_BYTES`` of them)."""
    state = generator.get_state()
    record = np.zeros(1, _STATE)
    position = int(state["bits"]["state"]["pos"])
    record["initial_seed"] = state["seed"] % 2**64
    record["left"] = 625 - position
    record["seeded"] = 1
    record["next"] = position if position < 624 else 0
    record["words"] = state["bits"]["state"]["key"]
    if state["pending"] is not None:
        record["normal_x"], record["normal_rho"] = state["pending"]
        record["normal_is_valid"] = 1
    out.copy_(torch.from_numpy(record.view(np.uint8)))


def set_rng_state(generator: Generator, t: Tensor) -> bool:
    """Continues from such bytes; False if they are not a generator's."""
    if t.numel() != STATE_BYTES:
        return False
    record = array_of(t.contiguous()).view(_STATE)[0]
    position = 625 - int(record["left"])
    if record["seeded"] != 1 or not 1 <= position <= 624:
        return False
    state = generator.get_state()
    state["seed"] = int(record["initial_seed"])
    state["bits"]["state"]["key"] = record["words"].astype(state["bits"]["state"]["key"].dtype)
    state["bits"]["state"]["pos"] = position
    state["pending"] = (
        (float(record["normal_x"]), float(record["normal_rho"])) if record["normal_is_valid"] else None
    )
    generator.set_state(state)
    return True


def draw_random(generator: Generator, low: float | None = None, high: float | None = None) -> int:
    """Draws 32 bits, or a whole number from low to high."""
    if low is None or high is None:
        return int(generator.random(1)[0])
    return int(generator.random(1, int(low), int(high))[0])


def draw_uniform(generator: Generator, low: float, high: float) -> float:
    return float(generator.uniform(1, low, high)[0])


def uniform_bytes(generator: Generator, count: int) -> bytes:
    """Draws ``count`` numbers from [0, 1); returns them as the bytes of doubles."""
    return generator.uniform(int(count)).tobytes()


def draw_normal(generator: Generator, mean: float, stdv: float) -> float:
    return float(generator.normal(1, mean, stdv)[0])


def draw_exponential(generator: Generator, rate: float) -> float:
    return float(generator.exponential(1, rate)[0])


def draw_cauchy(generator: Generator, median: float, sigma: float) -> float:
    return float(generator.cauchy(1, median, sigma)[0])


def draw_log_normal(generator: Generator, mean: float, stdv: float) -> float:
    return float(generator.log_normal(1, mean, stdv)[0])


def draw_geometric(generator: Generator, p: float) -> int:
    return int(generator.geometric(1, p)[0])


def draw_bernoulli(generator: Generator, p: float) -> int:
    return int(generator.bernoulli(1, p)[0])


def fill_random(
    out: Tensor, generator: Generator, low: float | None = None, high: float | None = None
) -> None:
    """Draws whole numbers from low to high, or up to the largest that out's elements hold exactly."""
    if low is not None and high is not None:
        first, last = int(low), int(high)
        _in_place(out, lambda count: generator.random(count, first, last))
        return
    if out.dtype.is_floating_point:
        largest = 2 ** (24 if out.dtype == torch.float32 else 53)
    else:
        largest = torch.iinfo(out.dtype).max
    _in_place(out, lambda count: generator.random(count) % (largest + 1 if largest < 2**63 - 1 else 2**62))


def fill_uniform(out: Tensor, generator: Generator, low: float, high: float) -> None:
    if out.is_contiguous() and out.device.type == "cpu":
        generator.fill_uniform(array_of(out), low, high)
    else:
        _in_place(out, lambda count: generator.uniform(count, low, high))


def fill_normal(out: Tensor, generator: Generator, mean: float, stdv: float) -> None:
    if out.is_contiguous() and out.device.type == "cpu":
        generator.fill_normal(array_of(out), mean, stdv)
    else:
        _in_place(out, lambda count: generator.normal(count, mean, stdv))


def fill_exponential(out: Tensor, generator: Generator, rate: float) -> None:
    _in_place(out, lambda count: generator.exponential(count, rate))


def fill_cauchy(out: Tensor, generator: Generator, median: float, sigma: float) -> None:
    _in_place(out, lambda count: generator.cauchy(count, median, sigma))


def fill_log_normal(out: Tensor, generator: Generator, mean: float, stdv: float) -> None:
    _in_place(out, lambda count: generator.log_normal(count, mean, stdv))


def fill_geometric(out: Tensor, generator: Generator, p: float) -> None:
    _in_place(out, lambda count: generator.geometric(count, p))


def fill_bernoulli(out: Tensor, generator: Generator, p: float) -> None:
    _in_place(out, lambda count: generator.bernoulli(count, p))


def fill_bernoulli_each(out: Tensor, generator: Generator, p: Tensor) -> None:
    """Draws zeros and ones, with one probability per element."""
    _in_place(out, lambda count: generator.bernoulli(count, array_of(p.cpu().double().reshape(-1))))


def randperm(out: Tensor, generator: Generator) -> None:
    """Draws a permutation of 1 to the number of elements."""
    _in_place(out, generator.randperm)


def multinomial(out: Tensor, generator: Generator, weights: Tensor, replacement: bool) -> None:
    """Categories drawn from each row of weights into the same row of out, both matrices."""
    weights64 = array_of(weights.cpu().double().contiguous())
    # Without replacement the last draw leaves nothing to scale.
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = generator.multinomial(weights64, out.shape[1], replacement)
    out.copy_(torch.from_numpy(drawn))


def least_row_sum(weights: Tensor) -> float:
    return weights.double().sum(1).min().item()


def alias_setup(aliases: Tensor, probabilities: Tensor, weights: Tensor, from_zero: bool = False) -> bool:
    """Prepares Walker's alias method (Vose's algorithm): each category keeps its own with a probability, else
    its alias, which counts from 1, or with ``from_zero`` from 0, as cutorch's. ``weights`` sum to 1. False if
    they cannot be made into a table."""
    n = weights.numel()
    q = [n * w for w in weights.reshape(-1).tolist()]
    alias = [0] * n
    small = [i for i in range(n) if q[i] < 1.0]
    large = [i for i in range(n) if q[i] >= 1.0]
    while small and large:
        giver, taker = large[-1], small[-1]
        alias[taker] = giver
        q[giver] -= 1.0 - q[taker]
        if q[giver] < 1.0:
            small[-1] = large.pop()
        else:
            small.pop()
    if min(q) <= 0:
        return False
    largest = max(q)
    if largest > 1:
        q = [value / largest for value in q]
    # An alias of 0 is what a category without one has, too; such a one always keeps its own.
    q = [1.0 if alias[i] <= 0 else q[i] for i in range(n)]
    aliases.copy_(torch.tensor(alias) + (0 if from_zero else 1))
    probabilities.copy_(torch.tensor(q, dtype=torch.float64))
    return True


def alias_draw(
    out: Tensor, generator: Generator, aliases: Tensor, probabilities: Tensor, from_zero: bool = False
) -> None:
    """Draws categories, from 1, from such a table.

    As in Torch7, where the wrapped function counts its argument down in place: an alias comes out one too
    low, and ``aliases`` themselves are one lower after each call. cutorch's aliases stay as they are.
    """
    if from_zero:
        aliases = aliases + 1
    else:
        aliases.sub_(1)
    alias, q = array_of(aliases.cpu().contiguous()), array_of(probabilities.cpu().double().contiguous())

    def drawn(count: int) -> np.ndarray:
        pairs = generator.uniform(2 * count)
        category = (pairs[0::2] * len(q)).astype(np.int64)
        return np.where(pairs[1::2] <= q[category], category + 1, alias[category])

    _in_place(out, drawn)

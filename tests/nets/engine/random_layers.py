"""Random layers on random shapes, by every backend, between pages that nobody may touch.

    python -m tests.nets.engine.random_layers --first 0 --count 20000

Every shape runs the three phases or inference on some backends, with or without a C compiler, by kernels
drawn at random from the candidates. Values must be PyTorch's to 1e-4 of the largest, and what is not a number
or infinite must be so where it is for PyTorch. A touched page ends the process: the last line says where.
"""

import argparse
import contextlib
import copy
import ctypes
import itertools
import math
import mmap
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import BACKENDS, EnginePhases, compile
from convnet_benchmarks.nets.engine.choice.tuning import RULE, Choice, Tuner
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT
from tests.helpers.engine_conditions import WITH_AND_WITHOUT, c_compiler, threads
from tests.nets.engine.modules import exact_results

_LIBC = ctypes.CDLL(None, use_errno=True)
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9, torch.bfloat16: 5e-2}

# Memory between guard pages ---------------------------------------------------------------------------------


def guarded(count: int, at_end: bool) -> Tensor:
    """Returns ``count`` bytes, zeros, that end where a guard page begins, or begin after
    one."""
    if count == 0:
        return torch.empty(0, dtype=torch.uint8)
    page = mmap.PAGESIZE
    pages = -(-count // page) * page
    mapping = mmap.mmap(-1, pages + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    for place in (start, start + page + pages):
        if _LIBC.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(page), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = page + (pages - count if at_end else 0)
    return torch.frombuffer(mapping, dtype=torch.uint8, count=count, offset=offset)


@contextlib.contextmanager
def guard_pages(draw: random.Random) -> Iterator[None]:
    """All memory of plans is between guard pages; scratch memory is full of NaN whenever it is requested."""
    kept: dict[tuple[object, ...], list[Tensor]] = {}

    def block(memory: Memory, count: int) -> Tensor:
        return guarded(count, draw.random() < 0.7)

    def scratch(memory: Memory, dtype: torch.dtype, *shapes: Sequence[int]) -> list[Tensor]:
        key = (id(memory), dtype, *map(tuple, shapes))
        if key not in kept:  # recorded calls come back to it
            kept[key] = [
                block(memory, math.prod(shape) * dtype.itemsize).view(dtype).view(*shape) for shape in shapes
            ]
        return [tensor.fill_(math.nan) for tensor in kept[key]]

    with (
        mock.patch.object(Memory, "_block", block),
        mock.patch.object(Memory, "_part_of_chunk", block),
        mock.patch.object(Memory, "scratch", scratch),
    ):
        yield


def between_pages(tensor: Tensor, draw: random.Random) -> Tensor:
    """A contiguous copy between guard pages."""
    block = guarded(tensor.numel() * tensor.itemsize, draw.random() < 0.7)
    return block.view(tensor.dtype).view(tensor.shape).copy_(tensor)


# Layers -----------------------------------------------------------------------------------------------------


class Sum(nn.Module):
    """The sum of what two layers make of the same input."""

    def __init__(self, one: nn.Module, other: nn.Module) -> None:
        super().__init__()
        self.one, self.other = one, other

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.one(x) + self.other(x)
        return found


@dataclass
class Case:
    """A layer with what comes after it, and the shape of its input. ``whole``: numbers are small integers,
    so that every order of summation gives the same."""

    layer: nn.Module
    relu: bool
    shape: tuple[int, ...]
    dtype: torch.dtype
    whole: bool = False
    backends: tuple[str, ...] = BACKENDS

    @property
    def module(self) -> nn.Module:
        return nn.Sequential(self.layer, nn.ReLU()) if self.relu else self.layer

    def __str__(self) -> str:
        return f"{' '.join(str(self.module).split())} on {self.shape} in {self.dtype}"


def _size(draw: random.Random, kernel: int, stride: int, dilation: int, most: int) -> tuple[int, int]:
    """Returns a size along one axis, perhaps smaller than the window, and padding enough for an output."""
    size, window = draw.randint(1, most), dilation * (kernel - 1) + 1
    needed = max(0, -(-(window - size) // 2))
    return size, needed + draw.choice((0, 0, 0, 1, 1, 2, kernel // 2, 4))


def _axes(draw: random.Random, count: int, most: int) -> list[tuple[int, int, int, int, int]]:
    """Draws kernel, stride, padding, dilation and size along this many axes."""
    found: list[tuple[int, int, int, int, int]] = []
    square = draw.random() < 0.6
    for axis in range(count):
        if axis and square:
            kernel, stride, _, dilation, _ = found[0]
        else:
            kernel = draw.choice((1, 1, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7, draw.randint(1, 17)))
            stride, dilation = draw.choice((1, 1, 1, 2, 2, 3, 4, 5)), draw.choice((1, 1, 1, 1, 2, 3))
        size, padding = _size(draw, kernel, stride, dilation, most)
        found.append((kernel, stride, padding, dilation, size))
    return found


def _convolution(draw: random.Random) -> tuple[nn.Module, tuple[int, ...]]:
    """A convolution of images, or of rows, of any kind."""
    axes = _axes(draw, draw.choice((1, 2, 2, 2, 2, 2, 2)), 18)
    few = draw.choice((1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 24, 33))
    groups = draw.choice((1, 1, 1, 1, 1, 2, 3, 5, few))
    depthwise = draw.random() < 0.15
    channels = groups if depthwise else groups * draw.choice((1, 1, 2, 3, 5, few, 130 if groups == 1 else 2))
    outputs = (
        groups if depthwise else groups * draw.choice((1, 2, 3, 4, 7, 16, 19, 129 if groups == 1 else 2))
    )
    kernel, stride, padding, dilation, size = (tuple(part) for part in zip(*axes, strict=True))
    if not depthwise and draw.random() < 0.6:
        dilation = (1,) * len(axes)
    kind: Any = nn.Conv1d if len(axes) == 1 else nn.Conv2d
    layer = kind(channels, outputs, kernel, stride, padding, dilation, groups, draw.random() < 0.7)
    return layer, (channels, *size)


def _batched(draw: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if draw.random() < 0.15 else (draw.randint(1, 5), *shape)


def _norm(draw: random.Random, layer: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """``layer`` with a batch normalisation by constant statistics after it."""
    if not isinstance(layer, nn.Conv2d) or len(shape) != 4:
        return layer
    norm = nn.BatchNorm2d(layer.out_channels, affine=draw.random() < 0.8)
    assert norm.running_mean is not None and norm.running_var is not None
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    return nn.Sequential(layer, norm).eval()


def _pooling(draw: random.Random) -> tuple[nn.Module, tuple[int, ...]]:
    dimensions = draw.choice((1, 2, 2, 2, 2))
    axes = _axes(draw, dimensions, 20)
    kernel, stride, _, dilation, size = (tuple(part) for part in zip(*axes, strict=True))
    padding = tuple(draw.choice((0, draw.randint(0, one // 2))) for one in kernel)
    shape = (draw.choice((1, 2, 3, 5, 15, 16, 17, 31, 64, 70)), *size)
    ceil = draw.random() < 0.4
    average: Any = nn.AvgPool1d if dimensions == 1 else nn.AvgPool2d
    largest: Any = nn.MaxPool1d if dimensions == 1 else nn.MaxPool2d
    kind = draw.random()
    if kind < 0.1 and dimensions == 2:
        return nn.AdaptiveAvgPool2d(1), shape
    if kind < 0.5:
        return average(kernel, stride, padding, ceil, draw.random() < 0.5), shape
    return largest(kernel, stride, padding, dilation, ceil_mode=ceil), shape


def _drawn(draw: random.Random) -> Case:
    dtype = draw.choice((*[torch.float32] * 6, torch.float64, torch.float64, torch.bfloat16))
    kind, relu = draw.random(), draw.random() < 0.5
    if kind < 0.5:
        layer, shape = _convolution(draw)
        shape = _batched(draw, shape)
        after = draw.random()
        if after < 0.2:
            layer = _norm(draw, layer, shape)
        elif after < 0.35 and dtype is not torch.bfloat16:  # two rounded numbers may cancel each other
            layer = Sum(layer, copy.deepcopy(layer))
        return Case(layer, relu, shape, dtype)
    if kind < 0.6:
        # What pooling lets through depends on the least difference: whole numbers have none.
        layer, shape = _convolution(draw)
        pool = nn.MaxPool2d(draw.choice((1, 2, 3)), draw.choice((1, 2)), ceil_mode=draw.random() < 0.5)
        if isinstance(layer, nn.Conv1d):
            return Case(layer, relu, _batched(draw, shape), dtype, True, ("mm", "direct", "stock"))
        layers = [layer, nn.ReLU(), pool] if draw.random() < 0.7 else [layer, pool]
        shape = _batched(draw, shape)
        return Case(nn.Sequential(*layers), False, shape, dtype, True, ("mm", "direct", "stock"))
    if kind < 0.7:
        features, outputs = (draw.choice((1, 2, 3, 7, 16, 31, 64, 100, 257)) for _ in range(2))
        rows = (draw.choice((1, 1, 2, 3, 4, 5, 8, 9, 17, 32, 33, 40)),)
        between = (draw.randint(1, 4),) if draw.random() < 0.2 else ()
        return Case(
            nn.Linear(features, outputs, draw.random() < 0.7), relu, (*rows, *between, features), dtype
        )
    if kind < 0.8:
        channels, batch = draw.choice((1, 2, 3, 5, 16, 17, 40, 65)), draw.randint(1, 5)
        extent = draw.choice(((), (draw.randint(1, 9),), *[(draw.randint(1, 9), draw.randint(1, 9))] * 4))
        norm: Any = nn.BatchNorm2d if len(extent) == 2 else nn.BatchNorm1d
        by = draw.choice(((0.1, True), (None, True), (0.1, False)))
        layer = norm(channels, 1e-3, by[0], draw.random() < 0.7, by[1])
        return Case(layer.train(draw.random() < 0.7), relu, (batch, channels, *extent), dtype)
    layer, shape = _pooling(draw)
    return Case(layer, relu, _batched(draw, shape), dtype, True)


def _has_empty_window(pool: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether a window of dilated max-pooling may lie in the padding, where PyTorch writes anywhere."""
    if not isinstance(pool, nn.MaxPool1d | nn.MaxPool2d):
        return any(_has_empty_window(child, shape) for child in pool.children())
    return pool.dilation not in (1, (1,), (1, 1)) and pool.padding not in (0, (0,), (0, 0))


def _filled(case: Case, numbers: torch.Generator) -> None:
    """Draws the parameters."""
    with torch.no_grad():
        for parameter in case.layer.parameters():
            if case.whole:
                parameter.copy_(torch.randint(-2, 3, parameter.shape, generator=numbers))
            else:
                parameter.copy_(torch.randn(parameter.shape, generator=numbers))


def draw_case(draw: random.Random, numbers: torch.Generator) -> tuple[Case, Tensor, list[Tensor]]:
    """Draws a case that PyTorch can run; returns also an input, and the exact results for a random
    gradOutput, which comes last."""
    while True:
        torch.manual_seed(draw.randrange(1 << 30))
        try:
            case = _drawn(draw)
        except ValueError:  # sizes that PyTorch refuses
            continue
        by_batch = case.layer.training and isinstance(case.layer, nn.BatchNorm1d | nn.BatchNorm2d)
        if by_batch and math.prod(case.shape) < 4 * case.shape[1]:
            continue  # the deviation may be as small as a rounding
        if math.prod(case.shape) > 1 << 17 or _has_empty_window(case.layer, case.shape):
            continue
        _filled(case, numbers)
        case.layer.to(case.dtype)
        x = _numbers(case, case.shape, numbers)
        exact = copy.deepcopy(case.module).double()
        try:
            with torch.no_grad():
                before: Tensor = copy.deepcopy(exact[0] if case.relu else exact)(x.double())
            if before.numel() > 1 << 17:
                continue
            grad_out = _numbers(case, tuple(before.shape), numbers)
            if case.relu:  # a rounding decides what it lets through where there is next to nothing
                grad_out[before.abs() < 3 * TOLERANCE[case.dtype] * before.abs().max()] = 0
            return case, x, [*exact_results(exact, x.double(), grad_out.double()), grad_out]
        except (RuntimeError, ValueError):
            continue


def _numbers(case: Case, shape: tuple[int, ...], numbers: torch.Generator) -> Tensor:
    if case.whole:
        return torch.randint(-3, 4, shape, generator=numbers).to(case.dtype)
    return torch.randn(shape, generator=numbers).to(case.dtype)


# Checks -----------------------------------------------------------------------------------------------------


def check_case(seed: int, runs: int = 3) -> None:
    """Draws a case and checks it on this many pairs of a backend and a compiler, or none; raises
    AssertionError."""
    draw, numbers = random.Random(seed), torch.Generator().manual_seed(seed)
    case, x, (*exact, grad_out) = draw_case(draw, numbers)
    x, grad_out = between_pages(x, draw), between_pages(grad_out, draw)
    with torch.no_grad():
        for parameter in case.layer.parameters():
            parameter.data = between_pages(parameter.data, draw)
    odd_x, odd_grad = (_with_odd_numbers(tensor, draw) for tensor in (x, grad_out))
    if case.relu:
        odd_grad = odd_grad.masked_fill(grad_out == 0, 0)
    own = exact_results(copy.deepcopy(case.module), x, grad_out)
    plain = exact_results(copy.deepcopy(case.module), odd_x, odd_grad)
    double = exact_results(copy.deepcopy(case.module).double(), odd_x.double(), odd_grad.double())

    def choose(tuner: Tuner, key: str, candidates: Any, *_: Any) -> Choice:
        return Choice(draw.choice(sorted(candidates)), RULE)

    pairs = list(itertools.product(case.backends, WITH_AND_WITHOUT))
    for backend, compiler in draw.sample(pairs, min(runs, len(pairs))):
        inference = draw.random() < 0.4
        module = copy.deepcopy(case.module)
        with (
            c_compiler(compiler),
            threads(draw.choice((1, 1, 1, 1, 2, 3))),
            guard_pages(draw),
            mock.patch.object(Tuner, "choose", choose),
            mock.patch("convnet_benchmarks.nets.engine.ahead.compile_ahead", lambda *_: None),
            compile(module, case.shape, backend, case.dtype, inference=inference) as phases,
        ):
            names = [layer.algorithms for layer in phases.report().layers]
            told = f"seed {seed}: {case} by {backend} {compiler} {names}"
            for _ in range(draw.choice((1, 1, 3))):
                found = _results(phases, x, grad_out)
                # PyTorch's own numbers are wrong for some convolutions with one column of outputs.
                own_are_wrong = "stock" in told and not _right(own, exact, case, grad_out)
                assert own_are_wrong or _right(found, exact, case, grad_out), f"{told}: wrong"
                if _normalises(module):  # the statistics have moved
                    break
                for parameter in module.parameters():
                    parameter.grad = None
            module.zero_grad()
            found = _results(phases, odd_x, odd_grad)
            for number, results in enumerate(zip(found, plain, double, strict=False)):
                if number < 2 or not _pads(module):  # what a gradient times padding gives is by algorithm
                    exactly = not _may_spread(names, number) and case.dtype is not torch.bfloat16
                    _check_odd_numbers(*results, exactly, _normalises(module), f"{told}, odd result {number}")


def _results(phases: EnginePhases, x: Tensor, grad_out: Tensor) -> list[Tensor]:
    output = phases.updateOutput(x).clone()
    if INPUT_GRADIENT not in phases._by_layer:
        return [output]
    phases.zeroGradParameters()
    grad_in = phases.updateGradInput(x, grad_out)
    phases.accGradParameters(x, grad_out)
    return [output, grad_in, *(one.grad for one in phases.module.parameters() if one.grad is not None)]


def _with_odd_numbers(tensor: Tensor, draw: random.Random) -> Tensor:
    found = tensor.clone()
    for _ in range(draw.choice((1, 1, 2, 5))):
        value = draw.choice((math.nan, math.inf, -math.inf))
        found.view(-1)[draw.randrange(found.numel())] = value
    return found


def _right(found: list[Tensor], exact: list[Tensor], case: Case, grad_out: Tensor) -> bool:
    """Whether all results (perhaps the output alone) are near enough."""
    for have, want in zip(found, exact, strict=False):
        largest = float(want.abs().max())
        if isinstance(
            case.layer, nn.BatchNorm1d | nn.BatchNorm2d
        ):  # gradients are differences of large terms
            weight = case.layer.weight
            by_weight = 1.0 if weight is None else float(weight.detach().abs().max())
            largest += float(grad_out.abs().max()) * (1 + by_weight) * 30
        if case.dtype is torch.bfloat16 and _normalises(
            case.layer
        ):  # so are a folded one's, of rounded terms
            largest *= 4
        error = float((have.double() - want.double()).abs().max())
        if have.shape != want.shape or not error <= TOLERANCE[case.dtype] * largest:
            return False
    return True


def _may_spread(names: list[dict[str, str]], number: int) -> bool:
    """Whether result ``number`` comes from an algorithm that lets a number reach its neighbours."""
    phases = (FORWARD,) if number == 0 else (FORWARD, INPUT_GRADIENT) if number == 1 else tuple(names[0])
    used = [algorithms.get(phase, "") for algorithms in names for phase in phases]
    return any(word in name for name in used for word in ("winograd", "fft", "phases"))


def _check_odd_numbers(
    have: Tensor, plain: Tensor, double: Tensor, exactly: bool, norm: bool, told: str
) -> None:
    """``have`` is not finite where PyTorch's result is not, in float32 and float64; ``exactly``:
    and nowhere else, and NaN and infinite numbers are told apart but by a ``norm``, which subtracts both."""
    odd = ~(plain.isfinite() | double.isfinite())
    assert not bool((odd & have.isfinite()).any()), f"{told}: hidden"
    if not exactly:
        return
    assert not bool((plain.isfinite() & double.isfinite() & ~have.isfinite()).any()), f"{told}: made"
    for value in () if norm else (math.nan, math.inf, -math.inf):
        wanted = _is(plain, value) & _is(double, value)
        assert not bool((wanted & ~_is(have, value)).any()), f"{told}: not {value}"


def _is(tensor: Tensor, value: float) -> Tensor:
    return tensor.isnan() if math.isnan(value) else tensor == value


def _pads(module: nn.Module) -> bool:
    return any(getattr(part, "padding", 0) not in (0, (0,), (0, 0)) for part in module.modules())


def _normalises(module: nn.Module) -> bool:
    return any(isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d) for part in module.modules())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=20000, help="how many seeds")
    options = parser.parse_args()
    failures = 0
    for seed in range(options.first, options.first + options.count):
        print(f"\rseed {seed}", end="", file=sys.stderr, flush=True)
        try:
            check_case(seed)
        except Exception as error:
            failures += 1
            print(f"{type(error).__name__} {error}", flush=True)
    print(f"{options.count} shapes, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())

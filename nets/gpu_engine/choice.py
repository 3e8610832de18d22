"""Chooses the fastest correct way for each layer and phase, by running them on the layer's own data."""

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.choice.times_file import Times, add_times, known_times
from convnet_benchmarks.nets.gpu_engine.reference import reference, relative
from convnet_benchmarks.nets.gpu_engine.shape import Convolution
from convnet_benchmarks.nets.gpu_engine.ways import Compute, Pass, family, is_compiled, rounds_to_tf32, ways
from convnet_benchmarks.nets.phases import PHASES, WEIGHT_GRADIENT

VERSION = 2  # of the ways: times of older versions are ignored
# The largest error of a part of a result compared with float64, relative to the largest element ...
_TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5}
_OTHER_TOLERANCE = 2e-2  # half precision, and float32 rounded to TF32
_FROM_PLAINEST = 3e-2  # ... and of all of it compared with the simplest way's
_RUNS = 3
_SLOWER_IS_OUT = 1.5  # after one run


@dataclass
class Tried:
    """One way: milliseconds, its error relative to the largest element, and why it was not taken, if so."""

    ms: float = math.inf
    error: float = 0.0
    why_not: str = ""


@dataclass
class Chosen:
    """The way of each phase, and all ways tried in this process."""

    shape: Convolution
    names: dict[str, str] = field(default_factory=dict)
    compute: dict[str, Compute] = field(default_factory=dict)
    tried: dict[str, dict[str, Tried]] = field(default_factory=dict)


class Chooser:
    """Chooses for layers in ``channels_last`` or PyTorch's usual layout; equal shapes share a choice.

    ``families``: the families of ways that may be taken. ``path``: the file of times (None: not kept).
    ``seconds``: for how long ways are tried; after that the one that is usually the fastest is taken, if it
    is correct. ``told`` is called with each way's name before it is tried.
    """

    def __init__(
        self,
        channels_last: bool,
        families: Iterable[str],
        path: Path | None = None,
        seconds: float = math.inf,
        told: Callable[[str], object] = lambda name: None,
    ) -> None:
        self.channels_last = channels_last
        self.chosen: dict[Convolution, Chosen] = {}
        self.seconds = 0.0  # spent on choosing
        self._families = set(families)
        self._path = path
        self._most_seconds = seconds
        self._told = told
        self._known: Times = known_times(path, machine_key()) if path else {}
        self._new: Times = {}

    def plainest(self, shape: Convolution) -> Chosen:
        """Returns the first (simplest) way of each phase, without timing."""
        found = Chosen(shape)
        for phase in PHASES:
            name, compute = next(iter(ways(shape, phase, self.channels_last).items()))
            found.names[phase], found.compute[phase] = name, compute
        return found

    def choose(self, one: Pass, phases: Sequence[str] = PHASES) -> Chosen:
        if one.shape in self.chosen:
            return self.chosen[one.shape]
        started = time.perf_counter()
        found = self.chosen[one.shape] = Chosen(one.shape)
        kept: dict[str, object] = {}  # operands made by an earlier phase, which a later one can reuse
        for phase in phases:
            candidates = self._candidates(one.shape, phase)
            key = self._key(one.shape, phase)
            times = self._new.get(key) or self._known.get(key) or {}
            if not set(candidates) <= set(times):
                tried = found.tried[phase] = self._try(one, phase, candidates, kept)
                times = {name: way.ms for name, way in tried.items()}
                if len(times) == len(candidates):
                    self._new[key] = times
            # If none is correct enough, the first: PyTorch's own.
            name = min(candidates, key=lambda name: times.get(name, math.inf))
            found.names[phase], found.compute[phase] = name, candidates[name]
            if phase != WEIGHT_GRADIENT:
                of_phase = one.again()
                candidates[name](of_phase)
                kept.update(of_phase.kept)
        self.seconds += time.perf_counter() - started
        return found

    def untried(self, shape: Convolution, phase: str) -> dict[str, Compute]:
        """Returns the ways that ``choose`` would try."""
        candidates = self._candidates(shape, phase)
        known = self._known.get(self._key(shape, phase), {})
        return {} if set(candidates) <= set(known) else candidates

    def save(self) -> None:
        """Adds the new times to the file."""
        if self._path is not None:
            add_times(self._path, machine_key(), self._new)

    def _key(self, shape: Convolution, phase: str) -> str:
        layout = "channels-last" if self.channels_last else "nchw"
        return f"{shape}, {'TF32, ' if rounds_to_tf32() else ''}{layout}, {phase}"

    def _candidates(self, shape: Convolution, phase: str) -> dict[str, Compute]:
        found = ways(shape, phase, self.channels_last)
        allowed = {name: way for name, way in found.items() if family(name) in self._families}
        return allowed or dict(list(found.items())[:1])

    def _try(
        self, one: Pass, phase: str, candidates: Mapping[str, Compute], kept: dict[str, object]
    ) -> dict[str, Tried]:
        found: dict[str, Tried] = {}
        best = math.inf
        if self.seconds > self._most_seconds:
            candidates = _likely(candidates)
        try:
            exact = reference(one, phase)
        except torch.OutOfMemoryError:
            return found  # nothing can be checked
        plainest: Tensor | None = None
        for name, compute in candidates.items():
            self._told(name)
            tried = found[name] = Tried()

            def run(compute: Compute = compute) -> Tensor:
                return compute(one.again(kept))

            try:
                result = run()
                tried.error = exact.error(result)
                if plainest is None:
                    plainest = result
                elsewhere = relative(result, plainest)
                del result
                if not tried.error <= _tolerance(one.shape.dtype):
                    tried.why_not = f"differs from float64 by {tried.error:.1e} of the largest element"
                elif not elsewhere <= _FROM_PLAINEST:
                    tried.why_not = f"differs from PyTorch by {elsewhere:.1e} of the largest element"
                else:
                    tried.ms = milliseconds(run, _SLOWER_IS_OUT * best)
                    best = min(best, tried.ms)
            except Exception as error:  # any error: the way is skipped
                tried.why_not = f"{type(error).__name__}: {error}"[:300]
                torch.cuda.synchronize()  # an unrecoverable error of the device is raised here
        return found


def machine_key() -> str:
    """Identifies all that a choice depends on besides the layer: the card and its software."""
    try:
        from triton import __version__ as triton
    except ImportError:
        triton = "none"
    versions = f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, triton {triton}"
    return f"{torch.cuda.get_device_name()}, {versions}, ways {VERSION}"


def _tolerance(dtype: torch.dtype) -> float:
    if dtype is torch.float32 and rounds_to_tf32():
        return _OTHER_TOLERANCE
    return _TOLERANCES.get(dtype, _OTHER_TOLERANCE)


def _likely(candidates: Mapping[str, Compute]) -> dict[str, Compute]:
    """Returns the simplest way and the one that is usually the fastest, for when there is no time for
    more."""
    first = next(iter(candidates))
    compiled = [name for name in candidates if is_compiled(name)]
    return {name: candidates[name] for name in dict.fromkeys((first, *compiled[:1]))}


def milliseconds(run: Callable[[], object], slow: float = math.inf) -> float:
    """Returns the least device time of a few runs; of one if that took longer than ``slow``."""
    first = _timed(run)
    if first > slow:
        return first
    return min(first, *(_timed(run) for _ in range(_RUNS)))


def _timed(run: Callable[[], object]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    # Keeps the device busy while the host issues the run, and flushes the cache.
    _other_memory().zero_()
    begin.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


@cache
def _other_memory() -> Tensor:
    _, total = torch.cuda.mem_get_info()
    return torch.empty(total >> 6, dtype=torch.uint8, device="cuda")


def free_memory() -> None:
    """Frees the memory used for timing."""
    _other_memory.cache_clear()
    torch.cuda.empty_cache()


def compile_ahead(chooser: Chooser, passes: Iterable[Pass], threads: int) -> None:
    """Compiles the kernels of all ways that ``chooser`` would try on these layers, on ``threads`` cores."""

    def on_meta(x: Tensor) -> Tensor:
        return torch.empty_like(x, device="meta")

    def compile(compute: Compute, one: Pass) -> None:
        with contextlib.suppress(Exception):  # the error is reported when it is tried
            compute(one)

    with ThreadPoolExecutor(threads) as pool:
        for shape, one in {one.shape: one for one in passes}.items():
            for phase in PHASES:
                for name, compute in chooser.untried(shape, phase).items():
                    if is_compiled(name):
                        pool.submit(compile, compute, one.mapped(on_meta))

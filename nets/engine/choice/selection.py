"""Chooses the kernels of a convolution or Linear layer: forced by family, or the fastest when timed."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.choice import algorithms
from convnet_benchmarks.nets.engine.choice.algorithms import KernelMaker
from convnet_benchmarks.nets.engine.choice.effort import QUICK, THOROUGH, Effort
from convnet_benchmarks.nets.engine.choice.experience import Features
from convnet_benchmarks.nets.engine.choice.tuning import Candidates, Question, Tuner
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.kernels.tile_transforms import TileTransforms
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, PHASES

Kernels = dict[str, tuple[str, Kernel]]  # phase -> algorithm's name and kernel

_DRAWN = 1 << 16  # random numbers, repeated to fill a trial's operands
_PREFERENCE = 0.1
_WAY_THROUGH_PYTHON = 0.03  # ms, from compiled code to a kernel through Python, and back
_PLAIN = "mm"  # the fallback where the forced family does not apply


@dataclass(frozen=True)
class _Work:
    """The work that kernels are chosen for: ``name`` describes one image (or row) of it."""

    name: str
    batch: int
    multiply_adds: int  # of one image
    positions: int  # of one image's output
    kind: str  # equal for works on which kernels compare alike
    channels: tuple[int, int]  # in and out
    candidates: Callable[[int, str], dict[str, KernelMaker]]  # of a batch size and a phase
    sizes: Callable[[int], tuple[tuple[int, ...], ...]]  # of input, output and weight for a batch size
    few_rows: bool  # a matrix product with one row per image
    shape: ConvolutionShape | None = None  # of the convolution
    after: tuple[str, ...] = ()  # operations fused into the forward pass: "bias", "ReLU"


class Selection:
    """Chooses and makes the kernels of one plan. ``fallbacks``: the layers that the forced family cannot
    run. ``decided_by``: what decided, for each layer and phase."""

    def __init__(
        self,
        backend: str,
        dtype: torch.dtype,
        tuner: Tuner,
        memory: Memory,
        check_weights: bool,
        phases: Sequence[str] = PHASES,
    ) -> None:
        self.backend = backend
        self.fallbacks: dict[str, str] = {}
        self.decided_by: dict[str, dict[str, str]] = {}
        self.dtype = dtype
        self._tuner = tuner
        self._memory = memory
        self.check_weights = check_weights
        self._phases = phases

    @property
    def for_inference(self) -> bool:
        """Returns whether there is only the forward pass."""
        return tuple(self._phases) == (FORWARD,)

    def for_convolution(self, layer: str, shape: ConvolutionShape, bias: bool, relu: bool) -> Kernels:
        """Chooses a convolution's kernels. ``bias`` and ``relu``: whether the layer has them."""
        work = _Work(
            shape.describe(),
            shape.batch,
            shape.multiply_adds // shape.batch,
            shape.positions // shape.batch,
            f"k{shape.kernel} s{shape.stride}",
            (shape.in_channels, shape.out_channels),
            lambda batch, phase: algorithms.candidates(
                replace(shape, batch=batch),
                phase,
                self.for_inference,
            ),
            lambda batch: (
                (batch, *shape.input_shape[1:]),
                (batch, *shape.output_shape[1:]),
                shape.weight_shape,
            ),
            shape.covers_input,
            shape,
            self._after(bias, relu),
        )
        return self._kernels(layer, work)

    def for_linear(
        self, layer: str, rows: int, features: int, outputs: int, bias: bool, relu: bool
    ) -> Kernels:
        work = _Work(
            f"linear {features}->{outputs}",
            rows,
            features * outputs,
            1,
            "linear",
            (features, outputs),
            lambda batch, phase: dict(
                algorithms.linear_candidates(
                    batch,
                    features,
                    outputs,
                    self.dtype,
                    phase,
                    self.for_inference,
                )
            ),
            lambda batch: ((batch, features), (batch, outputs), (outputs, features)),
            True,
            after=self._after(bias, relu),
        )
        return self._kernels(layer, work)

    def _after(self, bias: bool, relu: bool) -> tuple[str, ...]:
        """Returns the fused operations to time a forward pass with: for inference both, as most layers have
        them."""
        there = (("bias", bias), ("ReLU", relu))
        return tuple(name for name, has in there if has or self.for_inference)

    def _kernels(self, layer: str, work: _Work) -> Kernels:
        """Returns one kernel per phase; phases that chose the same algorithm share it and its copies of the
        weight."""
        allowed = {
            phase: self._allowed(layer, work.candidates(work.batch, phase), work.few_rows)
            for phase in self._phases
        }
        names = {name for found in allowed.values() for name in found}
        # Most choices need only one of the two.
        timed = _Timed(self, work, THOROUGH, names)
        quick = _Timed(self, work, QUICK, names)
        made: dict[str, Kernel] = {}
        kernels: Kernels = {}
        for phase, found in allowed.items():
            # A kernel shared with another phase costs no memory (neither buffers nor copies of the weight).
            # Between compiled kernels no Python runs in inference. Such kernels may be a tenth slower:
            # calling one that is not compiled costs a plan time in Python, which no timing shows.
            compiled = set(filter(algorithms.is_compiled, found))
            preferred = compiled if self.for_inference else set(made)
            way = _WAY_THROUGH_PYTHON if timed.batch == work.batch else 0.0  # otherwise negligible
            choice = self._tuner.choose(
                timed.key(phase),
                timed.runs(phase, found),
                Question(quick.key(phase) + ", quick", quick.runs(phase, found)),
                Features(
                    f"{work.kind} {self.dtype} {phase}{timed.after(phase)}",
                    tuple(math.log2(size) for size in (*work.channels, work.positions * timed.batch)),
                ),
                partial(_cost, preferred, compiled, way),
                algorithms.likely_fastest(found, phase, work.shape),
            )
            name = choice.name
            self.decided_by.setdefault(layer, {})[phase] = choice.by
            if name not in made:
                made[name] = found[name](self._memory)
                if self.check_weights:
                    for copy in made[name].copies():
                        copy.checked = True
            kernels[phase] = (name, made[name])
        return kernels

    def timed_batch(self, work: _Work, effort: Effort, names: Collection[str]) -> int:
        """Returns how many images kernels are timed on, see :class:`Effort`."""
        if any(algorithms.is_bilinear(name) for name in names):
            multiply_adds, positions = effort.bilinear_multiply_adds, effort.bilinear_positions
        else:
            multiply_adds, positions = effort.multiply_adds, effort.positions
        enough = max(
            multiply_adds // work.multiply_adds, -(-positions // work.positions), torch.get_num_threads()
        )
        return min(work.batch, enough)

    def _allowed(self, layer: str, found: dict[str, KernelMaker], few_rows: bool) -> dict[str, KernelMaker]:
        allowed = _of_backend(self.backend, found, few_rows, self.for_inference)
        if not allowed:
            self.fallbacks[layer] = f"{self.backend} does not apply"
        return allowed or algorithms.of_family(found, _PLAIN)


def _of_backend(
    backend: str, found: dict[str, KernelMaker], few_rows: bool, for_inference: bool
) -> dict[str, KernelMaker]:
    """Returns the candidates that a backend chooses among; none if it does not apply."""
    if backend == "auto":
        return algorithms.worth_timing(found, few_rows, for_inference)
    forced = algorithms.of_family(found, backend)
    return algorithms.worth_timing(forced, few_rows=False, for_inference=for_inference)


def likely_transforms(
    shapes: Iterable[ConvolutionShape], backend: str, phases: Sequence[str]
) -> list[TileTransforms]:
    """Returns the tile transforms of the compiled kernels that are likely the fastest, without duplicates."""
    transforms: dict[tuple[str, tuple[int, int]], TileTransforms] = {}
    for shape, phase in product(shapes, phases):
        for_inference = tuple(phases) == (FORWARD,)
        found = algorithms.candidates(shape, phase, for_inference)
        allowed = _of_backend(backend, found, shape.covers_input, for_inference)
        name = algorithms.likely_fastest(allowed, phase, shape) if allowed else ""
        if algorithms.is_bilinear(name) and algorithms.is_compiled(name):
            transforms[name, shape.kernel] = algorithms.transforms_of(name, shape)
    return list(transforms.values())


def _cost(
    preferred: Collection[str], compiled: Collection[str], way: float, name: str, milliseconds: float
) -> float:
    """Returns the cost in a plan of a kernel whose run took ``ms``. ``way``: what calling a kernel that is
    not compiled costs."""
    around = 0.0 if name in compiled else way
    return (milliseconds + around) / (1 + _PREFERENCE * (name in preferred))


class _Timed:
    """The timings for a choice with some effort: the number of images, and the runs."""

    def __init__(self, selection: Selection, work: _Work, effort: Effort, names: Collection[str]) -> None:
        self.batch = selection.timed_batch(work, effort, names)
        self._selection = selection
        self._work = work
        self._trial = Trial(work.sizes(self.batch), selection.dtype, work.after)

    def key(self, phase: str) -> str:
        """Returns the key of the timings."""
        work, selection = self._work, self._selection
        dtype = str(selection.dtype).removeprefix("torch.")
        return f"{work.name} batch {self.batch} {dtype} {phase}{self.after(phase)}"

    def after(self, phase: str) -> str:
        """Returns what distinguishes timings of the same convolution or product."""
        if self._selection.for_inference:
            return ", inference"
        return "".join(f", {name}" for name in self._work.after) if phase == FORWARD else ""

    def runs(self, phase: str, found: Collection[str]) -> Candidates:
        """Returns the candidates of ``found``, each with the function that prepares its run."""
        candidates = self._work.candidates(self.batch, phase)
        return {
            name: partial(self._trial.prepare, phase, candidates[name])
            for name in found
            if name in candidates
        }


class Trial:
    """Prepares timed runs of a layer's phases, on separate data and memory.

    ``after``: operations fused into the forward pass, of "bias" and "ReLU".
    """

    def __init__(
        self, sizes: tuple[tuple[int, ...], ...], dtype: torch.dtype, after: Collection[str] = ()
    ) -> None:
        self._after = after
        self._sizes = sizes
        self._dtype = dtype
        self._memory = Memory()
        self._operands: list[Tensor] = []

    def prepare(self, phase: str, make: KernelMaker) -> Callable[[], None]:
        if not self._operands:
            # On separate mappings: tensors that share one share PyTorch's version counter, and a write to the
            # output would make the kernels transform the weight again.
            self._operands = [_some_numbers(self._memory.lasting(size, self._dtype)) for size in self._sizes]
        x, out, weight = self._operands
        kernel = make(self._memory)
        if phase == FORWARD:
            bias = weight.new_zeros(len(weight)) if "bias" in self._after else None
            return lambda: kernel.forward(x, weight, bias, out, "ReLU" in self._after)
        if phase == INPUT_GRADIENT:
            return lambda: kernel.input_gradient(out, weight, x)
        total = torch.zeros_like(weight)
        return lambda: kernel.weight_gradient(x, out, total)


def _some_numbers(out: Tensor) -> Tensor:
    """Fills ``out`` by repeating the same normal numbers: drawing them all would take longer than the timed
    runs."""
    random = torch.Generator().manual_seed(0)  # the user's generator must not advance
    values = torch.empty(min(out.numel(), _DRAWN), dtype=out.dtype).normal_(generator=random)
    flat = out.view(-1)
    whole = flat.numel() // len(values) * len(values)
    flat[:whole].view(-1, len(values)).copy_(values)
    flat[whole:].copy_(values[: flat.numel() - whole])
    return out

"""Chooses the kernels of a convolution or Linear layer: forced by family, or the fastest when timed."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from nets.engine.choice import algorithms
from nets.engine.choice.algorithms import KernelMaker
from nets.engine.choice.tuning import Tuner
from nets.engine.kernels.kernel import Kernel
from nets.engine.memory import Memory
from nets.engine.shapes import ConvolutionShape
from nets.engine.workers import Workers
from nets.phases import FORWARD, INPUT_GRADIENT, PHASES

Kernels = dict[str, tuple[str, Kernel]]  # phase to algorithm's name and kernel

_PLAIN = "mm"  # what runs where the forced family does not apply
# A batch is timed on as many images as make this much work of the direct algorithm, and this many positions:
# what is fastest for them is fastest for more, as every kernel works through a batch in pieces.
_TIMED_MULTIPLY_ADDS, _TIMED_POSITIONS = 6_000_000_000, 1600
# With few positions bilinear algorithms, whose weights are large, look slower than they are.
_TIMED_MULTIPLY_ADDS_BILINEAR, _TIMED_POSITIONS_BILINEAR = 12_000_000_000, 3200


@dataclass(frozen=True)
class _Work:
    """The work that kernels are chosen for: ``name`` describes one image (or row) of it."""

    name: str
    batch: int
    multiply_adds: int  # of one image
    positions: int  # of one image's output
    candidates: Callable[[int, str], dict[str, KernelMaker]]  # of a batch size and a phase
    sizes: Callable[[int], tuple[tuple[int, ...], ...]]  # of input, output and weight for a batch size
    few_rows: bool  # a matrix product with one row per image
    divided: Collection[str] = ()  # phases that worker threads share


class Selection:
    """Chooses and makes the kernels of one plan. ``fallbacks``: the layers that the forced family cannot
    run."""

    def __init__(
        self,
        backend: str,
        dtype: torch.dtype,
        tuner: Tuner,
        memory: Memory,
        workers: Workers,
        check_weights: bool,
    ) -> None:
        self.backend = backend
        self.fallbacks: dict[str, str] = {}
        self._dtype = dtype
        self._tuner = tuner
        self._memory = memory
        self._workers = workers
        self._check_weights = check_weights

    def for_convolution(self, layer: str, shape: ConvolutionShape, divided: Collection[str]) -> Kernels:
        """Chooses a convolution's kernels. ``divided``: the phases that worker threads share, see
        :func:`algorithms.candidates`."""
        work = _Work(
            shape.describe(),
            shape.batch,
            shape.multiply_adds // shape.batch,
            shape.positions // shape.batch,
            lambda batch, phase: algorithms.candidates(
                replace(shape, batch=batch), phase, self._workers if phase in divided else None
            ),
            lambda batch: (
                (batch, *shape.input_shape[1:]),
                (batch, *shape.output_shape[1:]),
                shape.weight_shape,
            ),
            shape.covers_input,
            divided,
        )
        return self._kernels(layer, work)

    def for_linear(self, layer: str, rows: int, features: int, outputs: int) -> Kernels:
        work = _Work(
            f"linear {features}->{outputs}",
            rows,
            features * outputs,
            1,
            lambda batch, phase: dict(
                algorithms.linear_candidates(batch, features, outputs, self._dtype, phase)
            ),
            lambda batch: ((batch, features), (batch, outputs), (outputs, features)),
            True,
        )
        return self._kernels(layer, work)

    def _kernels(self, layer: str, work: _Work) -> Kernels:
        """Returns one kernel per phase; phases that chose the same algorithm share it and its copies of the
        weight."""
        allowed = {
            phase: self._allowed(layer, work.candidates(work.batch, phase), work.few_rows) for phase in PHASES
        }
        timed_batch = self._timed_batch(work, {name for names in allowed.values() for name in names})
        trial = Trial(work.sizes(timed_batch), self._dtype)
        dtype = str(self._dtype).removeprefix("torch.")
        made: dict[str, Kernel] = {}
        kernels: Kernels = {}
        for phase, found in allowed.items():
            timed = work.candidates(timed_batch, phase)
            runs = {name: partial(trial.prepare, phase, timed[name]) for name in found if name in timed}
            # A kernel that another phase has costs no memory: neither buffers nor copies of the weight.
            shared = f" by {self._workers.count} workers" if phase in work.divided else ""
            key = f"{work.name}{shared} batch {timed_batch} {dtype} {phase}"
            name = self._tuner.choose(key, runs, made)
            if name not in made:
                made[name] = found[name](self._memory)
                if self._check_weights:
                    for copy in made[name].copies():
                        copy.checked = True
            kernels[phase] = (name, made[name])
        return kernels

    def _timed_batch(self, work: _Work, names: Collection[str]) -> int:
        if any(algorithms.is_bilinear(name) for name in names):
            multiply_adds, positions = _TIMED_MULTIPLY_ADDS_BILINEAR, _TIMED_POSITIONS_BILINEAR
        else:
            multiply_adds, positions = _TIMED_MULTIPLY_ADDS, _TIMED_POSITIONS
        enough = max(
            multiply_adds // work.multiply_adds, -(-positions // work.positions), self._workers.count
        )
        return min(work.batch, enough)

    def _allowed(self, layer: str, found: dict[str, KernelMaker], few_rows: bool) -> dict[str, KernelMaker]:
        if self.backend == "auto":
            return algorithms.worth_timing(found, few_rows)
        forced = algorithms.of_family(found, self.backend)
        if forced:
            return forced
        self.fallbacks[layer] = f"{self.backend} does not apply"
        return algorithms.of_family(found, _PLAIN)


class Trial:
    """Prepares timed runs of a layer's phases, on numbers and in memory of its own."""

    def __init__(self, sizes: tuple[tuple[int, ...], ...], dtype: torch.dtype) -> None:
        self._sizes = sizes
        self._dtype = dtype
        self._memory = Memory()
        self._operands: list[Tensor] = []

    def prepare(self, phase: str, make: KernelMaker) -> Callable[[], None]:
        if not self._operands:
            random = torch.Generator().manual_seed(0)  # the user's generator is not ours to advance
            # On mappings of their own: tensors that share one share PyTorch's count of writes, and a write of
            # the output would make the kernels transform the weight again.
            self._operands = [
                self._memory.lasting(size, self._dtype).normal_(generator=random) for size in self._sizes
            ]
        x, out, weight = self._operands
        kernel = make(self._memory)
        if phase == FORWARD:
            return lambda: kernel.forward(x, weight, None, out, False)
        if phase == INPUT_GRADIENT:
            return lambda: kernel.input_gradient(out, weight, x)
        total = torch.zeros_like(weight)
        return lambda: kernel.weight_gradient(x, out, total)

"""The machine's roofline, and how close a plan's layers come to it: for the report."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import Parameter

from convnet_benchmarks.nets.engine.layers.layer import Layer, Step
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.report import Roof
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT

_SIDE = 1536  # of the matrices whose product measures the cores
_BYTES = 64 << 20  # copied to measure the memory: larger than the caches
_RUNS = 4
_PASSES = 5  # of the plan, at most
_SECONDS = 0.5  # after which no further pass starts

Shares = dict[tuple[int, str], float]  # by a layer's id and a phase


def measured_roof(dtype: torch.dtype) -> Roof:
    """Returns the best that a large matrix product and a large copy reach with PyTorch's threads."""
    a, b, out = (torch.ones(_SIDE, _SIDE, dtype=dtype) for _ in range(3))
    source, target = (torch.ones(_BYTES // dtype.itemsize, dtype=dtype) for _ in range(2))
    product = min(_seconds(lambda: torch.mm(a, b, out=out)) for _ in range(_RUNS))
    copy = min(_seconds(lambda: target.copy_(source)) for _ in range(_RUNS))
    return Roof(2 * _SIDE**3 / product, 2 * _BYTES / copy)


def shares_of_roof(steps: dict[str, Sequence[Step]], roof: Roof) -> Shares:
    """Runs the steps of some phases in their order, and returns the fraction of the roofline that each layer
    reaches.

    That is the least possible time of its work over its best measured time. The work of a phase is the
    multiply-adds of the direct algorithm, or the bytes of inputs, parameters and output, whichever takes
    longer. So the fraction exceeds 1 if an algorithm needs fewer multiplications, or if its inputs are in a
    cache. Steps that take no time, because their result shares memory with their input, have none.
    """
    best: dict[tuple[int, str], float] = {}
    layers: dict[int, Layer] = {}
    spare = _SpareGradients([layer for actions in steps.values() for layer, _ in actions])
    started = time.perf_counter()
    for _ in range(_PASSES):
        for phase, actions in steps.items():
            taken: dict[tuple[int, str], float] = defaultdict(float)
            for layer, action in actions:
                layers[id(layer)] = layer
                taken[id(layer), phase] += _step_seconds(layer, action, phase, spare)
            best |= {key: min(seconds, best.get(key, seconds)) for key, seconds in taken.items()}
        if time.perf_counter() - started > _SECONDS:
            break
    return {
        (name, phase): _least_seconds(layers[name], phase, roof) / seconds
        for (name, phase), seconds in best.items()
        if seconds > 0 and _moves(layers[name], phase)
    }


class _SpareGradients:
    """Memory for the gradients of one layer at a time: fresh memory for each would take most of the time."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        sizes = [sum(parameter.numel() for parameter in _trained(layer)) for layer in layers]
        dtype = next((parameter.dtype for layer in layers for parameter in _trained(layer)), torch.float32)
        self._memory = Memory().lasting((max(sizes, default=0),), dtype)

    @contextmanager
    def given_to(self, layer: Layer) -> Iterator[None]:
        """Gives the parameters temporary gradients, and restores theirs afterwards."""
        parameters = _trained(layer)
        before = [parameter.grad for parameter in parameters]
        sizes = [parameter.numel() for parameter in parameters]
        parts = self._memory[: sum(sizes)].zero_().split(sizes)
        try:
            for parameter, part in zip(parameters, parts, strict=True):
                parameter.grad = part.view(parameter.shape)
            yield
        finally:
            for parameter, grad in zip(parameters, before, strict=True):
                parameter.grad = grad


def _trained(layer: Layer) -> list[Parameter]:
    return [parameter for parameter in layer.parameters() if parameter.requires_grad]


def _step_seconds(layer: Layer, action: Callable[[Layer], None], phase: str, spare: _SpareGradients) -> float:
    if phase != WEIGHT_GRADIENT:
        return _seconds(lambda: action(layer))
    with spare.given_to(layer):
        return _seconds(lambda: action(layer))


def _least_seconds(layer: Layer, phase: str, roof: Roof) -> float:
    values = {id(value): value for value in (*layer.inputs, layer.output)}.values()
    count = sum(value.numel for value in values)
    # The parameters' gradients are read and written.
    count += sum(p.numel() for p in layer.parameters()) * (2 if phase == WEIGHT_GRADIENT else 1)
    count_bytes = count * layer.output.dtype.itemsize
    return max(2 * layer.work / roof.flops, count_bytes / roof.bytes_per_second)


def _moves(layer: Layer, phase: str) -> bool:
    """Returns whether no part of the phase's result shares memory with its inputs."""

    def apart(target: Tensor, sources: Sequence[Tensor]) -> bool:
        return all(source.data_ptr() != target.data_ptr() for source in sources)

    if phase == FORWARD:
        return apart(layer.output.data, [value.data for value in layer.inputs[:1]])
    return phase != INPUT_GRADIENT or layer.overwrites_gradient or apart(layer.output.grad, layer.grad_inputs)


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started

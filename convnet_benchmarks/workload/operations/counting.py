"""The operations of each layer of a net: by torch.utils.flop_counter, and by formula."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from convnet_benchmarks.nets.phases import AutogradPhases, forward_only
from convnet_benchmarks.timing.layers import called_layers, numbered
from convnet_benchmarks.workload.operations.formulas import Operations, operations

OUTSIDE = "(outside layers)"


@dataclass
class LayerCount:
    """A call of a layer. ``counted``: by flop_counter. ``elements``: of input, output and parameters."""

    path: str
    kind: str
    output_shape: tuple[int, ...] = ()
    counted: int = 0
    formula: Operations = field(default_factory=Operations)
    elements: int = 0


@dataclass
class Count:
    """A forward pass. ``unknown``: the operators that no formula counts, with how often they were called.

    ``activations``: elements of the outputs of matrix products and convolutions.
    """

    layers: list[LayerCount]
    unknown: dict[str, int]
    activations: int = 0

    @property
    def counted(self) -> int:
        return sum(layer.counted for layer in self.layers)

    @property
    def formula(self) -> Operations:
        return sum((layer.formula for layer in self.layers), Operations())


class _FormulaMode(TorchDispatchMode):
    """Adds up the operations of every operator call."""

    def __init__(self) -> None:
        super().__init__()
        self.sum = Operations()
        self.unknown: dict[str, int] = {}
        self.activations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        found = operations(func, args, kwargs or {}, output)
        if found is None:
            self.unknown[func.overloadpacket.__name__] = self.unknown.get(func.overloadpacket.__name__, 0) + 1
        else:
            self.sum += found
            self.activations += _elements(output) if found.matrix else 0
        return output


class _Everywhere(nullcontext[None]):
    """In place of flop_counter's knowledge of the module that runs, whose hooks autograd.grad refuses, and
    which checkpointed parts run in the backward."""

    parents = frozenset({"Global"})


class _Counters:
    """Both counters at once, without oneDNN, whose kernel of an LSTM is one operator that neither knows."""

    def __init__(self) -> None:
        self.onednn = False
        self.flop_counter = FlopCounterMode(display=False)
        setattr(self.flop_counter, "mod_tracker", _Everywhere())  # noqa: B010
        self.formula = _FormulaMode()

    def __enter__(self) -> "_Counters":
        (self.onednn, *_) = torch.backends.mkldnn.set_flags(False)
        self.flop_counter.__enter__()
        self.formula.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.formula.__exit__(*exception)
        self.flop_counter.__exit__(*exception)
        torch.backends.mkldnn.set_flags(self.onednn)

    def read(self) -> tuple[int, Operations]:
        return self.flop_counter.get_total_flops(), self.formula.sum


def count_forward(module: nn.Module, input: Any) -> Count:
    """Counts a forward pass without gradients; the tensors may lie on the meta device."""
    layers: list[LayerCount] = []
    outside = LayerCount(OUTSIDE, "")
    calls: dict[str, int] = {}
    hooks = []
    with torch.no_grad(), forward_only(), _Counters() as counters:
        last = counters.read()

        def book(layer: LayerCount) -> None:
            """Adds what was counted since its last call to ``layer``."""
            nonlocal last
            counted, formula = counters.read()
            layer.counted += counted - last[0]
            layer.formula += formula - last[1]
            last = counted, formula

        def start(_module: nn.Module, _args: Any) -> None:
            book(outside)

        def end(child: nn.Module, args: Any, kwargs: Any, output: Any, path: str) -> None:
            layer = LayerCount(numbered(path, calls), type(child).__name__, _shape(output))
            layer.elements = sum(map(_elements, (*args, *kwargs.values(), output)))
            layer.elements += sum(parameter.numel() for parameter in child.parameters())
            book(layer)
            layers.append(layer)

        for path, child in called_layers(module):
            hooks.append(child.register_forward_pre_hook(start))
            hooks.append(
                child.register_forward_hook(
                    lambda child, args, kwargs, output, path=path: end(child, args, kwargs, output, path),
                    with_kwargs=True,
                )
            )
        try:
            module(input)
        finally:
            for hook in hooks:
                hook.remove()
        book(outside)
    if outside.formula.total or outside.counted:
        layers.append(outside)
    return Count(layers, counters.formula.unknown, counters.formula.activations)


def count_phases(module: nn.Module, input: Any) -> dict[str, tuple[int, Operations]]:
    """Returns the operations of the three phases of training: by flop_counter, and by formula."""
    forward = count_forward(module, input)
    counts = {"updateOutput": (forward.counted, forward.formula)}
    with AutogradPhases(module) as phases:
        output = phases.updateOutput(input)
        with _Counters() as counters:
            phases.updateGradInput(input, output)
            counts["updateGradInput"] = counters.read()
        with _Counters() as counters:
            phases.accGradParameters(input, output)
            counts["accGradParameters"] = counters.read()
    return counts


def _shape(output: Any) -> tuple[int, ...]:
    return tuple(output.shape) if isinstance(output, Tensor) else ()


def _elements(value: Any) -> int:
    if isinstance(value, Tensor):
        return value.numel()
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(_elements, value)) if isinstance(value, (tuple, list)) else 0

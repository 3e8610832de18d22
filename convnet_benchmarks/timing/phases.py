"""How long the three phases of training take: of a whole net, and of each of its layers alone."""

import copy
import itertools
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.phases import PHASES, AutogradPhases
from convnet_benchmarks.timing.layers import Layer, called_layers, numbered
from convnet_benchmarks.timing.loops import Clock, Watch

_WARM_UP = 2  # passes


def time_phases(
    module: nn.Module, input: Tensor, clock: Clock, passes: int, watch: Watch | None = None
) -> dict[str, float]:
    """Returns milliseconds of each phase: medians of ``passes`` after a warm-up; the output is its
    gradient.

    ``watch`` sees the passes, each of the three phases together.
    """
    samples = []
    with AutogradPhases(module) as phases:
        for number in range(_WARM_UP + passes):
            clock.synchronise()
            marks: list[Any] = []
            timed = number >= _WARM_UP
            if watch is not None and timed:
                watch.start()
            with _between_marks(clock, marks):
                output = phases.updateOutput(input)
            with _between_marks(clock, marks):
                phases.updateGradInput(input, output)
            with _between_marks(clock, marks):
                phases.accGradParameters(input, output)
            if timed:
                samples.append(clock.milliseconds(marks)[::2])
            if watch is not None and timed:
                watch.look(1)
    medians = [statistics.median(phase) for phase in zip(*samples, strict=True)]
    return dict(zip(PHASES, medians, strict=True))


@contextmanager
def _between_marks(clock: Clock, marks: list[Any]) -> Iterator[None]:
    if clock.evict is not None:
        clock.evict()
    marks.append(clock.mark())
    yield
    marks.append(clock.mark())


def layer_phases(
    module: nn.Module, input: Tensor, clock: Clock, passes: int
) -> Iterator[tuple[Layer, dict[str, float]]]:
    """Yields each layer with the milliseconds of its phases, run alone on the input it has in the net.

    Without accGradParameters for a layer without parameters, and without any for a layer that does not map
    one tensor to one tensor. In-place layers run out of place.
    """
    for layer, alone, own_input in layers_alone(module, input):
        if own_input is None:
            yield layer, {}
            continue
        times = time_phases(alone, own_input, clock, passes)
        if not any(parameter.requires_grad for parameter in alone.parameters()):
            del times["accGradParameters"]
        yield layer, times


def layers_alone(module: nn.Module, input: Tensor) -> Iterator[tuple[Layer, nn.Module, Tensor | None]]:
    """Yields each layer of a forward pass to be run alone, out of place, with the input it has in the net.

    None instead of the input of a layer that does not map one tensor to one tensor.
    """
    for layer, child, args, plain, cast_to in _recorded_calls(module, input):
        alone = copy.copy(child)
        if getattr(alone, "inplace", False):
            alone.inplace = False  # type: ignore[assignment]
        if cast_to is not None:
            alone = _Autocast(alone, cast_to)
        yield layer, alone, args[0].detach() if plain else None


class _Autocast(nn.Module):
    """A layer that its net runs under ``torch.autocast``."""

    def __init__(self, layer: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.layer, self.dtype = layer, dtype

    def forward(self, input: Tensor) -> Any:
        with torch.autocast(input.device.type, self.dtype):
            return self.layer(input)


_Call = tuple[Layer, nn.Module, tuple[Any, ...], bool, torch.dtype | None]


def _recorded_calls(module: nn.Module, input: Tensor) -> list[_Call]:
    """Returns every layer call of a pass: its module, its inputs, whether it maps one tensor to one, and what
    number type ``torch.autocast`` gave it, if any."""
    calls: list[_Call] = []
    counts: dict[str, int] = {}
    with ExitStack() as hooks, torch.no_grad():
        for path, child in called_layers(module):

            def record(child: nn.Module, args: Any, kwargs: Any, output: Any, path: str = path) -> None:
                layer = Layer(numbered(path, counts), type(child).__name__)
                tensors = itertools.chain(args, [output])
                plain = len(args) == 1 and not kwargs and all(map(_is_plain, tensors))
                device = args[0].device.type if plain else "cpu"
                casts = torch.is_autocast_enabled(device)
                calls.append((layer, child, args, plain, torch.get_autocast_dtype(device) if casts else None))

            hooks.enter_context(child.register_forward_hook(record, with_kwargs=True))
        module(input)
    return calls


def _is_plain(value: Any) -> bool:
    """Returns whether a value is a tensor that can be kept: one of torch.func's is no more than a place."""
    return isinstance(value, Tensor) and not torch._C._functorch.is_functorch_wrapped_tensor(value)

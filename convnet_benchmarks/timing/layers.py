"""How long each layer of a net takes, as part of the whole net's forward pass."""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import nn

from convnet_benchmarks.nets.programs import hookable_parts, is_program
from convnet_benchmarks.timing.loops import Clock, Watch, run_loop, watched_loop


@dataclass(frozen=True)
class Layer:
    """One call of a module without children; a module that is called again is another layer."""

    path: str  # the module's name in the net, with #2, #3 ... for its later calls
    kind: str  # its class


@dataclass(frozen=True)
class LayerTimes:
    """Milliseconds per pass, medians over passes. ``outside_ms``: before, between and after the layers.

    ``hooked_ms`` is the whole pass while the layers were timed, ``plain_ms`` the same pass without: their
    difference is what timing the layers costs. Both are the host's time until the device is done; the
    layers and what is between them are timed by the device's clock.
    """

    layers: tuple[Layer, ...]
    layer_ms: tuple[float, ...]
    outside_ms: float
    hooked_ms: float
    plain_ms: float


def called_layers(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """Returns the modules without children, each once, with their names; a compiled one is a layer, and what
    is TorchScript's is not seen."""
    return [
        (name, child)
        for name, child in hookable_parts(module)
        if next(child.children(), None) is None or is_program(child)
    ]


def numbered(path: str, calls: dict[str, int]) -> str:
    """Returns ``path`` with the number of this call of it, which ``calls`` counts."""
    calls[path] = calls.get(path, 0) + 1
    return path if calls[path] == 1 else f"{path}#{calls[path]}"


@contextmanager
def _marked(module: nn.Module, clock: Clock, layers: list[Layer], marks: list[Any]) -> Iterator[None]:
    """Notes, while open, the layers of a forward pass of ``module``, and a mark at each one's start and
    end.
    """
    calls: dict[str, int] = {}
    hooks = []
    for path, child in called_layers(module):

        def start(_module: nn.Module, _inputs: Any) -> None:
            marks.append(clock.mark())

        def end(_module: nn.Module, _inputs: Any, _output: Any, path: str = path) -> None:
            marks.append(clock.mark())
            layers.append(Layer(numbered(path, calls), type(_module).__name__))

        hooks += [child.register_forward_pre_hook(start), child.register_forward_hook(end)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def time_layers(
    module: nn.Module, input: Any, clock: Clock, passes: int, watch: Watch | None = None
) -> LayerTimes:
    """Times passes with and without timed layers in turn, ``passes`` of each, in the caller's autograd mode.

    ``watch`` sees those without. Raises ValueError if the net calls its layers in another order from pass
    to pass.
    """

    marks: list[Any] = []

    def forward() -> None:
        module(input)

    def marked_forward() -> None:
        marks.append(clock.mark())
        module(input)
        marks.append(clock.mark())

    plain: list[float] = []
    hooked: list[float] = []
    spans: list[list[float]] = []
    first: list[Layer] = []
    for _ in range(passes):
        plain.append(watched_loop(forward, 1, clock, watch).ms_per_pass)
        layers: list[Layer] = []
        marks.clear()
        with _marked(module, clock, layers, marks):
            hooked.append(run_loop(marked_forward, 1, clock).ms_per_pass)
        spans.append(clock.milliseconds(marks))
        first = first or layers
        if layers != first:
            raise ValueError("the net does not call the same layers in every pass")
    medians = [statistics.median(samples) for samples in zip(*spans, strict=True)]
    return LayerTimes(
        layers=tuple(first),
        layer_ms=tuple(medians[1::2]),
        outside_ms=sum(medians[0::2]),
        hooked_ms=statistics.median(hooked),
        plain_ms=statistics.median(plain),
    )


def empty_layer_ms(clock: Clock, input: Any) -> float:
    """Returns what a layer that does nothing shows as its time: the cost of a call and of two marks."""
    return statistics.median(time_layers(nn.Sequential(*[nn.Identity()] * 50), input, clock, 3).layer_ms)

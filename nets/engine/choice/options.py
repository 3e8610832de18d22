"""The options of a plan, checked on construction."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import torch
from torch import nn

from convnet_benchmarks.nets.engine.choice.effort import EFFORTS

_Given = ParamSpec("_Given")
_Input = TypeVar("_Input")
_Result = TypeVar("_Result")

BACKENDS = ("auto", "mm", "direct", "winograd", "fft", "stock")


@dataclass(frozen=True)
class Options:
    """``backend``: "auto" times every algorithm on every layer and phase once, and keeps the timings in
    ``tuning_file`` (by default in the user's cache folder); "mm", "direct", "winograd" or "fft" forces a
    family of algorithms, with matrix products where it does not apply; "stock" runs PyTorch's own operators.
    ``dtype`` is float32, bfloat16 or float64, and must be that of the parameters (the default).
    ``check_weights`` compares every kept copy of a weight with the weight on every use (slow; for debugging).
    ``tuning`` "quick" times nothing when a plan is made for the first time: a rule chooses the kernels that
    are likely the fastest. Later processes time these choices for a second each. ``tuning_seconds``: how long
    to time instead, counting compilation, the layers with most work first; then similar layers decide, or the
    rule. Only libraries that the plan needs are compiled after that. ``told(layer, layers)`` is called before
    a layer's candidates are timed, counted from 1. What has been timed is kept if the choice is interrupted.
    ``inference``: the plan has only updateOutput. Activations then share memory, sums are computed by the
    convolution before them, and the kernels keep weights in their own layout. Without ``fuse_layers``, batch
    normalisations, sums and ReLUs are separate layers.
    """

    backend: str = "auto"
    dtype: torch.dtype | None = None
    tuning_file: Path | None = None
    check_weights: bool = False
    tuning: str = "thorough"
    tuning_seconds: float | None = None
    told: Callable[[int, int], None] | None = None
    inference: bool = False
    fuse_layers: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError for an unknown name."""
        if self.backend not in BACKENDS:
            raise ValueError(f"unknown backend '{self.backend}'; accepted: {', '.join(BACKENDS)}")
        if self.tuning not in EFFORTS:
            raise ValueError(f"unknown tuning '{self.tuning}'; accepted: {', '.join(EFFORTS)}")


def takes(
    options: Callable[_Given, Options],
) -> Callable[
    [Callable[[nn.Module, _Input, Options], _Result]],
    Callable[Concatenate[nn.Module, _Input, _Given], _Result],
]:
    """Lets a function of a module, its input and a value of ``options`` take the fields of that value."""

    def decorated(
        function: Callable[[nn.Module, _Input, Options], _Result],
    ) -> Callable[Concatenate[nn.Module, _Input, _Given], _Result]:
        @wraps(function)
        def called(module: nn.Module, input: _Input, *given: _Given.args, **named: _Given.kwargs) -> _Result:
            return function(module, input, options(*given, **named))

        return called

    return decorated

"""What ReLUs and max-pooling layers decide, and how far two runs of a net are apart that decide alike.

A near tie may go either way in float32, which changes single elements of a gradient by a few percent, and the
norm of GoogLeNet's input gradient by 1e-2 (on the CPU alone, too, between float32 and float64).
"""

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

# Two values are nearly equal in float32 within this part of a layer's largest.
_TIE = 1e-4
# A gradient is judged beside at least this part of all its module's: a convolution's bias before batch
# normalization has none in exact arithmetic, and rounding errors in their place.
_PART_OF_MODULE = 0.1


@dataclass
class Decisions:
    """The input of each ReLU, and of each max-pooling layer its input too, by the layer's name."""

    relus: dict[str, Tensor] = field(default_factory=dict)
    poolings: dict[str, tuple[nn.Module, Tensor]] = field(default_factory=dict)


@contextlib.contextmanager
def recorded(module: nn.Module) -> Iterator[Decisions]:
    """Records what is decided in calls of the module, until it ends."""
    found = Decisions()
    hooks = [
        layer.register_forward_pre_hook(_keeper(found, name))
        for name, layer in module.named_modules()
        if isinstance(layer, nn.ReLU | nn.MaxPool2d)
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _keeper(found: Decisions, name: str) -> Any:
    def keep(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        kept = inputs[0].detach().clone()
        if isinstance(layer, nn.ReLU):
            found.relus[name] = kept
        else:
            found.poolings[name] = layer, kept

    return keep


@contextlib.contextmanager
def decided(module: nn.Module, by: Decisions) -> Iterator[None]:
    """Lets ReLUs and max-pooling layers pass what they passed in another run, until it ends."""

    def passes(mask: Tensor) -> Any:
        return lambda x: x * mask.to(x.device)

    def picks(places: Tensor) -> Any:
        return lambda x: x.flatten(-2).gather(-1, places.to(x.device).flatten(-2)).view(places.shape)

    changed = [layer for name, layer in module.named_modules() if name in by.relus or name in by.poolings]
    for name, layer in module.named_modules():
        if name in by.relus:
            layer.forward = passes(by.relus[name] > 0)
        elif name in by.poolings:
            layer.forward = picks(places(*by.poolings[name]))
    try:
        yield
    finally:
        for layer in changed:
            del layer.forward


def places(layer: nn.Module, input: Tensor) -> Tensor:
    """Returns where in its plane the maximum of each window is."""
    assert isinstance(layer, nn.MaxPool2d)
    sizes = layer.kernel_size, layer.stride, layer.padding, layer.dilation, layer.ceil_mode
    found: Tensor = nn.functional.max_pool2d(input, *sizes, return_indices=True)[1]
    return found


def differing(ours: Decisions, theirs: Decisions) -> tuple[int, int]:
    """Returns how many signs and places of maxima differ where values are nearly equal, and elsewhere."""
    gaps = []
    for name, a in ours.relus.items():
        b = theirs.relus[name]
        a = a.to(b.device)
        gaps.append((a.abs().maximum(b.abs()) / b.abs().max())[(a > 0) != (b > 0)])
    for name, (layer, a) in ours.poolings.items():
        b = theirs.poolings[name][1]
        of_a, of_b = (places(layer, one).to(b.device).flatten(-2) for one in (a, b))
        values = b.flatten(-2)
        apart = (values.gather(-1, of_a) - values.gather(-1, of_b)).abs() / b.abs().max()
        gaps.append(apart[of_a != of_b])
    every = torch.cat([gap.flatten().double() for gap in gaps]) if gaps else torch.zeros(0)
    near = int((every <= _TIE).sum())
    return near, len(every) - near


def norms_apart(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> dict[str, float]:
    """Returns the norm of each difference as a part of the norm of theirs.

    Names before the last dot are those of modules.
    """
    norms = {name: float(one.double().norm()) for name, one in theirs.items()}
    of_module: dict[str, float] = {}
    for name, norm in norms.items():
        module, dot, _ = name.rpartition(".")
        if dot:
            of_module[module] = math.hypot(of_module.get(module, 0.0), norm)
    least = {name: _PART_OF_MODULE * of_module.get(name.rpartition(".")[0], 0.0) for name in norms}
    return {
        name: float((ours[name].double() - one.double()).norm()) / max(norms[name], least[name], 1e-30)
        for name, one in theirs.items()
    }

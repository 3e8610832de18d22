"""Whether the GPU computes what the CPU does: parameters, outputs and gradients of each net, TF32 off.

In float64 every element must agree. In float32 a near tie in a maximum or a ReLU may go either way, which
changes single elements by a few percent (on the CPU alone, too, between float32 and float64). So every
decision that differs must have been such a tie; then the CPU computes once more with the GPU's decisions, and
the norms of the differences count.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.gpu.checks.command import run
from convnet_benchmarks.workload.backends import GPU_SWITCHES
from convnet_benchmarks.workload.inputs import sample_batch
from convnet_benchmarks.workload.kernels import open_kernels
from nets import registry

_NETS = ("alexnet_owt", "overfeat_accurate", "vgg_a", "overfeat_fast", "googlenet")
_SMALL = ("recognize_digits",)
_BATCH, _SEED = 2, 1
# Of elements relative to the largest, and of norms.
_LIMITS = {"float64": 1e-10, "float32": 1e-4}
# Two values are nearly equal in float32 within this part of a layer's largest.
_TIE = 1e-4


@dataclass
class _Run:
    """What a net computed, on the CPU: ``parts`` by name; the input of each ReLU, and of each max-pooling
    layer its input and the places of the maxima."""

    parts: dict[str, Tensor]
    relus: dict[str, Tensor] = field(default_factory=dict)
    poolings: dict[str, tuple[nn.Module, Tensor]] = field(default_factory=dict)


def measure(small: bool, number: str) -> Iterator[dict[str, Any]]:
    """Yields the differences of each net, with native kernels and with cuDNN."""
    dtype, limit = getattr(torch, number), _LIMITS[number]
    found: dict[str, Any] = {}
    missed: list[str] = []
    told: list[str] = []
    for name in _SMALL if small else _NETS:
        net = registry.NETS[name]
        input = sample_batch(net, _BATCH, _SEED).to(dtype)
        made = registry.build(net, _SEED).to(dtype)
        expected = _computed(copy.deepcopy(made), input, "mm")
        for backend in ("mm", "cudnn"):
            ours = _computed(copy.deepcopy(made).to("cuda"), input.to("cuda"), backend)
            label = f"{name}, {backend}, {number}"
            ties, others = _decisions(ours, expected)
            same = _computed(copy.deepcopy(made), input, "mm", ours) if ties or others else expected
            entry = {
                **_compared(ours, same, by_norm=dtype == torch.float32),
                **{"near ties": ties, "other decisions": others, "limit": limit},
            }
            found[label] = entry
            told.append(
                f"{label}: {entry['difference']:.1e} ({entry['of']}), largest of an element "
                f"{entry['element']:.1e}; {entry['near ties']} near ties fell otherwise, "
                f"{entry['other decisions']} other decisions"
            )
            if entry["difference"] > limit or entry["other decisions"]:
                missed.append(f"{told[-1]}; the limit is {limit:.0e}")
        yield {"agreement": found, "told": told, "missed": missed}


def _computed(module: nn.Module, input: Tensor, backend: str, decided: _Run | None = None) -> _Run:
    """Returns what a net computes; ``decided``: by whose decisions, instead of its own."""
    if decided is not None:
        _decide(module, decided)
    parts = {f"parameter {name}": one.detach().cpu() for name, one in module.named_parameters()}
    run = _Run(parts)
    hooks = [
        layer.register_forward_pre_hook(_keeper(run, name))
        for name, layer in module.named_modules()
        if isinstance(layer, nn.ReLU | nn.MaxPool2d)
    ]
    with open_kernels(GPU_SWITCHES[backend], module, input, training=True) as opened:
        phases = opened.phases
        assert phases is not None
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        for hook in hooks:
            hook.remove()
        gradient = phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
        run.parts |= {"output": output.detach().cpu(), "gradInput": gradient.cpu()}
        for name, one in module.named_parameters():
            assert one.grad is not None
            run.parts[f"gradient of {name}"] = one.grad.detach().cpu()
    return run


def _keeper(run: _Run, name: str) -> Any:
    def keep(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        kept = inputs[0].detach().cpu().clone()
        if isinstance(layer, nn.ReLU):
            run.relus[name] = kept
        else:
            run.poolings[name] = layer, kept

    return keep


def _decide(module: nn.Module, by: _Run) -> None:
    """Lets ReLUs and max-pooling layers pass what they passed in another run."""

    def passes(mask: Tensor) -> Any:
        return lambda x: x * mask

    def picks(places: Tensor) -> Any:
        return lambda x: x.flatten(-2).gather(-1, places.flatten(-2)).view(places.shape)

    for name, layer in module.named_modules():
        if name in by.relus:
            layer.forward = passes(by.relus[name] > 0)
        elif name in by.poolings:
            layer.forward = picks(_places(*by.poolings[name]))


def _places(layer: nn.Module, input: Tensor) -> Tensor:
    """Returns where in its plane the maximum of each window is."""
    assert isinstance(layer, nn.MaxPool2d)
    sizes = layer.kernel_size, layer.stride, layer.padding, layer.dilation, layer.ceil_mode
    places: Tensor = nn.functional.max_pool2d(input, *sizes, return_indices=True)[1]
    return places


def _compared(ours: _Run, theirs: _Run, by_norm: bool) -> dict[str, Any]:
    """Returns the largest difference, what it is of, and the largest of an element."""
    gaps = {
        name: float((ours.parts[name] - one).abs().max() / one.abs().max().clamp(min=1e-30))
        for name, one in theirs.parts.items()
    }
    norms = {
        name: float((ours.parts[name] - one).norm() / one.norm().clamp(min=1e-30))
        for name, one in theirs.parts.items()
    }
    judged = norms if by_norm else gaps
    worst = max(judged, key=lambda part: judged[part])
    return {"difference": judged[worst], "of": worst, "element": max(gaps.values()), "parts": judged}


def _decisions(ours: _Run, theirs: _Run) -> tuple[int, int]:
    """Returns how many signs and places of maxima differ where values are nearly equal, and elsewhere."""
    gaps = []
    for name, a in ours.relus.items():
        b = theirs.relus[name]
        gaps.append((a.abs().maximum(b.abs()) / b.abs().max())[(a > 0) != (b > 0)])
    for name, (layer, a) in ours.poolings.items():
        b = theirs.poolings[name][1]
        places = [_places(layer, one).flatten(-2) for one in (a, b)]
        values = b.flatten(-2)
        apart = (values.gather(-1, places[0]) - values.gather(-1, places[1])).abs() / b.abs().max()
        gaps.append(apart[places[0] != places[1]])
    every = torch.cat([gap.flatten().double() for gap in gaps]) if gaps else torch.zeros(0)
    near = int((every <= _TIE).sum())
    return near, len(every) - near


if __name__ == "__main__":
    run(measure, *_LIMITS)

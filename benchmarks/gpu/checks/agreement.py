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
from benchmarks.gpu.checks.decisions import Decisions, decided, differing, norms_apart, recorded
from convnet_benchmarks.nets import registry
from convnet_benchmarks.workload.backends import GPU_SWITCHES
from convnet_benchmarks.workload.inputs import sample_batch
from convnet_benchmarks.workload.kernels import open_training

_NETS = ("alexnet_owt", "overfeat_accurate", "vgg_a", "overfeat_fast", "googlenet")
_SMALL = ("recognize_digits",)
_BATCH, _SEED = 2, 1
# Of elements relative to the largest, and of norms.
_LIMITS = {"float64": 1e-10, "float32": 1e-4}


@dataclass
class _Run:
    """What a net computed, on the CPU: ``parts`` by name, and what its layers decided."""

    parts: dict[str, Tensor]
    decisions: Decisions = field(default_factory=Decisions)


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
            ties, others = differing(ours.decisions, expected.decisions)
            decisions = ours.decisions if ties or others else None
            same = _computed(copy.deepcopy(made), input, "mm", decisions) if decisions else expected
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


def _computed(module: nn.Module, input: Tensor, backend: str, decisions: Decisions | None = None) -> _Run:
    """Returns what a net computes; ``decisions``: of another run, instead of its own."""
    run = _Run({f"parameter {name}": one.detach().cpu() for name, one in module.named_parameters()})
    with (
        decided(module, decisions or Decisions()),
        open_training(GPU_SWITCHES[backend], module, input, input.device) as opened,
    ):
        phases = opened.phases
        assert phases is not None
        phases.zeroGradParameters()
        with recorded(module) as run.decisions:
            output = phases.updateOutput(input)
        gradient = phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
        run.parts |= {"output": output.detach().cpu(), "gradInput": gradient.cpu()}
        for name, one in module.named_parameters():
            assert one.grad is not None
            run.parts[f"gradient of {name}"] = one.grad.detach().cpu()
    return run


def _compared(ours: _Run, theirs: _Run, by_norm: bool) -> dict[str, Any]:
    """Returns the largest difference, what it is of, and the largest of an element."""
    gaps = {
        name: float((ours.parts[name] - one).abs().max() / one.abs().max().clamp(min=1e-30))
        for name, one in theirs.parts.items()
    }
    judged = norms_apart(ours.parts, theirs.parts) if by_norm else gaps
    worst = max(judged, key=lambda part: judged[part])
    return {"difference": judged[worst], "of": worst, "element": max(gaps.values()), "parts": judged}


if __name__ == "__main__":
    run(measure, *_LIMITS)

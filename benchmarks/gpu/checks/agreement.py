"""Whether the GPU computes what the CPU does: parameters, outputs and gradients of each net, TF32 off."""

from typing import Any

from torch import Tensor, nn

from benchmarks.gpu.checks.command import run
from convnet_benchmarks.workload.backends import GPU_SWITCHES
from convnet_benchmarks.workload.inputs import sample_batch
from convnet_benchmarks.workload.kernels import open_kernels
from nets import registry

# Relative to the largest value. GoogLeNet's maxima may be nearly equal, and go either way (docs/method.md).
_LIMITS = {
    "overfeat_accurate": 1e-4,
    "alexnet_owt": 1e-4,
    "vgg_a": 1e-4,
    "overfeat_fast": 1e-4,
    "googlenet": 1e-3,
}
_SMALL = {"recognize_digits": 1e-4}
_BATCH, _SEED = 2, 1


def measure(small: bool) -> dict[str, Any]:
    """Returns the largest relative difference of each net and what it is of: native kernels and cuDNN."""
    found: dict[str, Any] = {}
    missed = []
    for name, limit in (_SMALL if small else _LIMITS).items():
        net = registry.NETS[name]
        input = sample_batch(net, _BATCH, _SEED)
        expected = _phases(registry.build(net, _SEED), input, "mm")
        for backend in ("mm", "cudnn"):
            module = registry.build(net, _SEED).to("cuda")
            gaps = _gaps(_phases(module, input.to("cuda"), backend), expected)
            worst = max(gaps, key=lambda part: gaps[part])
            found[f"{name}, {backend}"] = {
                "difference": gaps[worst],
                "of": worst,
                "parts": gaps,
                "limit": limit,
            }
            if gaps[worst] > limit:
                missed.append(
                    f"{name}, {backend}: {worst} differs by {gaps[worst]:.1e}, the limit is {limit:.0e}"
                )
    return {"agreement": found, "missed": missed}


def _phases(module: nn.Module, input: Tensor, backend: str) -> dict[str, Tensor]:
    """Returns what the three phases compute, and the parameters they started from, on the CPU."""
    parameters = {f"parameter {name}": one.detach().cpu() for name, one in module.named_parameters()}
    with open_kernels(GPU_SWITCHES[backend], module, input, training=True) as opened:
        phases = opened.phases
        assert phases is not None
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        gradient = phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
        gradients = {
            f"gradient of {name}": one.grad.detach().cpu() for name, one in module.named_parameters()
        }
        return {**parameters, "output": output.detach().cpu(), "gradInput": gradient.cpu(), **gradients}


def _gaps(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> dict[str, float]:
    return {
        name: float((ours[name] - theirs[name]).abs().max() / theirs[name].abs().max().clamp(min=1e-30))
        for name in theirs
    }


if __name__ == "__main__":
    run(measure)

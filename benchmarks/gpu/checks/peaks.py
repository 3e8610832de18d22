"""The card's own peaks in float32, TF32 and bfloat16, and the share of them that training reaches."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from benchmarks.gpu.checks.command import run
from convnet_benchmarks.commands.flops.roofline import measure_roofs
from convnet_benchmarks.nets import registry
from convnet_benchmarks.timing.loops import Settling, device_clock, run_until_settled, warm_up
from convnet_benchmarks.workload.backends import GPU_SWITCHES
from convnet_benchmarks.workload.inputs import sample_batch, to_device
from convnet_benchmarks.workload.kernels import framework_switches, open_training, phase_steps
from convnet_benchmarks.workload.operations.counting import count_forward

# Number format and whether float32 products may be rounded to TF32.
_FORMATS = {"float32": ("float32", False), "TF32": ("float32", True), "bfloat16": ("bfloat16", False)}
_NETS = {"overfeat_accurate": 64, "alexnet_owt": 128, "overfeat_fast": 128, "vgg_a": 64, "googlenet": 128}
_SMALL = {"recognize_digits": 2}
_SETTLING = Settling(fewest_passes=5, least_seconds=0.2, most_seconds=3.0)
# updateOutput, updateGradInput and accGradParameters each do the operations of a forward pass.
_PASSES_OF_OPERATIONS = 3


def measure(small: bool) -> Iterator[dict[str, Any]]:
    """Yields each format's roofs, and for each net the time of a training pass, TFLOP/s and the share."""
    device = torch.device("cuda", 0)
    clock = device_clock(device)
    peaks: dict[str, Any] = {}
    shares: dict[str, Any] = {}
    told: list[str] = []
    for name, (dtype_name, tf32) in _FORMATS.items():
        backend, dtype = replace(GPU_SWITCHES["cudnn"], tf32=tf32), getattr(torch, dtype_name)
        with framework_switches(backend):
            roofs = measure_roofs(device, dtype, clock)
        peaks[name] = {"TFLOP/s": roofs.gflops / 1e3, "of": roofs.fastest, "GB/s": roofs.gbytes}
        told.append(f"{name}: {peaks[name]['TFLOP/s']:.0f} TFLOP/s, {roofs.gbytes:.0f} GB/s")
    yield {"peaks": peaks, "training": shares, "told": told}
    for net_name, batch in (_SMALL if small else _NETS).items():
        net = registry.NETS[net_name]
        drawn = sample_batch(net, batch, 1)
        made = registry.build(net, 1)
        for name, (dtype_name, tf32) in _FORMATS.items():
            backend, dtype = replace(GPU_SWITCHES["cudnn"], tf32=tf32), getattr(torch, dtype_name)
            module, input = copy.deepcopy(made).to(device, dtype), to_device(drawn, device, dtype)
            count = count_forward(registry.on_meta(net), torch.empty(drawn.shape, device="meta"))
            operations = _PASSES_OF_OPERATIONS * sum(layer.formula.total for layer in count.layers)
            with open_training(backend, module, input, device) as opened:
                assert opened.phases is not None
                steps = phase_steps(opened.phases, input)

                def one_pass(steps: Any = steps) -> None:
                    for step in steps.values():
                        step()

                warm_up(one_pass, clock)
                summary = run_until_settled(one_pass, clock, _SETTLING).summary()
            rate = operations / summary.median / 1e9
            shares[f"{net_name}, batch {batch}, {name}"] = {
                "ms": summary.median,
                "low": summary.low,
                "high": summary.high,
                "TFLOP/s": rate,
                "share of peak": rate / peaks[name]["TFLOP/s"],
            }
            told.append(
                f"{net_name}, batch {batch}, {name}: {summary.median:.2f} ms, {rate:.1f} TFLOP/s, "
                f"{rate / peaks[name]['TFLOP/s']:.0%} of the peak"
            )
            yield {"peaks": peaks, "training": shares, "told": told}


if __name__ == "__main__":
    run(measure)

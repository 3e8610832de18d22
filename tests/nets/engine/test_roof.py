"""The part of the machine's roof that a plan's layers reach."""

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import compile, roof
from convnet_benchmarks.nets.engine.report import Roof
from convnet_benchmarks.nets.phases import PHASES
from tests.nets.engine.modules import exact_results, largest_error, run


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, groups=8),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(8 * 36, 5),
        nn.Unflatten(1, (5, 1)),
    )


def test_the_part_is_the_least_time_over_the_time_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock on which every step takes a second."""
    phases = compile(net(), (2, 3, 8, 8), "mm")
    phases.updateOutput(torch.ones(2, 3, 8, 8))
    monkeypatch.setattr(roof, "_seconds", lambda step: (step(), 1.0)[1])
    monkeypatch.setattr("convnet_benchmarks.nets.engine.plan.measured_roof", lambda dtype: Roof(100.0, 1e9))
    report = phases.timed_report()
    by_kind = {layer.kind: layer.of_roof for layer in report.layers}
    multiply_adds = 2 * 8 * 8 * 8 * 27
    assert by_kind["Conv2d"]["updateOutput"] == pytest.approx(2 * (2 * 8 * 36 * 9) / 100)  # the depthwise one
    assert report.layers[0].of_roof == {phase: pytest.approx(2 * multiply_adds / 100) for phase in PHASES}
    assert by_kind["Linear"]["accGradParameters"] == pytest.approx(2 * (2 * 8 * 36 * 5) / 100)
    values = 2 * 2 * 8 * 64  # what a normalisation reads and writes, and its parameters
    assert by_kind["BatchNorm2d+ReLU"]["updateOutput"] == pytest.approx((values + 16) * 4 / 1e9)
    assert by_kind["BatchNorm2d+ReLU"]["accGradParameters"] == pytest.approx((values + 32) * 4 / 1e9)
    assert by_kind["Unflatten"] == {} and set(by_kind["Flatten"]) == set(PHASES[:2])  # one moves nothing
    assert "".join(report.rows()[1]).count("%") == 3
    assert list(report.below())[-1] == "%: of 0 GFLOP/s (a large product) or 1 GB/s (a large copy)"
    assert report.as_dict()["roof"] == {"flops": 100.0, "bytes_per_second": 1e9}


@pytest.mark.parametrize("mode", [True, False])
def test_timing_leaves_the_module_and_the_plan_as_they_were(mode: bool) -> None:
    module = net().double().train(mode)
    module[4].eval()  # Dropout draws
    shape = (2, 3, 8, 8)
    phases = compile(module, shape, "mm")
    x = torch.randn(shape).double()
    exact = exact_results(module, x)
    run(phases, x)

    def state() -> list[Tensor]:
        gradients = [p.grad for p in module.parameters() if p.grad is not None]
        return [tensor.clone() for tensor in (*module.buffers(), *gradients, torch.get_rng_state())]

    before = state()
    report = phases.timed_report()
    after = state()
    assert len(before) == len(after) and all(map(torch.equal, before, after))
    assert report.roof is not None and report.roof.flops > 0
    assert all(share > 0 for layer in report.layers for share in layer.of_roof.values())
    with pytest.raises(RuntimeError, match="updateGradInput of the same input first"):
        phases.accGradParameters(x, x)  # its gradients were for another gradOutput
    for have, want in zip(run(phases, x), exact, strict=True):
        assert largest_error(have, want) < 1e-10


def test_a_plan_for_inference_is_timed_too() -> None:
    module = net().eval()
    phases = compile(module, (2, 3, 8, 8), "mm", inference=True)
    with pytest.raises(RuntimeError, match="needs updateOutput first"):
        phases.timed_report()
    x = torch.randn(2, 3, 8, 8)
    out = phases.updateOutput(x).clone()
    report = phases.timed_report()
    assert set(report.layers[0].of_roof) == {"updateOutput"}
    assert torch.equal(phases.updateOutput(x), out)

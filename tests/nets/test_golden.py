"""Five full-size nets from seed 1 against the digests that real Torch7 recorded (golden/nets.t7)."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.phases import AutogradPhases
from convnet_benchmarks.nets.torch7.initialisation import normal_input
from convnet_benchmarks.nets.torch7.printing import torch7_string
from convnet_benchmarks.nets.torch7.random import Generator
from lua_compat import t7
from tests.helpers.places import GOLDEN

RECORDED = {record["name"]: record for record in t7.load(GOLDEN / "nets.t7").array()}


# Through GoogLeNet's 57 convolutions, ReLUs and overlapping poolings near ties flip with the rounding: the
# same net in float64 differs from the recording by 3.7e-4, and real Torch7 on another CPU by 2.9e-4.
NORM_TOLERANCE = {"googlenet": 1e-3}


def check_size(tensor: Tensor, digest: Any) -> None:
    """SpatialConvolutionMM keeps its weight as a matrix (output planes, the rest)."""
    size = digest["size"].array()
    assert list(tensor.shape) == size or list(tensor.flatten(1).shape) == size


def check_exactly(tensor: Tensor, digest: Any) -> None:
    """Every element has entered sum and norm; the first ones are compared one by one."""
    check_size(tensor, digest)
    flat = tensor.detach().numpy().reshape(-1)
    first = digest["first"].numpy()
    np.testing.assert_array_equal(flat[: len(first)].astype(np.float64), first)
    wide = tensor.detach().double()
    assert wide.norm().item() == pytest.approx(digest["norm"], rel=1e-10)
    # Torch7 summed one by one, PyTorch in blocks: the tolerances allow for the rounding of 10^8 additions.
    rounding = 1e-12 * wide.abs().sum().item()
    assert wide.sum().item() == pytest.approx(digest["sum"], rel=0, abs=rounding)


def check_norm(tensor: Tensor | None, digest: Any, tolerance: float) -> None:
    assert tensor is not None
    check_size(tensor, digest)
    assert tensor.double().norm().item() == pytest.approx(digest["norm"], rel=tolerance)


# With about 140 million parameters each.
LARGE = ("overfeat_accurate", "overfeat_fast", "vgg_a")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in sorted(RECORDED)]
)
def test_net_from_seed_1_is_torch7s(name: str) -> None:
    record = RECORDED[name]
    net = registry.build(registry.find(name), seed=1)
    assert torch7_string(net) == record["string"]
    assert registry.parameter_count(net) == record["n_params"]
    for parameter, digest in zip(net.parameters(), record["params"].array(), strict=True):
        check_exactly(parameter, digest)
    input = normal_input(tuple(record["input_size"].array()), Generator(2))
    check_exactly(input, record["input"])

    with AutogradPhases(net) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        gradInput = phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)

    expected = torch.from_numpy(record["output"].numpy())
    assert output.shape == expected.shape
    assert (output - expected).abs().max() <= 1e-5 * expected.abs().max()
    tolerance = NORM_TOLERANCE.get(name, 1e-4)
    check_norm(gradInput, record["gradInput"], tolerance)
    for parameter, digest in zip(net.parameters(), record["gradParams"].array(), strict=True):
        check_norm(parameter.grad, digest, tolerance)

"""DeepMark's nets from seed 1: those of pictures and films against digests that real Torch7 recorded from
DeepMark's own scripts (golden/deepmark.t7), those of speech and text against torch.nn's layers."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.families.big_lstm import big_lstm
from convnet_benchmarks.nets.families.deepspeech import deepspeech2
from convnet_benchmarks.nets.modules.speech import RecurrentReLU
from convnet_benchmarks.nets.phases import AutogradPhases
from convnet_benchmarks.nets.torch7.initialisation import initialise, normal_input
from convnet_benchmarks.nets.torch7.printing import ClassNames, torch7_string
from convnet_benchmarks.nets.torch7.random import Generator
from lua_compat import t7
from tests.helpers.places import GOLDEN
from tests.nets.test_nets import check_phases

RECORDED = {record["name"]: record for record in t7.load(GOLDEN / "deepmark.t7").array()}
NAMES = {
    "alexnet": "alexnet_deepmark",
    "vgg_d": "vgg_d",
    "resnet": "resnet50_deepmark",
    "inceptionv3": "inceptionv3_deepmark",
    "c3d": "c3d",
}
# Batch normalisation over two samples amplifies rounding: in double precision, too, the gradients' norms are
# 0.5 % (ResNet) and 1.6 % (Inception) away from the recording.
TOLERANCES = {"resnet": 2e-2, "inceptionv3": 2e-2}


@pytest.mark.parametrize("name", NAMES)
def test_the_layers_are_those_of_the_script(name: str) -> None:
    module = registry.on_meta(registry.find(NAMES[name]))
    assert torch7_string(module, ClassNames("nn.SpatialConvolution")) == RECORDED[name]["string"]
    assert len(list(module.parameters())) == len(RECORDED[name]["params"]["first"].numpy())


def check(tensors: list[torch.Tensor], digest: Any) -> None:
    """Every element has entered the sums, within the rounding of 10^8 additions; the first is exact."""
    first, sums, norms = (digest[key].numpy() for key in ("first", "sum", "norm"))
    for index, tensor in enumerate(tensors):
        wide = tensor.detach().double().flatten()
        assert wide[0].item() == first[index]
        assert wide.norm().item() == pytest.approx(norms[index], rel=1e-10)
        assert wide.sum().item() == pytest.approx(sums[index], rel=0, abs=1e-12 * wide.abs().sum().item())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_net_from_seed_1_is_torch7s(name: str) -> None:
    record = RECORDED[name]
    module = registry.build(registry.find(NAMES[name]), seed=1)
    check(list(module.parameters()), record["params"])
    for child in module.modules():
        if isinstance(child, nn.Dropout):
            child.p = 0.0
    input = normal_input(tuple(record["input_size"].array()), Generator(2))
    check([input], record["input"])
    with AutogradPhases(module) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        gradInput = phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
    expected = torch.from_numpy(record["output"].numpy())
    tolerance = TOLERANCES.get(name, 1e-5)
    assert (output - expected).abs().max() <= min(tolerance, 1e-4) * expected.abs().max()
    assert gradInput.double().norm().item() == pytest.approx(
        record["gradInput"]["norm"].numpy()[0], rel=tolerance
    )
    norms = record["gradParams"]["norm"].numpy()
    found = [parameter.grad.double().norm().item() for parameter in module.parameters()]
    # a bias before a batch normalisation has no gradient but rounding
    floor = 1e-4 * np.median(norms) if name in TOLERANCES else 0.0
    np.testing.assert_allclose(found, norms, rtol=tolerance, atol=floor)


def test_a_convolution_that_loses_its_bias_has_drawn_it() -> None:
    """The second weight of Inception v3 begins after the first bias, as recorded."""
    second = registry.build(registry.find("inceptionv3_deepmark"), seed=1)[3].weight
    assert second.flatten()[0].item() == RECORDED["inceptionv3"]["params"]["first"].numpy()[3]


def test_relu_units_compute_what_torch_nn_s_do() -> None:
    """torch.nn's layer has a matrix for its input as well: the identity."""
    torch.manual_seed(1)
    ours, theirs = RecurrentReLU(5), nn.RNN(5, 5, nonlinearity="relu")
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(torch.eye(5))
        theirs.weight_hh_l0.copy_(ours.weight)
        theirs.bias_ih_l0.copy_(ours.input_bias)
        theirs.bias_hh_l0.copy_(ours.state_bias)
    x = torch.randn(6, 3, 5)
    torch.testing.assert_close(ours(x), theirs(x)[0])


def small(module: nn.Module) -> nn.Module:
    initialise(module, Generator(1))
    return module


def test_phases_of_deep_speech() -> None:
    module = small(deepspeech2(width=12, layers=2))
    assert module(torch.randn(3, 1, 161, 60)).shape == (6, 3, 29)
    check_phases(module, torch.randn(2, 1, 161, 40, generator=torch.Generator().manual_seed(2)))


def test_phases_of_the_large_lstm() -> None:
    module = small(big_lstm(words=11, embedding=4, first=7, second=5))
    assert module(torch.zeros(3, 20, dtype=torch.int64)).shape == (3, 20, 5)
    check_phases(module, torch.randint(11, (2, 6), generator=torch.Generator().manual_seed(2)))

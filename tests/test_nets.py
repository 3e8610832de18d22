"""The nets of the registry: published parameter counts, samples, initialisation, the three phases."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from nets import registry
from nets.net import Net
from nets.phases import AutogradPhases

ROOT = Path(__file__).parents[1]

# MXNet's accuracy table (version 1.3): its parameters include batch normalisation's running statistics.
GLUON_COUNTS = {
    "alexnet": 61_100_840,
    "densenet121": 8_062_504,
    "densenet161": 28_900_936,
    "densenet169": 14_307_880,
    "densenet201": 20_242_984,
    "inceptionv3": 23_869_000,
    "mobilenet0.25": 475_544,
    "mobilenet0.5": 1_342_536,
    "mobilenet0.75": 2_601_976,
    "mobilenet1.0": 4_253_864,
    "mobilenetv2_1.0": 3_539_136,
    "mobilenetv2_0.75": 2_653_864,
    "mobilenetv2_0.5": 1_983_104,
    "mobilenetv2_0.25": 1_526_856,
    "resnet18_v1": 11_699_112,
    "resnet34_v1": 21_814_696,
    "resnet50_v1": 25_629_032,
    "resnet101_v1": 44_695_144,
    "resnet152_v1": 60_404_072,
    "resnet18_v2": 11_695_796,
    "resnet34_v2": 21_811_380,
    "resnet50_v2": 25_595_060,
    "resnet101_v2": 44_639_412,
    "resnet152_v2": 60_329_140,
    "squeezenet1.0": 1_248_424,
    "squeezenet1.1": 1_235_496,
    "vgg11": 132_863_336,
    "vgg13": 133_047_848,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "vgg11_bn": 132_874_344,
    "vgg13_bn": 133_059_624,
    "vgg16_bn": 138_374_440,
    "vgg19_bn": 143_689_256,
}


def test_the_whole_table_is_here():
    assert len(GLUON_COUNTS) == 34


@pytest.mark.parametrize("name", GLUON_COUNTS)
def test_parameters_as_mxnet_counted_them(name):
    assert registry.count_with_statistics(registry.on_meta(registry.find(name))) == GLUON_COUNTS[name]


@pytest.mark.parametrize("net", registry.NETS.values(), ids=lambda net: net.name)
def test_parameters_are_those_the_registry_states(net):
    assert registry.parameter_count(registry.on_meta(net)) == net.parameters


def test_names_are_known_without_torch():
    code = "import sys; from nets import registry; registry.NETS; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_an_unknown_name_gets_suggestions():
    with pytest.raises(
        KeyError, match=r"'resnet50' \(did you mean .*resnet50_v1.*\); accepted: alexnet_owt,"
    ):
        registry.find("resnet50")


# Each family's smallest net of every design, with a size on which it still has something to compute.
SMALL = {
    "recognize_digits": (1, 28, 28),
    "squeezenet1.1": (3, 64, 64),
    "resnet18_v1": (3, 64, 64),
    "resnet50_v1": (3, 64, 64),
    "resnet18_v2": (3, 64, 64),
    "resnet50_v2": (3, 64, 64),
    "densenet121": (3, 64, 64),
    "mobilenet0.25": (3, 64, 64),
    "mobilenetv2_0.25": (3, 64, 64),
    "inceptionv3": (3, 107, 107),
    "inceptionv4": (3, 107, 107),
    "inception_resnet_v2": (3, 107, 107),
}


def gradients_by_autograd(module, input, grad_output):
    """Output, input gradient and parameter gradients of one ordinary backward pass."""
    module.zero_grad()
    leaf = input.clone().requires_grad_()
    output = module(leaf)
    output.backward(output.detach() if grad_output is None else grad_output)
    return output.detach(), leaf.grad, [parameter.grad for parameter in module.parameters()]


def relative_error(found, exact):
    return float((found - exact).abs().max() / exact.abs().max().clamp_min(1e-30))


def check_phases(net: Net, size):
    """In training mode but for dropout, which would draw anew: the three phases against one backward pass."""
    module = registry.build(net, seed=1)
    for child in module.modules():
        if isinstance(child, nn.Dropout):
            child.p = 0.0
    # Deep nets amplify rounding: batches of one small image normalise over few values.
    input = net.sample((2, *size), torch.Generator().manual_seed(2))
    output, expected_input, expected = gradients_by_autograd(module, input, None)
    for parameter in module.parameters():
        parameter.grad = None
    with AutogradPhases(module) as phases:
        phases.zeroGradParameters()
        found = phases.updateOutput(input)
        gradInput = phases.updateGradInput(input, found)
        phases.accGradParameters(input, found)
    assert torch.isfinite(output).all()
    assert relative_error(found, output) <= 1e-4
    assert relative_error(gradInput, expected_input) <= 1e-3
    trained = [p for p in module.parameters() if p.requires_grad]
    assert trained
    for parameter, gradient in zip(module.parameters(), expected, strict=True):
        if parameter.requires_grad:
            assert relative_error(parameter.grad, gradient) <= 1e-3 or gradient.abs().max() < 1e-6


@pytest.mark.parametrize("name", SMALL)
def test_three_phases_on_a_small_input(name):
    check_phases(registry.find(name), SMALL[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in registry.NETS if name not in SMALL])
def test_three_phases_of_the_larger_nets(name):
    net = registry.find(name)
    check_phases(net, net.input_size)

"""The nets of the registry: published parameter counts, samples, initialisation, the three phases."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from convnet_benchmarks.nets import engine, registry
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.nets.phases import AutogradPhases
from convnet_benchmarks.nets.torch7.initialisation import initialise
from convnet_benchmarks.nets.torch7.random import Generator
from tests.helpers.commands import run_python

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


def test_the_whole_table_is_here() -> None:
    assert len(GLUON_COUNTS) == 34


@pytest.mark.parametrize("name", GLUON_COUNTS)
def test_parameters_as_mxnet_counted_them(name: str) -> None:
    assert registry.count_with_statistics(registry.on_meta(registry.find(name))) == GLUON_COUNTS[name]


@pytest.mark.parametrize("net", registry.NETS.values(), ids=lambda net: net.name)
def test_parameters_are_those_the_registry_states(net: Net) -> None:
    assert registry.parameter_count(registry.on_meta(net)) == net.parameters


def test_names_are_known_without_torch() -> None:
    code = "import sys; from convnet_benchmarks.nets.registry import NETS; print('torch' in sys.modules)"
    done = run_python("-c", code)
    assert done.stdout == "False\n"


def test_an_unknown_name_gets_suggestions() -> None:
    with pytest.raises(KeyError, match=r"'resnet50' \(did you mean .*resnet50_v1.*\)"):
        registry.find("resnet50")


# What Torch7's nn, the papers and others count: parameters without statistics.
PUBLISHED = {
    "dcgan_generator": 3_576_704,
    "dcgan_discriminator": 2_765_568,
    "inceptionv4": 42_679_816,
    "inception_resnet_v2": 55_843_464,
    "ssd_vgg16": 26_285_486,
    "faster_rcnn_vgg16": 137_078_239,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_as_others_counted_them(name: str) -> None:
    assert registry.find(name).parameters == PUBLISHED[name]


def test_parameters_that_were_published_in_millions() -> None:
    assert round(registry.find("ssd_mobilenet").parameters / 1e6, 1) == 6.8  # arXiv:1704.04861, table 13
    assert registry.find("gnmt").parameters == pytest.approx(278e6, rel=0.005)  # arXiv:1701.06538, table 2


# The nets that one small image is enough for, each design's smallest one in the quick tests.
SMALL = {
    "dcgan_discriminator": (3, 64, 64),
    "dcgan_generator": (100, 1, 1),
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


def gradients_by_autograd(
    module: nn.Module, input: Tensor
) -> tuple[list[Tensor], Tensor | None, list[Tensor | None]]:
    """Outputs, input gradient and parameter gradients of one backward pass; gradOutput is the output."""
    leaf = input.clone().requires_grad_(input.is_floating_point())
    outputs = tree_leaves(module(leaf))
    torch.autograd.backward(outputs, [output.detach().clone() for output in outputs])
    gradients = [parameter.grad for parameter in module.parameters()]
    for parameter in module.parameters():
        parameter.grad = None
    outputs = [output.detach() for output in outputs]
    return outputs, leaf.grad if leaf.requires_grad else torch.zeros_like(leaf), gradients


def relative_error(found: Tensor | None, exact: Tensor | None) -> float:
    assert found is not None and exact is not None
    return float((found - exact).abs().max() / exact.abs().max().clamp_min(1e-12))


def check_phases(module: nn.Module, input: Tensor) -> None:
    """The three phases against one backward pass, in training mode (dropout, which draws again, is off)."""
    for child in module.modules():
        if isinstance(child, nn.Dropout):
            child.p = 0.0
    outputs, expected_input, expected = gradients_by_autograd(module, input)
    with AutogradPhases(module) as phases:
        phases.zeroGradParameters()
        found = phases.updateOutput(input)
        gradInput = phases.updateGradInput(input, found)
        phases.accGradParameters(input, found)
    for ours, theirs in zip(tree_leaves(found), outputs, strict=True):
        assert torch.isfinite(theirs).all() and theirs.abs().max() > 0
        assert relative_error(ours, theirs) <= 1e-4
    # Deep nets amplify rounding: a batch of two small images normalises over few values.
    assert relative_error(gradInput, expected_input) <= 1e-3
    assert any(parameter.requires_grad for parameter in module.parameters())
    for parameter, gradient in zip(module.parameters(), expected, strict=True):
        if parameter.requires_grad:
            assert relative_error(parameter.grad, gradient) <= 1e-3 or gradient.abs().max() < 1e-6


def check_net(net: Net, size: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(2)
    check_phases(registry.build(net, seed=1), net.sample((2, *size), generator))


@pytest.mark.parametrize("name", SMALL)
def test_three_phases_on_a_small_input(name: str) -> None:
    check_net(registry.find(name), SMALL[name])


# tested small in test_translation.py, test_detection.py and test_deepmark.py
TOO_LARGE = {"gnmt", "faster_rcnn_vgg16", "big_lstm"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in registry.NETS if name not in {*SMALL, *TOO_LARGE}])
def test_three_phases_of_the_larger_nets(name: str) -> None:
    net = registry.find(name)
    any_size = ("DenseNet", "MobileNet", "MobileNetV2", "ResNet v1", "ResNet v2", "SqueezeNet")
    small = net.family in any_size and not net.name.endswith("_deepmark")  # which pools 7x7
    check_net(net, (3, 64, 64) if small else net.input_size)


def initialised(module: nn.Module) -> nn.Module:
    initialise(module, Generator(1))
    return module


def test_a_transposed_convolution_starts_as_torch7s() -> None:
    """SpatialFullConvolution's bound counts all input planes: real Torch7's reset()."""
    layer = initialised(nn.ConvTranspose2d(3, 2, 4))
    bound = 1 / (3 * 4 * 4) ** 0.5
    values = np.concatenate([layer.weight.detach().numpy().ravel(), layer.bias.detach().numpy()])
    np.testing.assert_array_equal(values, drawn_uniform(values.size, bound))


def test_a_depthwise_convolution_counts_its_groups_planes() -> None:
    layer = initialised(nn.Conv2d(8, 8, 3, groups=8, bias=False))
    np.testing.assert_array_equal(layer.weight.detach().numpy().ravel(), drawn_uniform(72, 1 / 3))


def test_an_lstm_is_uniform_in_the_hidden_sizes_bound() -> None:
    layer = initialised(nn.LSTM(3, 4, bidirectional=True))
    values = np.concatenate([parameter.detach().numpy().ravel() for parameter in layer.parameters()])
    np.testing.assert_array_equal(values, drawn_uniform(values.size, 0.5))


def test_an_embedding_is_normal() -> None:
    layer = initialised(nn.Embedding(7, 3))
    expected = np.empty(21, np.float32)
    Generator(1).fill_normal(expected)
    np.testing.assert_array_equal(layer.weight.detach().numpy().ravel(), expected)


def test_batch_normalisation_starts_with_statistics_of_0_and_1() -> None:
    trained, fixed, bare = (
        nn.BatchNorm2d(3),
        nn.BatchNorm2d(3).requires_grad_(False),
        nn.BatchNorm2d(3, affine=False),
    )
    for norm in (trained, fixed, bare):
        for tensor in norm.state_dict().values():
            tensor.fill_(7)
        initialised(norm)
        assert torch.equal(norm.get_buffer("running_mean"), torch.zeros(3))
        assert torch.equal(norm.get_buffer("running_var"), torch.ones(3))
    expected = np.empty(3, np.float32)
    Generator(1).fill_uniform(expected, 0, 1)
    np.testing.assert_array_equal(trained.weight.detach().numpy(), expected)
    assert torch.equal(fixed.weight, torch.ones(3))
    assert torch.equal(trained.bias, torch.zeros(3)) and torch.equal(fixed.bias, torch.zeros(3))


def test_a_layer_without_a_rule_is_refused() -> None:
    with pytest.raises(TypeError, match="no initialisation for PReLU at '1'"):
        initialised(nn.Sequential(nn.ReLU(), nn.PReLU()))


def drawn_uniform(size: int, bound: float) -> np.ndarray:
    """What Torch7's generator gives from seed 1; weight and bias draw one after the other."""
    values = np.empty(size, np.float32)
    Generator(1).fill_uniform(values, -bound, bound)
    return values


def test_samples_follow_from_their_generator() -> None:
    image, text = registry.find("recognize_digits"), registry.find("gnmt")
    for net, dtype in ((image, torch.float32), (text, torch.int64)):
        shape = (4, *net.input_size)
        one, again = (net.sample(shape, torch.Generator().manual_seed(3)) for _ in range(2))
        assert torch.equal(one, again) and one.shape == shape and one.dtype == dtype
    assert one.min() >= 0 and 31_000 < one.max() < 32_000


@pytest.mark.parametrize(
    "name", ["resnet18_v1", pytest.param("resnet50_v2", marks=pytest.mark.slow), "mobilenetv2_0.25"]
)
def test_the_cpu_engine_runs_residual_nets(name: str) -> None:
    net = registry.find(name)
    module = registry.build(net, seed=1).double()
    input = net.sample((2, 3, 64, 64), torch.Generator().manual_seed(2)).double()
    outputs, expected_input, expected = gradients_by_autograd(module, input)
    with engine.compile(module, tuple(input.shape), "mm") as phases:
        phases.zeroGradParameters()
        found = phases.updateOutput(input)
        assert relative_error(found, outputs[0]) <= 1e-10
        assert relative_error(phases.updateGradInput(input, found), expected_input) <= 1e-8
        phases.accGradParameters(input, found)
        sums = [layer for layer in phases.report().layers if "add" in layer.kind.split("+")]
    assert sums  # the engine sees through the residuals: the normalisations before them add them
    assert all("stock" not in layer.algorithms.values() for layer in sums)
    for parameter, gradient in zip(module.parameters(), expected, strict=True):
        if parameter.requires_grad:
            assert relative_error(parameter.grad, gradient) <= 1e-8 or gradient.abs().max() < 1e-10

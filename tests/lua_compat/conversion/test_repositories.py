"""Layers that repositories declared themselves, against what real Torch7 computed with the repositories'
files."""

from typing import Any

import pytest
import torch
from torch import nn

from convnet_benchmarks.nets.modules.torch7 import View
from lua_compat import t7
from lua_compat.conversion import ConversionError, from_torch, to_torch
from lua_compat.lua_modules import LuaModule
from lua_compat.torch_modules import tables
from lua_compat.torch_modules.repositories import layers
from tests.helpers.places import GOLDEN
from tests.helpers.torch_values import tensors_of, value_of

MODELS = GOLDEN / "models"
CASES = {
    case["name"]: case
    for file in ("repositories.t7", "cyclegan.t7")
    for case in t7.load(MODELS / file).array()
}


def assert_same(got: Any, expected: Any) -> None:
    got, expected = tensors_of(got), tensors_of(expected)
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10 * max(1.0, other.abs().max().item()))


@pytest.mark.parametrize("name", CASES)
def test_it_computes_what_torch7_did(name: str) -> None:
    case = CASES[name]
    net = to_torch(case["module"])
    assert not any(isinstance(module, LuaModule) for module in net.modules())
    input = value_of(case["input"])
    leaves = tensors_of(input)
    for leaf in leaves:
        leaf.requires_grad_("gradInput" in case)
    output = net(input)
    if case["random"]:
        (mean, log_variance), noise = leaves, (output - leaves[0]).detach()
        gradient = value_of(case["gradOutput"])
        of_mean, of_variance = torch.autograd.grad(output, [mean, log_variance], gradient)
        assert_same([of_mean, of_variance], [gradient, 0.5 * noise * gradient])
        return
    assert_same(output, value_of(case["output"]))
    if "gradInput" not in case:
        return
    parameters = list(net.parameters())
    found = torch.autograd.grad(
        tensors_of(output), [*leaves, *parameters], tensors_of(value_of(case["gradOutput"]))
    )
    assert_same(list(found[: len(leaves)]), value_of(case["gradInput"]))
    assert_same(
        [g.reshape(-1) for g in found[len(leaves) :]],
        [g.reshape(-1) for g in value_of(case["gradients"])],
    )


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("Upsample", "CycleGAN")])
def test_it_goes_back(name: str) -> None:
    case = CASES[name]
    if case["random"]:
        return
    again = to_torch(from_torch(to_torch(case["module"]), dtype=torch.float64))
    assert_same(again(value_of(case["input"])), value_of(case["output"]))


def test_instance_normalization_of_before_2017_is_an_attribute() -> None:
    net: Any = to_torch(CASES["InstanceNormalization"]["module"])
    net.of_each_image = True
    with torch.no_grad():
        net.weight.fill_(1)
        net.bias.zero_()
    output = net(value_of(CASES["InstanceNormalization"]["input"]))
    torch.testing.assert_close(output.mean((2, 3)), torch.zeros(2, 3, dtype=torch.float64))


def layer(typename: str, **fields: Any) -> t7.TorchObject:
    return t7.TorchObject(typename, 1, t7.LuaTable(fields))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (layer("nn.Sampler", argmax=True), "a Sampler with a field argmax differs from VAE-Torch's"),
        (layer("cudnn.LSTM", mode="CUDNN_X"), "field mode must be one of CUDNN_LSTM, "),
        (layer("cudnn.LSTM", mode="CUDNN_LSTM", rememberStates=True), "rememberStates"),
    ],
)  # fmt: skip
def test_another_layer_of_the_same_name_is_refused(module: t7.TorchObject, message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        to_torch(module)


@pytest.mark.parametrize("mode", ["CUDNN_LSTM", "CUDNN_GRU", "CUDNN_RNN_TANH", "CUDNN_RNN_RELU"])
@pytest.mark.parametrize("directions", [1, 2])
def test_cudnns_recurrent_layers_are_pytorchs(mode: str, directions: int) -> None:
    """The vector holds all matrices, then all biases, as PyTorch hands them to cuDNN."""
    kind: Any = {"CUDNN_LSTM": nn.LSTM, "CUDNN_GRU": nn.GRU}.get(mode, nn.RNN)
    options = {"nonlinearity": mode[-4:].lower()} if kind is nn.RNN else {}
    torch.manual_seed(1)
    reference = kind(3, 4, 2, bidirectional=directions == 2, **options).double()
    named = list(reference.named_parameters())
    pieces = [p for n, p in named if "weight" in n] + [p for n, p in named if "bias" in n]
    vector = torch.cat([piece.detach().reshape(-1) for piece in pieces]).numpy()
    net = to_torch(
        layer("cudnn.RNN", mode=mode, inputSize=3, hiddenSize=4, numLayers=2, numDirections=directions,
              weight=t7.Tensor.from_numpy(vector))
    )  # fmt: skip
    input = torch.randn(5, 2, 3, dtype=torch.float64)
    torch.testing.assert_close(net(input), reference(input)[0], rtol=0, atol=1e-12)
    assert len({p.untyped_storage().data_ptr() for p in net.parameters()}) == 1


def test_densenets_memory_efficient_layer() -> None:
    def layer(planes: int) -> nn.Module:
        first = nn.Sequential(nn.BatchNorm2d(planes), nn.ReLU())
        return layers.DenseConnectLayerCustom(net1=first, net2=nn.Conv2d(planes, 3, 3, padding=1))

    net = nn.Sequential(layer(2), layer(5), tables.JoinTable(dimension=2)).double()
    input = torch.randn(2, 2, 4, 4, dtype=torch.float64)
    one = net[0].net2(net[0].net1(input))
    two = net[1].net2(net[1].net1(torch.cat([input, one], 1)))
    expected = torch.cat([input, one, two], 1)
    assert_same(net(input), expected)
    assert_same(to_torch(from_torch(net))(input), expected)


def test_the_top_of_a_batch() -> None:
    input = torch.tensor([[3.0, -1], [1, 5], [2, 4]], dtype=torch.float64)
    largest, smallest = (layers.BatchTopK(k=0.5, flag=flag) for flag in (True, False))
    assert_same(largest(input), torch.tensor([[3.0, 0], [0, 5], [2, 4]]).double())
    assert_same(to_torch(from_torch(smallest, dtype=torch.float64))(input), smallest(input))
    assert_same(smallest(input), torch.tensor([[0.0, -1], [1, 0], [2, 4]]).double())
    assert_same(largest.eval()(input), input)


def test_binary_activations() -> None:
    net: Any = to_torch(from_torch(layers.BinActiveZ(), dtype=torch.float64))
    input = torch.tensor([-2.0, -1, -0.3, 0, 0.7, 1, 3], dtype=torch.float64, requires_grad=True)
    output = net(input)
    assert_same(output, torch.tensor([-1.0, -1, -1, 0, 1, 1, 1]).double())
    output.backward(torch.arange(1.0, 8).double())
    assert_same(input.grad, torch.tensor([0.0, 0, 3, 4, 5, 0, 0]).double())


def test_torch_rnns_net_takes_any_batch() -> None:
    """Its views have the size of the batch before."""
    linear = nn.Linear(3, 2).double()
    net = nn.Sequential(View(8, -1, num_input_dims=3), linear, View(2, 4, -1, num_input_dims=2))
    file = t7.TorchObject("nn.LanguageModel", fields=t7.LuaTable({"net": from_torch(net), "train": True}))
    input = torch.randn(5, 7, 3, dtype=torch.float64)
    assert_same(to_torch(file)(input), linear(input))
    assert_same(to_torch(from_torch(to_torch(file)))(input), linear(input))

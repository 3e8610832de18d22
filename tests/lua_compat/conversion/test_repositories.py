"""Layers that repositories declared themselves, against what real Torch7 computed with the repositories'
files."""

from typing import Any

import pytest
import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion import ConversionError, from_torch, to_torch
from lua_compat.lua_modules import LuaModule
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

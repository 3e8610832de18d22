"""Torch7's models as torch.nn Modules, against what real Torch7 computed with them."""

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion import ConversionError, convert, from_torch, to_torch
from tests.helpers.places import GOLDEN
from tests.helpers.torch_values import mapped, tensors_of, value_of

# models/models.t7: see probe_models.lua there. Interpolation weights are float32 in Torch7, and some of its
# gradients hold an epsilon of 1e-7.
TOLERANCE = 1e-6
CASES = {
    f"{place}: {case['expr']}": case
    for place, case in enumerate(t7.load(GOLDEN / "models" / "models.t7").array(), 1)
}


def assert_close(expected: Any, got: Any, tolerance: float = TOLERANCE) -> None:
    expected, got = tensors_of(expected), tensors_of(got)
    assert [tensor.shape for tensor in expected] == [tensor.shape for tensor in got]
    for one, other in zip(expected, got, strict=True):
        assert one.dtype == other.dtype
        largest = one.abs().double().max().item() if one.numel() else 0.0
        torch.testing.assert_close(other, one, rtol=0, atol=tolerance * largest)


@pytest.mark.parametrize("name", CASES)
def test_every_recorded_module_computes_what_torch7_did(name: str) -> None:
    case = CASES[name]
    if not case["random"]:
        module = to_torch(case["module"])
        assert module.training
        assert_close(value_of(case["output"]), module(value_of(case["input"])))
    module = to_torch(case["module"]).eval()
    assert_close(value_of(case["evaluated"]), module(value_of(case["input"])))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "gradInput" in case])
def test_every_recorded_module_has_torch7s_gradients(name: str) -> None:
    case = CASES[name]
    module = to_torch(case["module"])
    wanted = mapped(lambda t: t.requires_grad_(t.is_floating_point()), value_of(case["input"]))
    output = module(mapped(torch.clone, wanted))  # a copy: an in-place layer may not write to a leaf
    inputs = [tensor for tensor in tensors_of(wanted) if tensor.requires_grad]
    if not any(tensor.requires_grad for tensor in tensors_of(output)):
        pytest.skip("nothing of it can be differentiated")
    gradients = torch.autograd.grad(
        tensors_of(output), inputs, tensors_of(value_of(case["gradOutput"])), allow_unused=True
    )
    filled = [torch.zeros_like(t) if g is None else g for t, g in zip(inputs, gradients, strict=True)]
    assert_close(value_of(case["gradInput"]), filled)


def recorded(name: str, encoding: str = "bin") -> Any:
    return t7.load(GOLDEN / "t7" / f"{name}.{encoding}.t7")


@pytest.mark.parametrize("encoding", ["bin", "ascii", "long4"])
@pytest.mark.parametrize(("name", "tolerance"), [("net", 1e-6), ("residual", 1e-5), ("tied", 1e-6)])
def test_the_serialized_nets_reproduce_their_recorded_output(
    name: str, tolerance: float, encoding: str
) -> None:
    record = recorded(name, encoding)
    net = to_torch(record["net"])
    assert_close(value_of(record["output"]), net(value_of(record["input"])), tolerance)


def test_each_module_keeps_its_mode() -> None:
    net = to_torch(recorded("net")["net"])
    assert not any(module.training for module in net.modules())
    record = recorded("net")
    record["net"]["modules"][6]["train"] = True
    net = to_torch(record["net"])
    assert [module.training for module in net.children()] == [i == 5 for i in range(8)]


def test_number_types_follow_the_file() -> None:
    assert {p.dtype for p in to_torch(recorded("net")["net"]).parameters()} == {torch.float64}
    assert {p.dtype for p in to_torch(recorded("residual")["net"]).parameters()} == {torch.float32}


def test_tied_weights_stay_tied() -> None:
    net = to_torch(recorded("tied")["net"])
    assert net[0] is not net[1]
    assert net[0].weight is net[1].weight
    assert net[0].bias is net[1].bias
    net(torch.ones(1, 3, dtype=torch.float64)).sum().backward()
    with torch.no_grad():
        net[0].weight -= net[0].weight.grad
    assert torch.equal(net[0].weight, net[1].weight)
    assert len(list(net.parameters())) == 2


def test_a_module_used_twice_is_one_module() -> None:
    (case,) = (case for name, case in CASES.items() if "twice" in name)
    net = to_torch(case["module"])
    assert net[0] is net[2]


def test_views_of_one_vector_stay_views_of_one_vector() -> None:
    (case,) = (case for name, case in CASES.items() if "flat" in name and "Flatten" not in name)
    parameters = list(to_torch(case["module"]).parameters())
    memories = {parameter.untyped_storage().data_ptr() for parameter in parameters}
    assert len(parameters) == 4
    assert len(memories) == 1


def test_a_conversion_leaves_the_file_as_it_was() -> None:
    record = recorded("residual")
    before = record["net"]["modules"][3]["weight"].numpy().copy()
    net = to_torch(record["net"])
    with torch.no_grad():
        net[2].weight.zero_()
    np.testing.assert_array_equal(record["net"]["modules"][3]["weight"].numpy(), before)


def test_the_counterpart_of_every_module_is_returned() -> None:
    converted = convert(recorded("residual")["net"], "net")
    places = {path: (source.typename, type(module).__name__) for path, source, module in converted.places}
    assert places["net.modules[1].modules[1].modules[2]"] == ("nn.Tanh", "Tanh")
    assert places["net"] == ("nn.Sequential", "Sequential")
    assert len(places) == 8


# ---- what is not recorded: other packages, older files, and what cannot be converted


def module(typename: str, version: int = 1, **fields: Any) -> t7.TorchObject:
    return t7.TorchObject(typename, version, t7.LuaTable(fields))


def tensor(*shape: int) -> t7.Tensor:
    return t7.Tensor.from_numpy(np.random.default_rng(0).standard_normal(shape))


def sequential(*modules: Any) -> t7.TorchObject:
    return module("nn.Sequential", modules=t7.LuaTable.from_list(modules))


def test_cudnn_layers_are_nns_with_groups_and_whole_windows() -> None:
    net = to_torch(
        sequential(
            module("cudnn.SpatialConvolution", nInputPlane=4, nOutputPlane=6, kW=3, kH=3, dW=1, dH=1, padW=1,
                   padH=1, groups=2, weight=tensor(6, 2, 3, 3), bias=tensor(6)),
            module("cudnn.ReLU", inplace=True),
            module("cudnn.SpatialAveragePooling", kW=2, kH=2, dW=2, dH=2, padW=0, padH=0, ceil_mode=True),
        )
    )  # fmt: skip
    assert net[0].groups == 2
    output = net(torch.ones(1, 4, 5, 5, dtype=torch.float64))
    assert output.shape == (1, 6, 3, 3)
    corner = net[1](net[0](torch.ones(1, 4, 5, 5, dtype=torch.float64)))[0, :, 4, 4]
    torch.testing.assert_close(output[0, :, 2, 2], corner / 4)  # one value in a window of four


@pytest.mark.parametrize("log", [False, True])
def test_cudnn_s_softmaxes_are_over_a_sample_or_the_planes_of_a_volume(log: bool) -> None:
    name = "LogSoftMax" if log else "SoftMax"
    function = torch.log_softmax if log else torch.softmax
    of_sample, of_planes = (to_torch(module(f"cudnn.{kind}{name}")) for kind in ("", "Volumetric"))
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    assert torch.equal(of_sample(x), function(x.view(2, -1), 1).view_as(x))
    assert torch.equal(of_sample(x[0]), function(x[0].reshape(-1), 0).view(3, 4, 5))
    assert torch.equal(of_sample(x[0, 0]), function(x[0, 0], 1))
    assert torch.equal(of_planes(x), function(x, 0))
    assert torch.equal(of_planes(x[None]), function(x[None], 1))


BEFORE = {
    "relu": module("nn.ReLU", inplace=True), "tanh": module("nn.Tanh"), "sigmoid": module("nn.Sigmoid"),
    "elu": module("nn.ELU", alpha=1, inplace=True), "leaky": module("nn.LeakyReLU", negval=0.2, inplace=True),
    "exp": module("nn.Exp"), "soft": module("nn.SoftMax"),
    "sqrt": sequential(module("nn.Abs"), module("nn.Sqrt", eps=0)),
}  # fmt: skip
OVERWRITING = {
    "relu": module("nn.ReLU", inplace=True), "relu6": module("nn.ReLU6", inplace=True),
    "threshold": module("nn.Threshold", threshold=0.1, val=0, inplace=True),
    "leaky": module("nn.LeakyReLU", negval=0.2, inplace=True), "elu": module("nn.ELU", alpha=1, inplace=True),
    "hardtanh": module("nn.HardTanh", min_val=-0.5, max_val=0.5, inplace=True),
    "dropout": module("nn.Dropout", p=0.5, v2=True, inplace=True),
    "old dropout": module("nn.Dropout", p=0.5, v2=False, inplace=True),
    "add": module("nn.AddConstant", constant_scalar=1.5, inplace=True),
    "mul": module("nn.MulConstant", constant_scalar=0.5, inplace=True),
    "sum": sequential(
        module("nn.ConcatTable", modules=t7.LuaTable.from_list([module("nn.Identity"), module("nn.Tanh")])),
        module("nn.CAddTable", inplace=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("overwriting", OVERWRITING)
@pytest.mark.parametrize("before", BEFORE)
def test_layers_that_overwrite_their_input_train(before: str, overwriting: str) -> None:
    """Whatever comes before them, the gradients are those of the layers out of place."""
    linear = module("nn.Linear", weight=tensor(4, 4), bias=tensor(4))
    net = to_torch(sequential(linear, BEFORE[before], OVERWRITING[overwriting]))
    plain = to_torch(sequential(linear, BEFORE[before], OVERWRITING[overwriting]))
    for part in plain.modules():
        if hasattr(part, "inplace"):
            part.inplace = False  # type: ignore[assignment]
    input = torch.randn(3, 4, dtype=torch.float64)
    results = []
    for one in (net, plain):
        torch.manual_seed(1)
        given = input.clone().requires_grad_()
        output = one(given)
        results.append([output, *torch.autograd.grad(output.sin().sum(), [given, *one.parameters()])])
    torch.testing.assert_close(results[0], results[1])
    torch.manual_seed(1)
    with torch.no_grad():
        torch.testing.assert_close(net(input.clone()), results[0][0].detach())


def test_an_overwritten_input_of_several_branches_is_seen_by_all() -> None:
    """As in Torch7; what made the input keeps its own values for its gradient."""
    branches = [module("nn.ReLU", inplace=True), module("nn.Identity")]
    table = module("nn.ConcatTable", modules=t7.LuaTable.from_list(branches))
    joined = module("nn.Concat", dimension=2, modules=t7.LuaTable.from_list(branches))
    for last, parts in ((table, lambda output: output), (joined, lambda output: output.chunk(2, 1))):
        linear = module("nn.Linear", weight=tensor(4, 4), bias=tensor(4))
        net = to_torch(sequential(linear, module("nn.Tanh"), last))
        input = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
        first, second = parts(net(input))
        expected = net[1](net[0](input)).relu()
        torch.testing.assert_close((first, second), (expected, expected))
        (gradient,) = torch.autograd.grad((first + second).sum(), input)
        torch.testing.assert_close(gradient, torch.autograd.grad(2 * expected.sum(), input)[0])


def test_a_layer_keeps_its_flag_on_the_way_back() -> None:
    back = from_torch(to_torch(sequential(OVERWRITING["relu"], OVERWRITING["elu"], OVERWRITING["dropout"])))
    assert [layer["inplace"] for layer in back["modules"].array()] == [True, True, True]


def test_fixed_kernels_are_not_parameters() -> None:
    """Torch7 does not train what local means are taken with."""
    names = [name for name in CASES if "tiveNormalization" in name]
    assert names
    for name in names:
        net = to_torch(CASES[name]["module"])
        assert not list(net.parameters()) and list(net.buffers())


def test_batch_normalization_of_version_1_kept_the_inverse_deviation() -> None:
    variance = np.array([0.5, 2.0])
    old = module("nn.BatchNormalization", nDim=2, eps=1e-5, momentum=0.1, affine=False,
                 running_mean=t7.Tensor.from_numpy(np.zeros(2)),
                 running_std=t7.Tensor.from_numpy(1 / np.sqrt(variance + 1e-5)))  # fmt: skip
    np.testing.assert_allclose(to_torch(old).running_var.numpy(), variance)


def test_gradient_reversal_of_version_1_has_no_factor() -> None:
    x = torch.ones(3, requires_grad=True)
    to_torch(module("nn.GradientReversal", version=1))(x).sum().backward()
    assert x.grad.tolist() == [-1, -1, -1]


def test_average_pooling_of_before_divide_sums() -> None:
    pool = to_torch(module("nn.SpatialAveragePooling", kW=2, kH=2, dW=2, dH=2))
    assert pool(torch.ones(1, 4, 4)).tolist() == [[[4, 4], [4, 4]]]


def test_a_convolution_with_one_padding_field() -> None:
    old = module("nn.SpatialConvolutionMM", nInputPlane=1, nOutputPlane=1, kW=3, kH=3, dW=1, dH=1, padding=1,
                 weight=tensor(1, 9), bias=tensor(1))  # fmt: skip
    assert to_torch(old)(torch.zeros(1, 1, 5, 5, dtype=torch.float64)).shape == (1, 1, 5, 5)


def test_wrappers_of_several_gpus_are_their_module() -> None:
    inner = module("nn.Tanh")
    table = module("nn.DataParallelTable", modules=t7.LuaTable.from_list([inner]))
    assert isinstance(to_torch(table), nn.Tanh)
    assert isinstance(to_torch(module("nn.GPU", modules=t7.LuaTable.from_list([inner]))), nn.Tanh)


def containing_itself() -> t7.TorchObject:
    net = sequential()
    net["modules"][1] = net
    return net


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            sequential(module("nn.Tanh"), sequential(module("rnn.Mystery"))),
            "net.modules[2].modules[1]: rnn.Mystery has no counterpart in PyTorch here",
        ),
        (
            sequential(module("nn.Linear", bias=tensor(3))),
            "net.modules[1]: nn.Linear: field weight is missing",
        ),
        (
            sequential(module("nn.Linear", weight="w")),
            "net.modules[1]: nn.Linear: field weight must be a tensor, not 'w'",
        ),
        (
            sequential(
                module(
                    "nn.SpatialConvolution", nInputPlane=3, nOutputPlane=4, kW=3, kH=3, weight=tensor(4, 4)
                )
            ),
            "net.modules[1]: nn.SpatialConvolution: field weight: shape '[4, 3, 3, 3]' is invalid",
        ),
        (
            module("nn.Linear", weight=t7.Tensor.from_numpy(np.ones((2, 2), np.int64))),
            "net: nn.Linear: field weight: a torch.LongTensor cannot be trained",
        ),
        (sequential("text"), "net.modules[1]: a module is expected, not str"),
        (module("nn.Sequential"), "net: nn.Sequential: field modules must be a table, not nil"),
        (module("nn.Narrow", dimension=1), "net: nn.Narrow: Narrow needs the field index"),
        (containing_itself(), "net.modules[1]: the module contains itself"),
        (module("cudnn.SpatialDivisiveNormalization"), "net: cudnn.SpatialDivisiveNormalization: has no"),
        (module("nn.gModule", nInputs=1), "net: nn.gModule: field forwardnodes must be a table"),
    ],
)  # fmt: skip
def test_what_cannot_be_converted_names_its_place(model: Any, message: str) -> None:
    with pytest.raises(ConversionError) as caught:
        to_torch(model, "net")
    assert str(caught.value).startswith(message)


WRONG_VALUES = (None, 0, -1, 2.5, 1e300, math.inf, math.nan, True, "x", b"\xff", t7.LuaTable(),
                t7.LuaTable.from_list([1, 2]), t7.Tensor("torch.DoubleTensor", None, (), ()), tensor(2, 3),
                t7.Tensor.from_numpy(np.ones(3, np.int64)), t7.TorchObject("nn.Tanh"), 2**40,
                t7.Storage("torch.LongStorage", np.array([2, -1, 0])))  # fmt: skip


def copied(value: Any, known: dict[int, Any]) -> Any:
    """A copy of a module's tables; tensors stay."""
    if not isinstance(value, t7.TorchObject | t7.LuaTable):
        return value
    if id(value) not in known:
        table = t7.LuaTable()
        is_table = isinstance(value, t7.LuaTable)
        known[id(value)] = table if is_table else t7.TorchObject(value.typename, value.version, table)
        for key, item in (value if is_table else value.fields).items():
            table[copied(key, known)] = copied(item, known)
    return known[id(value)]


def tables_in(value: Any, seen: set[int]) -> Iterator[t7.LuaTable]:
    table = value.fields if isinstance(value, t7.TorchObject) else value
    if not isinstance(table, t7.LuaTable) or id(table) in seen:
        return
    seen.add(id(table))
    yield table
    for item in table.values():
        yield from tables_in(item, seen)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_module_is_converted_or_refused_with_its_place(seed: int) -> None:
    generator = random.Random(seed)
    cases = list(CASES.values())
    for _ in range(1000):
        model = copied(generator.choice(cases)["module"], {})
        table = generator.choice([table for table in tables_in(model, set()) if table])
        table[generator.choice(list(table))] = generator.choice(WRONG_VALUES)
        try:
            to_torch(model)
        except ConversionError as error:
            assert error.path.startswith("root")


def test_modules_nested_without_end_are_refused() -> None:
    model = module("nn.Tanh")
    for _ in range(1000):
        model = sequential(model)
    with pytest.raises(ConversionError, match="more than 100 modules inside one another"):
        to_torch(model)

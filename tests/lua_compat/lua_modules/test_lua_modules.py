"""Modules that Lua computes inside PyTorch, against what real Torch7 computed with the same Lua file."""

import copy
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lua_compat import t7
from lua_compat.conversion import ConversionError, Fields, from_torch, to_torch
from lua_compat.lua_modules import LuaModule
from lua_compat.runtime.errors import LuaError
from tests.helpers.commands import run_python
from tests.helpers.places import GOLDEN

FOLDER = GOLDEN / "models" / "own_classes"
CLASSES = FOLDER / "classes.lua"
RECORD = t7.load(FOLDER / "recorded.t7")


def tensor(lua: t7.Tensor) -> Tensor:
    return torch.from_numpy(np.array(lua.numpy()))


INPUT, GRADIENT = tensor(RECORD["input"]), tensor(RECORD["gradOutput"])


def recorded_net() -> nn.Module:
    return to_torch(RECORD["net"], lua=[CLASSES])


def scalar_net(*classes: str) -> nn.Module:
    """A net of one class without fields, such as nn.AddNoise."""
    modules = [t7.TorchObject(name, 1, t7.LuaTable({"train": True})) for name in classes]
    net = t7.TorchObject("nn.Sequential", 1, t7.LuaTable({"modules": t7.LuaTable.from_list(modules)}))
    return to_torch(net, lua=[CLASSES])


def assert_same(got: Tensor | None, expected: Tensor) -> None:
    assert got is not None
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10 * expected.abs().max().item())


def test_it_computes_and_learns_what_torch7_did() -> None:
    net = recorded_net()
    assert [type(module) is LuaModule for module in net.children()] == [
        True,
        False,
        True,
        False,
        True,
        True,
        False,
    ]
    output = net(INPUT)
    assert_same(output, tensor(RECORD["output"]))
    output.backward(GRADIENT)
    parameters = list(net.parameters())
    for parameter, recorded in zip(parameters, RECORD["gradients"].array(), strict=True):
        assert_same(parameter.grad, tensor(recorded))
    torch.optim.SGD(parameters, lr=0.1).step()
    for parameter, recorded in zip(parameters, RECORD["parameters"].array(), strict=True):
        assert_same(parameter, tensor(recorded))
    assert_same(net.state_dict()["2.running"], tensor(RECORD["running"]))
    assert_same(net.eval()(INPUT), tensor(RECORD["evaluated"]))


def trained() -> nn.Module:
    net = recorded_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        net(INPUT).backward(GRADIENT)
        optimizer.step()
    return net.eval()


def by_state_dict(net: nn.Module) -> nn.Module:
    other = recorded_net().eval()
    other.load_state_dict(net.state_dict())
    return other


def by_pickle(net: nn.Module) -> nn.Module:
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    loaded: nn.Module = torch.load(file, weights_only=False)
    return loaded


def by_torch7(net: nn.Module) -> nn.Module:
    return to_torch(from_torch(net), lua=[CLASSES])


@pytest.mark.parametrize("copied", [copy.deepcopy, by_state_dict, by_pickle, by_torch7])
def test_a_copy_computes_the_same_and_is_on_its_own(copied: Callable[[nn.Module], nn.Module]) -> None:
    net = trained()
    other = copied(net)
    expected = net(INPUT).detach()
    torch.testing.assert_close(other(INPUT), expected, rtol=0, atol=0)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1)
        other.train()(INPUT)
    torch.testing.assert_close(net(INPUT), expected, rtol=0, atol=0)


def test_number_types_follow_the_module() -> None:
    net = trained()
    expected = net(INPUT).detach()
    parameters = list(net.parameters())
    single = net.float()
    assert all(one is other for one, other in zip(parameters, single.parameters(), strict=True))
    output = single(INPUT.float())
    assert output.dtype == torch.float32
    torch.testing.assert_close(output.double(), expected, rtol=0, atol=1e-6)
    output.backward(GRADIENT.float())
    assert {parameter.grad.dtype for parameter in parameters if parameter.grad is not None} == {torch.float32}
    torch.testing.assert_close(single.double()(INPUT), expected, rtol=0, atol=1e-6)


def test_two_forwards_may_come_before_their_backwards() -> None:
    """As in a loss of two batches; noise is the one that each had."""
    net = scalar_net("nn.AddNoise")
    first, second = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    outputs = net(first), net(second)
    (outputs[0] + outputs[1]).sum().backward()
    for input, output in zip((first, second), outputs, strict=True):
        torch.testing.assert_close(input.grad, output.detach() / input.detach())
    assert not torch.equal(outputs[0] / first, outputs[1] / second)


def test_gradients_agree_with_differences() -> None:
    net = trained()
    inner = nn.Sequential(*list(net.children())[1:])
    input = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(inner, (input,), atol=1e-6)


def test_its_shapes_are_known_without_values() -> None:
    net = recorded_net().to("meta")
    output = net(INPUT.to("meta"))
    assert output.is_meta and output.shape == (4, 2)
    output.sum().backward()
    assert all(parameter.grad.is_meta for parameter in net.parameters() if parameter.grad is not None)


def test_the_printed_module_says_who_computes_it() -> None:
    assert "(2): nn.RunningCentre(computed by Lua: classes.lua)" in str(recorded_net())


def test_a_class_of_ths_own_needs_no_file() -> None:
    weight = t7.Tensor.from_numpy(np.array([[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]]))
    none = t7.Tensor("torch.DoubleTensor", None, (), ())
    bias = t7.Tensor.from_numpy(np.zeros(2))
    fields = {"weight": weight, "bias": bias, "gradWeight": weight, "gradBias": none, "output": none}
    net = to_torch(t7.TorchObject("nn.SparseLinear", 1, t7.LuaTable(fields)))
    assert str(net) == "nn.SparseLinear(computed by Lua, th's own class)"
    sparse = torch.tensor([[1.0, 2.0], [3.0, 1.0]], dtype=torch.float64)  # 2 at place 1, 1 at place 3
    assert net(sparse).tolist() == [5, 0]


def test_functions_in_a_model_are_not_run_unless_lua_files_come_with_it() -> None:
    """A field can take the place of any method, and is called while the module is loaded."""
    function = t7.load(GOLDEN / "t7" / "closure.bin.t7")
    assert isinstance(function, t7.LuaFunction)
    module = t7.TorchObject("nn.SparseLinear", 1, t7.LuaTable({"options": t7.LuaTable({"hook": function})}))
    with pytest.raises(ConversionError, match=r"nn.SparseLinear: options.hook is a function, which is code"):
        to_torch(module)


def unknown_net() -> t7.TorchObject:
    modules = [t7.TorchObject(f"my.{name}") for name in ("A", "B", "A", "A")]
    return t7.TorchObject("nn.Sequential", 1, t7.LuaTable({"modules": t7.LuaTable.from_list(modules)}))


def test_all_unknown_classes_are_named_at_once() -> None:
    with pytest.raises(ConversionError) as caught:
        to_torch(unknown_net())
    assert str(caught.value) == (
        "root.modules[1]: my.A has no counterpart in PyTorch here (also at 2 other places);"
        " nor has my.B at root.modules[2];"
        " give the Lua files that declare them (lua=[...], convert --lua FILE),"
        " or a conversion (conversions={...})"
    )


def test_conversions_of_the_callers_own() -> None:
    def scaled(fields: Fields) -> nn.Module:
        assert fields.typename == "my.B"
        return nn.Tanh()

    net = to_torch(unknown_net(), conversions={"my.A": lambda fields: nn.ReLU(), "B": scaled})
    assert [type(module) for module in net.children()] == [nn.ReLU, nn.Tanh, nn.ReLU, nn.ReLU]
    two = t7.LuaTable({"modules": t7.LuaTable.from_list([t7.TorchObject("nn.Tanh")])})
    net = to_torch(t7.TorchObject("nn.Sequential", 1, two), conversions={"nn.Tanh": lambda f: nn.SiLU()})
    assert type(net[0]) is nn.SiLU


def test_an_error_in_lua_is_one_line_that_names_the_class() -> None:
    net = recorded_net()
    with pytest.raises(RuntimeError, match=r"^nn\.OneOf, computed by Lua: "):
        net(torch.ones(3, 3, 3, dtype=torch.float64))


def test_a_file_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.lua"
    broken.write_text("x = (")
    with pytest.raises(LuaError, match=r"broken.lua:1: unexpected symbol near '<eof>'$"):
        to_torch(RECORD["net"], lua=[broken])
    with pytest.raises(FileNotFoundError):
        to_torch(RECORD["net"], lua=[tmp_path / "none.lua"])


def named_by_content(folder: Path) -> str:
    """A copy of the record under a name that says nothing."""
    model = folder / "trained.net"
    model.write_bytes((FOLDER / "recorded.t7").read_bytes())
    return f"{model}+{CLASSES}"


def test_commands_take_such_nets(tmp_path: Path) -> None:
    model = named_by_content(tmp_path)
    command = ("-m", "convnet_benchmarks")
    written = tmp_path / "net.pt"
    shown = run_python(*command, "convert", tmp_path / "trained.net", "--lua", CLASSES, "--to", written)
    assert shown.stdout == f"{recorded_net()}\n"
    assert torch.load(written)["2.running"].shape == (6,)
    compared = run_python(*command, "crosscheck", model, "--mode", "train")
    assert (compared.returncode, compared.stdout.splitlines()[-1]) == (0, "AGREE: 1 of 1 values are the same")
    refused = run_python(*command, "convert", tmp_path / "trained.net", "--to", written)
    assert refused.returncode == 2
    assert "net.modules[1]: nn.OneOf has no counterpart in PyTorch here; nor has" in refused.stderr
    program = tmp_path / "net.pt2"
    refused = run_python(
        *command, "convert", tmp_path / "trained.net", "--lua", CLASSES, "--to", program, "--input-size", "5"
    )
    assert (refused.returncode, program.exists()) == (2, False)
    assert "Lua computes nn.Gate, nn.Halves, nn.OneOf, nn.RunningCentre" in refused.stderr
    missing = run_python("benchmark.py", "--net", f"{tmp_path / 'trained.net'}+none.lua", "--input-size", "5")
    assert (missing.returncode, missing.stderr) == (
        2,
        "benchmark.py: option --net: there is no Lua file 'none.lua'\n",
    )


def test_the_benchmark_runs_such_nets(tmp_path: Path) -> None:
    inner = t7.LuaTable.from_list(RECORD["net"]["modules"].array()[1:4])
    t7.save(tmp_path / "inner.model", t7.TorchObject("nn.Sequential", 1, t7.LuaTable({"modules": inner})))
    net = f"{tmp_path / 'inner.model'}+{CLASSES}"
    done = run_python("benchmark.py", "--net", net, "--input-size", "5", "--iter", "1", "--batch-size", "3")
    assert done.returncode == 0, done.stderr
    assert "(2): nn.RunningCentre(computed by Lua: classes.lua)" in done.stdout
    assert ":TOTAL:" in done.stdout

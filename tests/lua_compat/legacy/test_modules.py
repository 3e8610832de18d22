"""Modules with torch.legacy.nn's interface, against what real Torch7 computed with the same files."""

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor

from lua_compat import t7
from lua_compat.legacy import load_lua, nn, optim
from tests.helpers.places import GOLDEN

MODELS = GOLDEN / "models" / "models.t7"
RECORDED = t7.load(MODELS).array()
LOADED = load_lua(MODELS, unknown_classes=True)
OF_INDICES = {"nn.LookupTable": lambda x: x - 1, "nn.Index": lambda x: [x[0], x[1] - 1]}


def classes_of(value: Any) -> set[str]:
    """The classes of a module in the file and of those that it leads to."""
    if isinstance(value, t7.LuaTable):
        return set().union(*(classes_of(item) for item in value.values()))
    return {value.typename} | classes_of(value.fields) if isinstance(value, t7.TorchObject) else set()


def is_known(case: t7.LuaTable) -> bool:
    return all(name.startswith("nn.") and hasattr(nn, name[3:]) for name in classes_of(case["module"]))


KNOWN = [place for place, case in enumerate(RECORDED) if is_known(case)]


def tensors_of(value: Any) -> list[Tensor]:
    return [value] if isinstance(value, Tensor) else [t for item in value or () for t in tensors_of(item)]


def assert_same(got: Any, expected: Any, tolerance: float = 1e-9) -> None:
    got, expected = tensors_of(got), tensors_of(expected)
    assert [tensor.shape for tensor in got] == [tensor.shape for tensor in expected]
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("place", KNOWN, ids=[RECORDED[place]["expr"][:60] for place in KNOWN])
def test_every_recorded_module_computes_what_torch7_did(place: int) -> None:
    case = LOADED[place]
    module = copy.deepcopy(case.module)
    input = copy.deepcopy(OF_INDICES.get(f"nn.{type(module).__name__}", lambda x: x)(case.input))
    if not case.random:
        assert_same(module.forward(copy.deepcopy(input)), case.output)
        if "gradInput" in case:
            assert_same(module.backward(copy.deepcopy(input), copy.deepcopy(case.gradOutput)), case.gradInput)
    module = copy.deepcopy(case.module)
    module.evaluate()
    assert_same(module.forward(copy.deepcopy(input)), case.evaluated)


def net() -> Any:
    torch.manual_seed(1)
    inner = nn.Concat(1).add(nn.Linear(4, 3)).add(nn.Linear(4, 2))
    return nn.Sequential().add(inner).add(nn.ReLU()).add(nn.Linear(5, 2))


def by_hand(net: Any, x: Tensor) -> Tensor:
    first, second = net.get(0).modules
    hidden = torch.cat([x @ m.weight.t() + m.bias for m in (first, second)], 1).clamp(min=0)
    return hidden @ net.get(2).weight.t() + net.get(2).bias


def test_results_stay_the_same_objects() -> None:
    model, x = net(), torch.randn(3, 4)
    output = model.forward(x)
    assert_same(output, by_hand(model, x), 1e-6)
    larger = torch.randn(300, 4)
    assert model.forward(larger) is output is model.output is model.get(2).output
    assert_same(output, by_hand(model, larger), 1e-6)


def test_what_python_changes_counts() -> None:
    model, x = net(), torch.randn(3, 4)
    model.forward(x)
    model.get(2).weight.data.mul_(2)
    model.get(2).bias = torch.ones(2)
    assert_same(model.forward(x), by_hand(model, x), 1e-6)
    model.modules.pop()
    assert model.forward(x).shape == (3, 5)


def test_gradients_accumulate_in_place() -> None:
    model, x = net(), torch.randn(3, 4)
    gradient = model.get(2).gradWeight
    model.zeroGradParameters()
    for _ in range(2):
        model.forward(x)
        model.backward(x, torch.ones(3, 2))
    assert model.get(2).gradWeight is gradient
    assert_same(gradient, 2 * torch.ones(2, 3) @ model.get(1).output, 1e-5)
    before = model.get(2).weight.clone()
    model.updateParameters(0.1)
    assert_same(model.get(2).weight, before - 0.1 * gradient, 1e-6)


def test_flattened_parameters_are_those_of_the_net() -> None:
    model, x = net(), torch.randn(3, 4)
    flat, gradients = model.flattenParameters()
    gradients.zero_()  # until then whatever its memory held, as in Torch7
    assert flat.numel() == gradients.numel() == 15 + 10 + 12
    flat.zero_()
    assert model.forward(x).abs().sum() == 0
    model.backward(x, torch.ones(3, 2))
    assert_same(gradients[-2:], torch.full((2,), 3.0) + 0 * gradients[-2:])


def test_lists_of_modules() -> None:
    model = net()
    assert [type(m).__name__ for m in model.listModules()] == [
        "Sequential", "Concat", "Linear", "Linear", "ReLU", "Linear",
    ]  # fmt: skip
    found, containers = model.findModules(nn.Linear)
    assert found[2] is model.get(2) and containers == [model.get(0), model.get(0), model]
    assert model.findModules("nn.Linear")[0] == found
    model.replace(lambda m: nn.Tanh() if isinstance(m, nn.ReLU) else m)
    assert type(model.get(1)).__name__ == "Tanh" and len(model.parameters()[0]) == 6
    assert repr(model).split("\n")[0] == "nn.Sequential {"


def test_modes_types_and_copies() -> None:
    model, x = net(), torch.randn(3, 4)
    expected = model.forward(x).clone()
    model.evaluate()
    assert not any(m.train for m in model.listModules())
    assert model.double().type() == "torch.DoubleTensor"
    assert_same(model.forward(x.double()), expected.double(), 1e-6)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.clone()):
        other.get(2).bias.add_(1)
        assert_same(other.forward(x.double()), expected.double() + 1, 1e-6)
    assert_same(model.forward(x.double()), expected.double(), 1e-6)
    with pytest.raises(ValueError, match=r"DoubleTensor, not torch\.LongTensor"):
        model.type(torch.LongTensor)


def test_indices_count_from_0() -> None:
    x, target = torch.randn(3, 4).log_softmax(1), torch.tensor([0, 3, 2])
    loss = nn.ClassNLLCriterion()
    assert loss.forward(x, target) == pytest.approx(torch.nn.functional.nll_loss(x, target).item(), abs=1e-6)
    both = nn.MultiCriterion().add(loss, 0.5).add(nn.CrossEntropyCriterion())
    assert both.forward(x, target) == pytest.approx(loss.output * 1.5, abs=1e-5)
    table = nn.Sequential().add(nn.LookupTable(5, 2))
    assert_same(table.forward(torch.tensor([0, 4])), table.get(0).weight[[0, 4]])
    assert_same(nn.Narrow(1, 1, 2).forward(x), x[:, 1:3])
    assert_same(nn.SelectTable(-1).forward([x, target]), target)
    assert_same(nn.Transpose((0, 1)).forward(x), x.t())
    assert nn.JoinTable(0).dimension == 0 and nn.Squeeze(0).dim == 0 and nn.Max().dimension == 0


class Doubled(nn.Module):
    def updateOutput(self, input: Tensor) -> Tensor:
        self.output = input * 2
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = gradOutput * 2
        return self.gradInput


def test_a_class_in_python_works_inside_a_container() -> None:
    model = nn.Sequential().add(Doubled()).add(nn.AddConstant(1))
    x = torch.randn(3)
    assert_same(model.forward(x), x * 2 + 1)
    assert_same(model.backward(x, torch.ones(3)), torch.full((3,), 2.0))


class Failing(nn.Module):
    def updateOutput(self, input: Tensor) -> Tensor:
        raise KeyError("of Python")


def test_errors() -> None:
    with pytest.raises(KeyError, match="of Python"):
        nn.Sequential().add(Failing()).forward(torch.ones(1))
    with pytest.raises(TypeError, match=r"Linear\(\) needs the argument outputSize"):
        nn.Linear(3)
    with pytest.raises(TypeError, match="no argument bias"):
        nn.Tanh(bias=True)
    with pytest.raises(AttributeError, match="no NoSuch"):
        _ = nn.NoSuch


def test_autograd_may_use_the_results() -> None:
    wanted = torch.ones(3, requires_grad=True)
    (nn.Tanh().forward(torch.randn(3)) * wanted).sum().backward()
    assert wanted.grad is not None


@pytest.mark.parametrize("name", optim.__all__)
def test_optim_goes_downhill(name: str) -> None:
    x, state = torch.full((3,), 2.0), {"learningRate": 0.01, "maxIter": 2}
    weights = torch.tensor([1.0, 2.0, 3.0])
    losses = []
    for _ in range(2):
        _, seen = getattr(optim, name)(
            lambda p: ((weights * (p - 1) ** 2).sum().item(), 2 * weights * (p - 1)), x, state
        )
        losses.append(float(seen[0]))
    assert losses[1] < losses[0] == 6


def test_sgd_is_sgd() -> None:
    x = torch.zeros(2)
    state: dict[str, Any] = {}
    config = {"learningRate": 0.1, "momentum": 0.5}
    velocity, expected = torch.zeros(2), torch.zeros(2)
    for step in range(3):
        optim.sgd(lambda p: (0.0, p - 1), x, config, state)
        gradient = expected - 1
        velocity = gradient.clone() if step == 0 else 0.5 * velocity + 0.5 * gradient
        expected = expected - 0.1 * velocity
    assert state["evalCounter"] == 3
    assert_same(x, expected, 1e-6)


def test_models_print_as_in_torch7_with_indices_from_zero() -> None:
    class Mine(nn.Module):
        pass

    branches = nn.ConcatTable().add(nn.Linear(4, 3)).add(nn.Sequential().add(Mine()))
    assert (
        repr(nn.Sequential().add(branches).add(nn.CAddTable()))
        == """\
nn.Sequential {
  [input -> (0) -> (1) -> output]
  (0): nn.ConcatTable {
    input
      |`-> (0): nn.Linear(4 -> 3)
      |`-> (1): nn.Sequential {
             [input -> (0) -> output]
             (0): nn.Mine
           }
       ... -> output
  }
  (1): nn.CAddTable
}"""
    )
    incomplete = nn.Linear(2, 3)
    incomplete.weight = None
    assert repr(incomplete) == "nn.Linear"


def test_there_is_no_gpu() -> None:
    with pytest.raises(RuntimeError, match=r"^Linear\.cuda\(\): these modules compute on the CPU"):
        nn.Linear(2, 3).cuda()

"""Nets written as Python files: run in a process without our packages, against what they were made from."""

import functools
import io
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.families.big_lstm import big_lstm
from convnet_benchmarks.nets.families.deepspeech import deepspeech2
from convnet_benchmarks.nets.families.gnmt import gnmt
from convnet_benchmarks.nets.modules import detection
from convnet_benchmarks.nets.modules.torch7 import CAddTable, Concat, ConcatTable, View
from lua_compat import t7
from lua_compat.conversion import ConversionError, from_torch, to_torch
from lua_compat.conversion.families import recurrent
from lua_compat.conversion.python_source import program
from lua_compat.conversion.python_source.definitions import Definitions
from lua_compat.conversion.python_source.program import python_source, save_python
from lua_compat.packages import modules_of
from lua_compat.torch_modules import arithmetic, containers, graph, normalization, tables, transfer
from lua_compat.torch_modules.base import InPlace, Torch7Module
from lua_compat.torch_modules.repositories import layers
from tests.helpers import written_nets
from tests.helpers.places import GOLDEN
from tests.helpers.torch_values import tensors_of, value_of

Makes = Callable[[], nn.Module]
FILES = ("models", "others", "repositories", "rnn", "torch_rnn", "cyclegan", "later")


def _recorded(file: str) -> dict[str, tuple[Makes, Any]]:
    """Returns the modules that real Torch7 wrote, each with an input."""
    found: dict[str, tuple[Makes, Any]] = {}
    for place, case in enumerate(t7.load(GOLDEN / "models" / f"{file}.t7").array()):
        source = case["module"]
        if isinstance(source, str | bytes):
            source = t7.load(io.BytesIO(source.encode() if isinstance(source, str) else source))
        found[f"{file}{place}"] = (functools.partial(to_torch, source), value_of(case["input"]))
    return found


def _random_net(seed: int) -> nn.Module:
    """Returns a net of vectors of six: chains, branches, tables, graphs, blocks again and again, what is
    shared or tied, layers in place."""
    rng = random.Random(seed)
    linears: list[Any] = []
    left = [30]  # parts, until there are but simple ones

    def linear(outputs: int = 6) -> nn.Module:
        same = [each for each in linears if each.out_features == outputs]
        if same and rng.random() < 0.2:
            return rng.choice(same)
        made = nn.Linear(6, outputs)
        if same and rng.random() < 0.3:
            made.weight = rng.choice(same).weight
        linears.append(made)
        return made

    def simple() -> nn.Module:
        return rng.choice([
            linear, nn.Tanh, nn.Sigmoid, lambda: transfer.ReLU(True), lambda: transfer.ELU(0.5, True),
            lambda: nn.Dropout(0.3), lambda: normalization.BatchNormalization(6), lambda: nn.Linear(6, 6),
            lambda: arithmetic.MulConstant(constant_scalar=1.5, inplace=rng.random() < 0.5),
            lambda: arithmetic.CMul(weight=nn.Parameter(torch.rand(1, 6))), nn.Identity,
        ])()  # fmt: skip

    def branches(outputs: int = 6) -> list[nn.Module]:
        return [
            nn.Sequential(*chain(), linear(outputs)) if outputs < 6 or rng.random() < 0.7 else simple()
            for _ in range(2)
        ]

    def table() -> list[nn.Module]:
        parts: list[nn.Module] = [ConcatTable(branches())]
        if rng.random() < 0.5:
            parts.append(containers.ParallelTable([linear(), simple()]))
        return [*parts, tables.CAddTable(inplace=rng.random() < 0.5)]

    def dag() -> nn.Module:
        children = [linear(), simple(), tables.CMulTable(), simple()]
        steps: list[Any] = [
            (None, (), None),
            (0, (0,), None),
            (1, (1,), None),
            (2, (1, 2), None),
            (3, (3,), None),
        ]
        return graph.GraphModule(children, steps, (4,), 1)

    def again() -> list[nn.Module]:
        follows: list[nn.Module] = rng.choice([[], [nn.Tanh()]])
        state = rng.getstate()
        found: list[nn.Module] = []
        for _ in range(rng.randint(2, 4)):
            rng.setstate(state)
            found += [nn.Sequential(*table()), *follows]
        return found

    def joined() -> nn.Module:
        return Concat(1, *branches(3))

    def chain() -> list[nn.Module]:
        found: list[nn.Module] = []
        for _ in range(rng.randint(1, 4)):
            left[0] -= 1
            kind = rng.random() if left[0] > 0 else 0
            if kind < 0.4:
                found.append(simple())
            elif kind < 0.55:
                found.append(nn.Sequential(*chain()))
            elif kind < 0.7:
                found += table()
            elif kind < 0.8:
                found.append(joined())
            elif kind < 0.9:
                found.append(dag())
            else:
                found += again()
        return found

    torch.manual_seed(seed)
    net = nn.Sequential(linear(), *chain(), *chain(), nn.Linear(6, 3)).double()
    file = io.BytesIO()
    t7.save(file, from_torch(net))
    loaded = to_torch(t7.load(io.BytesIO(file.getvalue())))
    return loaded if rng.random() < 0.5 else loaded.eval()


def _written(folder: Path, nets: dict[str, tuple[Makes, Any]]) -> dict[str, Any]:
    """Writes the nets and returns what a process without our packages finds of them."""
    for name, (make, _) in nets.items():
        save_python(make(), folder / f"{name}.py")
    return written_nets.outcomes(folder, {name: input for name, (_, input) in nets.items()})


def _assert_same(nets: dict[str, tuple[Makes, Any]], found: dict[str, Any]) -> None:
    for name, (make, input) in nets.items():
        assert found[name]["training"] == make().training
        for mode in (True, False):
            expected, got = written_nets.outcome(make, input, mode), found[name][mode]
            assert expected.keys() == got.keys(), f"{name}: {got.get('error')}"
            assert expected.pop("error", None) == got.pop("error", None)
            for key in expected:
                pairs = zip(tensors_of(expected[key]), tensors_of(got[key]), strict=True)
                for one, other in pairs:
                    torch.testing.assert_close(
                        other, one, rtol=1e-5, atol=1e-9, equal_nan=True, msg=f"{name}, {mode}: {key}"
                    )


def _all_recorded() -> dict[str, tuple[Makes, Any]]:
    return {name: net for file in FILES for name, net in _recorded(file).items()}


def _random_nets(count: int) -> dict[str, tuple[Makes, Any]]:
    seed = random.randrange(10**6)
    print("seed", seed)
    generator = torch.Generator().manual_seed(seed)
    return {
        f"random{number}": (
            functools.partial(_random_net, number),
            torch.randn(4, 6, dtype=torch.float64, generator=generator),
        )
        for number in range(seed, seed + count)
    }


def test_every_recorded_module_runs_without_us(tmp_path: Path) -> None:
    nets = _all_recorded() | _random_nets(2)
    _assert_same(nets, _written(tmp_path, nets))


@pytest.mark.slow
def test_many_random_nets_run_without_us(tmp_path: Path) -> None:
    nets = _random_nets(100)
    _assert_same(nets, _written(tmp_path, nets))


def _nets_with_forwards_of_their_own() -> dict[str, tuple[Makes, Any]]:
    def ssd() -> nn.Module:
        maps = [(nn.Conv2d(3, 4, 3, stride=4), 4, 2), (nn.Conv2d(4, 5, 3, stride=2), 5, 3)]
        return detection.SSD(maps, 6, kernel=3, first_norm=detection.ScaledUnitNorm(4, 2.0))

    def faster_rcnn() -> nn.Module:
        features = nn.Sequential(nn.Conv2d(3, 4, 3, stride=8, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        classifier = nn.Sequential(View(16, num_input_dims=3), nn.Linear(16, 5), nn.ReLU(inplace=True))
        proposals, pooling = detection.Proposals(16, count=3, candidates=20), detection.RegionPooling(16, 2)
        return detection.FasterRCNN(features, 4, proposals, pooling, classifier, 5, 4)

    made: dict[str, tuple[Makes, Any]] = {
        "big_lstm": (lambda: big_lstm(9, 4, 5, 3), torch.randint(9, (2, 6))),
        "deepspeech2": (lambda: deepspeech2(width=5, layers=2), torch.randn(2, 1, 161, 60).double()),
        "gnmt": (lambda: gnmt(tokens=11, width=4, layers=3), torch.randint(11, (2, 2, 5))),
        "ssd": (ssd, torch.randn(2, 3, 33, 33).double()),
        "faster_rcnn": (faster_rcnn, torch.randn(2, 3, 64, 96).double()),
    }

    def double(make: Makes) -> nn.Module:
        torch.manual_seed(3)
        return make().double()

    return {name: (functools.partial(double, make), input) for name, (make, input) in made.items()}


def test_nets_with_a_forward_of_their_own(tmp_path: Path) -> None:
    nets = _nets_with_forwards_of_their_own()
    _assert_same(nets, _written(tmp_path, nets))


def test_named_nets_have_a_text() -> None:
    for net in {net.family or net.name: net for net in reversed(registry.NETS.values())}.values():
        text, state = python_source(registry.on_meta(net), "net", "net.pt")
        defined: dict[str, Any] = {"__file__": "net.py"}
        exec(text, defined)
        with torch.device("meta"):
            made = defined["Net"]()
        assert {name: value.shape for name, value in made.state_dict().items()} == {
            name: value.shape for name, value in state.items()
        }, net.name
        assert sum(map(torch.numel, made.parameters())) == net.parameters, net.name


def test_what_is_alike_is_one_class(tmp_path: Path) -> None:
    def block(width: int, inner: int) -> nn.Module:
        body = nn.Sequential(nn.Linear(width, inner), nn.Tanh(), nn.Linear(inner, width))
        return nn.Sequential(ConcatTable([body, nn.Identity()]), tables.CAddTable(inplace=False))

    net = nn.Sequential(block(6, 3), block(6, 4), nn.Linear(6, 8), *(block(8, 2) for _ in range(5)))
    text, state = python_source(net, "net", "net.pt")
    assert text.count("class Residual") == 1
    assert "class Residual1(nn.Module):\n    def __init__(self, in_features, out_features):" in text
    assert "self.residual2 = Residual1(6, 4)" in text
    assert "*(Residual1(8, 2) for _ in range(5))" in text
    assert state["blocks.4.branch.2.weight"] is not None
    assert "lua_compat" not in text and "import nets" not in text


def test_blocks_that_differ_in_arguments_without_a_name(tmp_path: Path) -> None:
    def block(*sizes: int) -> nn.Module:
        body = nn.Sequential(View(*sizes, num_input_dims=1), nn.Softmax(2), View(12, num_input_dims=2))
        return nn.Sequential(ConcatTable([body, nn.Identity()]), tables.CAddTable(inplace=False))

    net = nn.Sequential(block(4, 3), block(2, 6), nn.Linear(12, 2))
    save_python(net, tmp_path / "net.py")
    assert "def __init__(self, sizes, sizes2):" in (tmp_path / "net.py").read_text()
    input = torch.randn(2, 12)
    torch.testing.assert_close(written_nets.load(tmp_path, "net")(input), net(input))


def test_what_python_cannot_read_is_refused() -> None:
    net: nn.Module = nn.Tanh()
    for _ in range(300):
        net = nn.Sequential(net, nn.Tanh())
    with pytest.raises(ConversionError, match=r"net: Python cannot read its text"):
        python_source(net, "net", "net.pt")


def test_without_safetensors_the_numbers_are_pytorchs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "find_spec", lambda name: None)
    assert save_python(nn.Sequential(nn.Linear(2, 3)), tmp_path / "net.py") == tmp_path / "net.pt"
    assert "safetensors" not in (tmp_path / "net.py").read_text()
    assert written_nets.load(tmp_path, "net")(torch.zeros(1, 2)).shape == (1, 3)


def test_number_types_that_differ_are_kept(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(2, 3).double(), nn.Linear(3, 4), nn.BatchNorm1d(4).half())
    save_python(net, tmp_path / "net.py")
    loaded = written_nets.load(tmp_path, "net")
    assert [p.dtype for p in loaded.parameters()] == [p.dtype for p in net.parameters()]
    assert [b.dtype for b in loaded.buffers()] == [b.dtype for b in net.buffers()]


def test_a_part_of_anothers_memory_stays_one(tmp_path: Path) -> None:
    """As an autoencoder's decoder, whose weight is the encoder's, transposed."""
    net = nn.Sequential(nn.Linear(3, 5, bias=False), nn.Linear(5, 3, bias=False))
    net[1].weight = nn.Parameter(net[0].weight.detach().T)
    save_python(net, tmp_path / "net.py")
    loaded: Any = written_nets.load(tmp_path, "net")
    torch.testing.assert_close(loaded.linear2.weight, net[1].weight)
    with torch.no_grad():
        loaded.linear1.weight.zero_()
    assert not loaded.linear2.weight.any()


def test_what_a_layer_has_under_two_names(tmp_path: Path) -> None:
    """An InstanceNormalization that was never trained has two buffers that are one tensor."""
    zeros, ones = torch.zeros(2), torch.ones(2)
    buffers = {"running_mean": zeros, "running_var": ones, "planes_mean": zeros, "planes_variance": ones}
    net = nn.Sequential(
        layers.InstanceNormalization(weight=nn.Parameter(torch.rand(2)), bias=None, nOutput=2, **buffers)
    )
    save_python(net, tmp_path / "net.py")
    input = torch.randn(1, 2, 3, 3)
    torch.testing.assert_close(written_nets.load(tmp_path, "net")(input), net(input))


def test_what_cannot_be_written_is_named() -> None:
    class Own(nn.Module):
        def forward(self, input: Any) -> Any:
            return input

    with pytest.raises(ConversionError, match=r"net\[1\]: Own is neither PyTorch's nor made by to_torch"):
        python_source(nn.Sequential(nn.Tanh(), Own()), "net", "net.pt")


def _layer_classes() -> list[type]:
    """Returns the classes that a conversion may give and that are not PyTorch's, but for graphs."""
    found = [
        kind
        for package in (
            "lua_compat.torch_modules",
            "lua_compat.conversion.families",
            "convnet_benchmarks.nets.modules",
        )
        for module in modules_of(package)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, nn.Module) and kind.__module__ == module.__name__
    ]
    return [kind for kind in found if kind not in (InPlace, Torch7Module, graph.GraphModule)]


def test_every_layers_class_stands_alone() -> None:
    kinds = _layer_classes()
    assert len(kinds) > 100
    for kind in kinds:
        definitions = Definitions()
        name = definitions.need(kind)
        text = "\n\n".join([*sorted(definitions.imports), *definitions.texts])
        assert not re.search(r"\b(lua_compat|InPlace|Torch7Module)\b", text)
        defined: dict[str, Any] = {}
        exec(text, defined)
        assert issubclass(defined[name], nn.Module)


def test_one_name_for_two_things_is_refused() -> None:
    definitions = Definitions()
    definitions.need(tables.CAddTable)
    with pytest.raises(ConversionError, match=r"CAddTable: of .* two things of one name"):
        definitions.need(CAddTable)


@pytest.mark.parametrize("kind", [recurrent.LSTM, recurrent.GRU, recurrent.RNN])
def test_cudnns_recurrent_layers(tmp_path: Path, kind: Callable[..., nn.Module]) -> None:
    more = {"nonlinearity": "relu"} if kind is recurrent.RNN else {}
    net = nn.Sequential(kind(4, 3, 2, batch_first=True, bidirectional=True, **more), nn.Linear(6, 2))
    save_python(net, tmp_path / "net.py")
    input = torch.randn(2, 5, 4)
    torch.testing.assert_close(written_nets.load(tmp_path, "net")(input), net(input))


def test_tables_in_a_graph(tmp_path: Path) -> None:
    """{x} of a table that nngraph selects from, and a graph within a graph."""
    steps: list[Any] = [
        (None, (), None),
        (None, (0,), 1),
        (None, (0,), 2),
        (0, (1,), None),
        (1, (2, 3), None),
    ]
    inner = graph.GraphModule([nn.Linear(3, 3), tables.CAddTable(inplace=True)], steps, (4, 3), 2)
    outer: list[Any] = [(None, (), None), (0, (0,), None), (None, (1,), 2), (1, (2,), None)]
    net = graph.GraphModule([inner, nn.Tanh()], outer, (3, 1), 2)
    save_python(net, tmp_path / "net.py")
    input = [torch.randn(2, 3), torch.randn(2, 3)]
    found, expected = written_nets.load(tmp_path, "net")(input), net(input)
    for one, other in zip(tensors_of(found), tensors_of(expected), strict=True):
        torch.testing.assert_close(one, other)

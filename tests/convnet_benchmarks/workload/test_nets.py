"""--net: names of the registry, functions of one's own, Torch7 model files."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.points.measure import measure
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.timing.loops import Settling
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.author_errors import author_error
from tests.helpers.commands import Finished, run_python
from tests.helpers.places import GOLDEN, ROOT

MODELS = '''
import torch
from torch import nn

def small():
    """Inside, a function of the neighbour."""
    from neighbour import width
    return nn.Sequential(nn.Conv2d(3, width(), 3), nn.BatchNorm2d(4), nn.ReLU())

def fixed():
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 5))

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 4)
    def forward(self, x):
        return self.inner(x), x.sum()

class Late(nn.Module):
    """Fails at its fourth pass: when it is measured."""
    passes = 0
    def forward(self, x):
        self.passes += 1
        if self.passes == 4:
            raise ValueError("enough")
        return x * torch.ones(1, requires_grad=True)

class Nothing(nn.Module):
    def forward(self, x):
        return None

class Sum(nn.Module):
    def forward(self, x):
        return x.sum()

def ends():
    raise SystemExit(0)

def breaks():
    return {}["layers"]

def number():
    return 3

def on_meta():
    return torch.nn.Linear(8, 2, device="meta")

_hidden = fixed
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with models.py in it; what tests import and append to the path is undone."""
    (tmp_path / "zoo_models.py").write_text(MODELS)
    (tmp_path / "neighbour.py").write_text("def width():\n    return 4\n")
    (tmp_path / "zoo_broken.py").write_text("import no_such_thing\n")
    (tmp_path / "zoo_exits.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("zoo_models", "neighbour", "zoo_broken", "zoo_exits"):
        sys.modules.pop(name, None)


def test_a_name_of_the_registry() -> None:
    assert named_nets.find("vgg11") is registry.NETS["vgg11"]
    assert named_nets.find("vgg11", (3, 256, 256)).input_size == (3, 256, 256)


@pytest.mark.parametrize("name", ["zoo_models:fixed", "zoo_models.py:fixed", "./zoo_models.py:fixed"])
def test_a_function_gives_its_own_parameters_by_seed(folder: Path, name: str) -> None:
    net = named_nets.find(name, (3, 8, 8))
    one, again, other = (registry.build(net, seed) for seed in (1, 1, 2))
    assert torch.equal(one[1].weight, again[1].weight) and not torch.equal(one[1].weight, other[1].weight)
    assert registry.parameter_count(registry.on_meta(net)) == 3 * 8 * 8 * 5 + 5


def test_a_class_and_the_files_beside_the_module(folder: Path) -> None:
    assert isinstance(registry.build(named_nets.find("zoo_models:Pair", (8,)), 1), nn.Module)
    registry.build(named_nets.find("zoo_models:small", (3, 8, 8)), 1)


def test_a_torch7_model(tmp_path: Path) -> None:
    net = named_nets.find(str(GOLDEN / "t7" / "net.bin.t7"), (4,))
    module = registry.build(net, seed=1)
    assert isinstance(module, nn.Module) and registry.parameter_count(module) > 0
    assert all(p.device.type == "meta" for p in registry.on_meta(net).parameters())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "lenet",
            r"option --net: unknown net 'lenet' \(did you mean .*\?\); accepted: a name of benchmark.py",
        ),
        (
            "zoo_missing:net",
            r"cannot import 'zoo_missing': ModuleNotFoundError: No module named 'zoo_missing'$",
        ),
        ("missing.py:net", r"cannot import 'missing.py': FileNotFoundError: there is no file 'missing.py'"),
        ("zoo_broken:net", r"No module named 'no_such_thing' \(.*zoo_broken.py:1\)"),
        (
            "zoo_models:lenet",
            r"'lenet' is not there in 'zoo_models'; "
            r"accepted: small, fixed, Pair, Late, Nothing, Sum, ends, breaks, number, on_meta$",
        ),
        ("zoo_models:MODELS", "is not there in 'zoo_models'"),
        ("zoo_models:torch", "'torch' is not a function in 'zoo_models'"),
        ("missing.t7", "there is no file 'missing.t7'"),
        ("missing.t7:net", "there is no file 'missing.t7'"),
    ],
)
def test_what_is_not_there(folder: Path, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        named_nets.find(name, (3, 8, 8))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("zoo_models:breaks", r"zoo_models:breaks\(\) failed: KeyError: 'layers' \(.*zoo_models.py:\d+\)$"),
        ("zoo_models:ends", r"zoo_models:ends\(\) failed: SystemExit: 0 \(.*zoo_models.py:\d+\)$"),
        ("zoo_models:number", r"zoo_models:number\(\) returned an int; accepted: a torch.nn.Module"),
        (
            "zoo_models:on_meta",
            r"zoo_models:on_meta\(\) returned a module on PyTorch's meta device; accepted: one with memory",
        ),
    ],
)
def test_functions_that_give_no_module(folder: Path, name: str, message: str) -> None:
    net = named_nets.find(name, (3, 8, 8))
    with pytest.raises(UserError, match=message):
        registry.build(net, 1)


def test_a_t7_place_that_is_not_there() -> None:
    net = named_nets.find(f"{GOLDEN / 't7' / 'net.bin.t7'}:nowhere", (4,))
    with pytest.raises(UserError, match=r"option --net: .*nowhere"):
        registry.build(net, 1)


def test_nets_from_outside_need_a_size(folder: Path) -> None:
    with pytest.raises(UserError, match="'zoo_models:fixed' needs the size of one input, as --input-size"):
        named_nets.find("zoo_models:fixed")


def benchmark(folder: Path, *arguments: str, script: str = "benchmark.py") -> Finished:
    return run_python(ROOT / script, "--threads", "1", "-iter", "1", *arguments, cwd=folder)


@pytest.mark.parametrize("size", [("--input-size", "3x8x8"), ("-x", "8", "-y", "8")])
def test_benchmark_runs_a_function(folder: Path, size: tuple[str, ...]) -> None:
    done = benchmark(folder, "--net", "zoo_models:fixed", *size, "-batch_size", "4")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^:TOTAL:\t[\d.e-]+$", done.stdout, re.MULTILINE)


def test_benchmark_runs_a_net_with_a_table_of_outputs(folder: Path) -> None:
    net = ("--net", "zoo_models.py:Pair", "--input-size", "8")
    done = benchmark(folder, *net)
    assert done.returncode == 0, done.stderr
    assert "note: PyTorch's own kernels (stock) run this net; --backend auto would " in done.stderr
    assert "backend stock: " in done.stderr
    of_2015 = benchmark(folder, *net, "-convMM", "true")
    assert "note: PyTorch's autograd joins the engine's layers: Pair: its forward returns" in of_2015.stderr
    assert "(stock)" not in of_2015.stderr
    assert re.search(r"^:accGradParameters\(\):\t[\d.e-]+$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--net", "zoo_models:fixed"], "'zoo_models:fixed' needs the size of one input"),
        (["--net", "zoo_models:fixed", "--input-size", "3x9x9"], "fails on an input of 1x3x9x9: "),
        (
            ["--net", "zoo_models:fixed", "--input-size", "3x9x9"],
            "mat1 and mat2 shapes cannot be multiplied (1x243 and 192x5)",
        ),
        (
            ["--net", "zoo_models:Nothing", "--input-size", "8"],
            "zoo_models:Nothing gives nothing; accepted: a",
        ),
        (["--net", "zoo_exits:net", "--input-size", "8"], "cannot import 'zoo_exits': SystemExit: 3 ("),
        (["--net", "googlenet", "--input-size", "3x9"], "an input of googlenet is 3x224x224, not 3x9"),
        (["--net", "googlenet", "--input-size", "4x224x224"], "googlenet takes 3 input planes, not 4"),
        (
            ["--net", "googlenet", "--input-size", "3x9x9"],
            "option --input-size: googlenet does not accept 3x9x9",
        ),
        (["--net", "googlenet", "--input-size", "3x"], "option --input-size: '3x' is not a size such as"),
        (["--input-size", "3x221x221", "-x", "221"], "option --input-size: it and -x say the same"),
        (["--net", "resnet18_v1", "-4d_tensor", "false"], "resnet18_v1 takes batches only"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: list[str], message: str) -> None:
    done = benchmark(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_a_net_that_fails_while_it_is_measured_is_reported_in_one_line(folder: Path) -> None:
    done = benchmark(folder, "--net", "zoo_models:Late", "--input-size", "8", "--backend", "stock")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(
        r".*: option --net: zoo_models:Late failed: ValueError: enough \(.*zoo_models.py:\d+\)", last
    )


def test_an_error_of_ours_is_not_called_the_net_s(folder: Path) -> None:
    net = named_nets.find("zoo_models:small", (3, 8, 8))
    with pytest.raises(KeyError) as ours:
        registry.find("no such net")
    ours.value.__traceback__ = ours.tb.tb_next  # without this function: it is none of ours
    assert author_error(net, ours.value) is None


@pytest.mark.parametrize(("net", "gives"), [("Pair", "several tensors"), ("Sum", "a single number")])
def test_the_criterion_wants_rows_of_scores(folder: Path, net: str, gives: str) -> None:
    net = f"zoo_models:{net}"
    done = benchmark(folder, "--net", net, "--input-size", "8", script="benchmark_criterion.py")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"{net} gives {gives}; ClassNLLCriterion takes one row" in done.stderr


def test_a_point_of_a_net_that_gives_nothing_fails(folder: Path) -> None:
    point = Point("zoo_models:Nothing", 2, input_size=(8,))
    answer = measure(point, Settling(most_seconds=0.1))
    assert (answer["status"], answer["reason"]) == (
        "failed",
        "option --nets: zoo_models:Nothing gives nothing; accepted: a tensor, or several in a tuple, list, "
        "dict or dataclass",
    )

"""Nets of one's own: of several inputs, of whole numbers, and what is said where they do not run."""

import argparse
import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.net import LIST, Input, Net, size_of, size_text
from convnet_benchmarks.nets.phases import AutogradPhases
from convnet_benchmarks.nets.several_inputs import ListOfSamples, SeveralInputs
from convnet_benchmarks.options.types import input_size, input_sizes, names
from convnet_benchmarks.workload.author_errors import without_tensors
from convnet_benchmarks.workload.backends import BACKENDS, UnsupportedError
from convnet_benchmarks.workload.inputs import in_format
from convnet_benchmarks.workload.kernels import laid_out, open_inference
from convnet_benchmarks.workload.own_inputs import own_batch
from tests.helpers import own_nets
from tests.helpers.commands import Finished, run_python
from tests.helpers.places import ROOT

CPU = (torch.device("cpu"), torch.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(own_nets.__file__, tmp_path / "own_nets.py")
    return tmp_path


def benchmark(folder: Path, *words: str) -> Finished:
    return run_python(ROOT / "benchmark.py", "--threads", "1", "-iter", "1", *words, cwd=folder)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20,16,16", (20, 16, 16)),
        ("3 , 8 , 8", (3, 8, 8)),
        ("ids:2x128 mask:2x128", (Input("ids", (2, 128)), Input("mask", (2, 128)))),
        ("ids:2,128:30000", (Input("ids", (2, 128), "30000"),)),
        ("[3x8x8]", (Input(LIST, (1, 3, 8, 8)),)),
        ("image:1x3x8x8:float32 meta:1x6", (Input("image", (1, 3, 8, 8), "float32"), Input("meta", (1, 6)))),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: tuple[object, ...]) -> None:
    assert input_size(text) == size


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6), st.sampled_from("x,X"))
def test_every_list_of_sizes_is_read(sizes: list[int], between: str) -> None:
    assert input_size(between.join(map(str, sizes))) == tuple(sizes)
    assert input_size("a:" + between.join(map(str, sizes))) == (Input("a", tuple(sizes)),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "3x",
        "3x0x2",
        "a:",
        "a:2xb",
        ":2x3",
        "2:3",
        "a:2 b",
        "a:2 a:3",
        "a:2:int9",
        "a:2:0",
        "[]",
        "[3x",
        "[3] [3]",
    ],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        input_size(text)


def test_sizes_of_a_point_each() -> None:
    assert input_sizes("128,160,224") == [(128,), (160,), (224,)]
    assert input_sizes("3x8x9,3x8x8") == [(3, 8, 9), (3, 8, 8)]


def test_inputs_survive_json() -> None:
    for size in (None, (3, 8, 8), (Input("ids", (2, 9)), Input("x", (2, 3), "float64"))):
        plain = json.loads(json.dumps(size, default=vars))
        assert size_of(plain) == size


def test_the_size_in_a_list_is_shown_as_it_was_given() -> None:
    assert size_text(input_size("[3x8x9]")) == "[3x8x9]"


def test_names_may_have_arguments_with_commas() -> None:
    assert names("a.py:f(1, (2, 3)), b,c.py:g(x=[4, 5])") == ["a.py:f(1, (2, 3))", "b", "c.py:g(x=[4, 5])"]


def several(module: nn.Module, *inputs: Input) -> tuple[Net, nn.Module]:
    whole = SeveralInputs(module)
    return Net("own", lambda: whole, inputs[0].shape[1:], "", own_parameters=True, inputs=inputs), whole


@pytest.mark.parametrize("batch", [1, 3])
def test_inputs_have_the_types_that_the_net_takes(batch: int) -> None:
    inputs = (Input("image", (1, 3, 8, 8)), Input("meta", (1, 6)), Input("kind", (1,)))
    net, module = several(own_nets.Branches(), *inputs)
    drawn = own_batch(net, module, batch, 1, *CPU, "here")
    assert {name: one.dtype for name, one in drawn.items()} == {
        "image": torch.float32,
        "meta": torch.float32,
        "kind": torch.int64,
    }
    assert all(len(one) == batch for one in drawn.values())
    assert module(drawn).shape == (batch, 4)


def test_token_ids_are_below_the_rows_of_their_embedding_and_use_them() -> None:
    net, module = several(own_nets.Bert(), Input("ids", (1, 30)), Input("mask", (1, 30)))
    drawn = own_batch(net, module, 64, 1, *CPU, "here")
    assert int(drawn["ids"].max()) == 49 and int(drawn["ids"].min()) == 0
    assert set(drawn["mask"].unique().tolist()) == {0, 1}
    again = own_batch(net, module, 64, 1, *CPU, "here")
    assert all(torch.equal(drawn[name], again[name]) for name in drawn)


def test_a_kind_that_is_named_is_kept() -> None:
    inputs = (Input("ids", (1, 30), "5"), Input("mask", (1, 30), "float64"))
    net, module = several(own_nets.Bert(), *inputs)
    drawn = own_batch(net, module, 16, 1, *CPU, "here")
    assert int(drawn["ids"].max()) == 4 and drawn["mask"].dtype == torch.float64


def test_one_input_is_of_whole_numbers_only_where_the_net_takes_no_others() -> None:
    for module, size, dtype in (
        (nn.Conv2d(3, 4, 3), (3, 8, 8), torch.float32),
        (own_nets.Bert(), (9,), torch.int64),
        (nn.Identity(), (9,), torch.float32),
    ):
        net = Net("own", lambda: nn.Identity(), size, "", own_parameters=True)
        assert own_batch(net, module, 2, 1, *CPU, "here").dtype == dtype


def test_the_error_is_that_of_the_right_types() -> None:
    inputs = (Input("image", (1, 3, 8, 8)), Input("meta", (1, 5)), Input("kind", (1,)))
    net, module = several(own_nets.Branches(), *inputs)
    message = r"here: own fails on an input of image 2x3x8x8, meta 2x5, kind 2: mat1 and mat2 shapes"
    with pytest.raises(UserError, match=message):
        own_batch(net, module, 2, 1, *CPU, "here")


def own(module: nn.Module, *size: int) -> tuple[Net, nn.Module]:
    return Net("own", lambda: module, size, "", own_parameters=True), module


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_the_error_of_torchscript_is_its_end() -> None:
    net = Net("net", own_nets.scripted, (7,), "", own_parameters=True)
    with pytest.raises(UserError) as refused:
        own_batch(net, net.definition(), 2, 1, *CPU, "option --net")
    assert str(refused.value) == (
        "option --net: net fails on an input of 2x7: mat1 and mat2 shapes cannot be multiplied (2x7 and 6x5)"
    )


def test_channels_last_is_for_images_only() -> None:
    backend, x = BACKENDS["channels-last"], torch.zeros(1, 2, 4, 4, 4)
    with pytest.raises(UnsupportedError, match="the net has parameters of five dimensions"):
        laid_out(backend, nn.Conv3d(2, 2, 3), x, torch.device("cpu"))


@pytest.mark.parametrize("differentiates", [False, True])
def test_the_first_pass_finds_the_mode_of_inference(differentiates: bool) -> None:
    """It is ``no_grad`` for a net that computes gradients itself; no pass is made before."""
    modes = []

    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            modes.append(torch.is_inference_mode_enabled())
            if not differentiates:
                return x
            with torch.enable_grad():
                leaf = x.clone().requires_grad_()
                return torch.autograd.grad(leaf.square().sum(), leaf)[0]

    x = torch.randn(2, 3)
    with open_inference(BACKENDS["stock"], Net(), x, torch.device("cpu")) as opened:
        assert modes == []
        for _ in range(3):
            opened.infer()
    assert modes == ([True, *[False] * 3] if differentiates else [True] * 3)


def test_a_net_of_one_batch_size_is_tried_on_that() -> None:
    assert own_batch(*own(own_nets.FixedBatch(), 6), 4, 1, *CPU, "here").shape == (4, 6)
    message = r"here: own fails on an input of 5x6: shape '\[4, 6\]' is invalid"
    with pytest.raises(UserError, match=message):
        own_batch(*own(own_nets.FixedBatch(), 6), 5, 1, *CPU, "here")


def test_a_net_that_takes_a_list_says_so() -> None:
    message = r"here: own takes a list of samples, not a batch; accepted: their size as '\[3x8x8\]'"
    with pytest.raises(UserError, match=message):
        own_batch(*own(own_nets.TakesList(), 3, 8, 8), 4, 1, *CPU, "here")
    in_a_list = ListOfSamples(own_nets.TakesList())
    batch = own_batch(*own(in_a_list, 3, 8, 8), 4, 1, *CPU, "here")
    assert batch.shape == (4, 3, 8, 8)
    assert [one["scores"].shape for one in in_a_list.eval()(batch)] == [(2, 4, 4)] * 4


def test_a_net_that_takes_one_dict_gets_it() -> None:
    inputs = (Input("image", (2, 6)), Input("mask", (2, 3)))
    net, module = several(own_nets.TakesDict(), *inputs)
    batch = own_batch(net, module, 2, 1, *CPU, "here")
    torch.testing.assert_close(module(batch), own_nets.TakesDict.forward(module.module, batch))  # type: ignore[arg-type]
    net, module = several(own_nets.TakesDict(), Input("imag", (2, 6)), Input("mask", (2, 3)))
    with pytest.raises(UserError, match="it got one dict: its forward has none of these names"):
        own_batch(net, module, 2, 1, *CPU, "here")


def test_complex_numbers_stay_complex() -> None:
    net = in_format(own_nets.Complex(), torch.device("cpu"), torch.float64)
    assert net.weight.dtype == torch.complex128 and isinstance(net.weight, nn.Parameter)
    torch.testing.assert_close(net.weight.detach(), torch.full((6,), 1j, dtype=torch.complex128))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("GivesDataclass(6, depth=2)", "6"), ":TOTAL:"),
        (("made", "6"), ":TOTAL:"),
        (("scripted", "6"), "note: updateGradInput also computes the gradients of 4 of 4 parameters"),
        (("scripted", "6", "--backend", "auto"), "note: PyTorch's autograd runs it all"),
        (("frozen", "6", "--backend", "auto"), "note: PyTorch's autograd runs it all"),
        (("exported", "6", "--backend", "auto", "-batch_size", "2"), "backend auto"),
        (("halves", "6"), "note: the net's bfloat16 numbers were converted to float32; --dtype bfloat16"),
        (("TakesList", "[3x8x8]", "-batch_size", "3"), ":TOTAL:"),
    ],
)
def test_what_people_have_is_measured(folder: Path, words: tuple[str, ...], line: str) -> None:
    name, size, *more = words
    done = benchmark(folder, "--net", f"own_nets.py:{name}", "--input-size", size, *more)
    assert done.returncode == 0, done.stderr
    assert line in done.stdout + done.stderr and ":TOTAL:" in done.stdout


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("GivesDataclass", "missing 1 required positional argument: 'width'; give its arguments as --net"),
        ("GivesDataclass(width)", "has arguments that cannot be read; accepted: plain values, such as (64,"),
        ("GivesDataclass(6, deep=3)", "GivesDataclass(6, deep=3) failed: TypeError"),
        ("GivesIndices", "cannot be trained: its output does not depend on its input or parameters"),
        ("BackwardFails", "BackwardFails failed: RuntimeError: one of the variables needed for gradient"),
        ("WritesIntoItsInput", "WritesIntoItsInput failed: RuntimeError: a leaf Variable that requires grad"),
    ],
)
def test_what_cannot_be_measured_is_one_line(folder: Path, name: str, line: str) -> None:
    done = benchmark(folder, "--net", f"own_nets.py:{name}", "--input-size", "6")
    said = [one for one in done.stderr.splitlines() if one.startswith("benchmark.py: ")]
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert len(said) == 1 and line in said[0], done.stderr


@settings(max_examples=30, deadline=None)
@given(st.recursive(st.integers(1, 4), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=6))
def test_no_message_prints_a_tensor(shape: object) -> None:
    tensor = torch.zeros(torch.tensor(0).reshape(-1).shape) if isinstance(shape, int) else torch.rand(2, 3)
    for one in (tensor, nn.Parameter(tensor), tensor.double(), tensor.requires_grad_()):
        text = without_tensors(" ".join(f"got {one} and (2, 3), not {one!r}.".split()))
        assert text == "got a tensor and (2, 3), not a tensor."


def gradients(module: nn.Module, input: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[Tensor]]:
    leaves = {name: one.detach().requires_grad_(one.is_floating_point()) for name, one in input.items()}
    output = module(**leaves)
    output.backward(output.detach())
    return leaves, [parameter.grad for parameter in module.parameters() if parameter.grad is not None]


def test_the_phases_of_several_inputs_are_a_whole_backward() -> None:
    torch.manual_seed(3)
    module = own_nets.Branches()
    input = {"image": torch.randn(2, 3, 8, 8), "meta": torch.randn(2, 6), "kind": torch.tensor([0, 6])}
    leaves, wanted = gradients(module, input)
    module.zero_grad()
    with AutogradPhases(SeveralInputs(module)) as phases:
        phases.zeroGradParameters()
        output = phases.updateOutput(input)
        found = phases.updateGradInput(input, output)
        phases.accGradParameters(input, output)
    for name, leaf in leaves.items():
        torch.testing.assert_close(found[name], torch.zeros_like(leaf) if leaf.grad is None else leaf.grad)
    assert not found["kind"].any()
    torch.testing.assert_close([parameter.grad for parameter in module.parameters()], wanted)
    as_tuple = tuple(input.values())
    with AutogradPhases(SeveralInputs(module)) as phases:
        torch.testing.assert_close(phases.updateOutput(as_tuple), output)
        assert isinstance(phases.updateGradInput(as_tuple, output), tuple)


@pytest.mark.parametrize(
    ("words", "shape", "unit"),
    [
        (("own_nets.py:Bert", "--input-size", "ids:2x8", "mask:2x8"), "ids 2x8, mask 2x8", "sequences"),
        (
            ("own_nets.py:Bert", "--input-size", "ids:2x8 mask:2x8", "-batch_size", "3"),
            "ids 3x8, mask 3x8",
            "",
        ),
        (("own_nets.py:Bert", "--input-size", "8", "-batch_size", "2"), "", "sequences"),
        (("own_nets:Detector", "--input-size", "3,32,32"), "", "images"),
        (
            ("own_nets:Branches", "--input-size", "image:2x3x8x8 meta:2x6:float32 kind:2"),
            "image 2x3x8x8, meta 2x6, kind 2",
            "images",
        ),
    ],
)
def test_benchmark_runs_nets_of_today(folder: Path, words: tuple[str, ...], shape: str, unit: str) -> None:
    done = benchmark(folder, "--net", *words, "--json", "r.json")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^:TOTAL:\t[\d.e-]+$", done.stdout, re.MULTILINE)
    assert "SeveralInputs" not in done.stdout
    ran = json.loads((folder / "r.json").read_text())["ran"]
    assert ran["inputs"] == shape and ran["backend"] == "stock" and unit in ran["unit"]
    compared = run_python("-m", "convnet_benchmarks", "compare", "r.json", "r.json", cwd=folder)
    assert compared.returncode == 0, compared.stderr


@pytest.mark.parametrize("backend", ["mm", "auto"])
def test_the_engine_runs_what_it_has_layers_for(folder: Path, backend: str) -> None:
    sizes = ("--input-size", "ids:2x8", "mask:2x8")
    done = benchmark(folder, "--net", "own_nets.py:Bert", *sizes, "--backend", backend, "--json", "r.json")
    assert done.returncode == 0, done.stderr
    engine = json.loads((folder / "r.json").read_text())["backend"]["engine"]
    ran = {layer["name"]: set(layer["algorithms"].values()) for layer in engine["layers"]}
    assert ran["norm"] == ran["encoder.layers.0.self_attn"] == {"stock"}
    alone = engine["note"].startswith("PyTorch alone runs it, in ")
    assert (ran["encoder.layers.1.linear1"] == {"stock"}) == alone
    assert alone or engine["note"].endswith("joins the engine's layers: it takes several inputs")
    assert f"note: {engine['note']}" in done.stderr and (backend == "auto" or not alone)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("own_nets.py:Bert", "--input-size", "ids:2x8", "masks:2x8"),
            "own_nets.py:Bert fails on an input of ids 2x8, masks 2x8: ",
        ),
        (
            ("alexnet", "--input-size", "ids:2x8"),
            "option --input-size: alexnet takes one input, of 3x224x224",
        ),
        (("own_nets.py:Bert",), "of several by name, as --input-size ids:2x128 mask:2x128"),
        (("own_nets.py:Bert", "--input-size", "ids:2y8"), "'2y8' is not a size such as 3x224x224"),
        (("own_nets.py:Complains", "--input-size", "4"), "bad input a tensor (and a tensor) at (1, 2)"),
    ],
)
def test_what_does_not_run_is_one_line(folder: Path, words: tuple[str, ...], message: str) -> None:
    done = benchmark(folder, "--net", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_sweep_over_sizes_and_of_sequences(folder: Path) -> None:
    sweep = ("-m", "convnet_benchmarks", "sweep", "--seconds", "0.05", "--threads", "1", "--batch-sizes", "2")
    of_nets = ("--nets", "own_nets.py:Detector", "--input-sizes", "16,24,3x16x24", "--json", "sizes.json")
    done = run_python(*sweep, *of_nets, cwd=folder)
    assert done.returncode == 0, done.stderr
    points = json.loads((folder / "sizes.json").read_text())["points"]
    assert [point["ran"]["input_shape"][1:] for point in points] == [[3, 16, 16], [3, 24, 24], [3, 16, 24]]
    assert "3x24x24" in done.stdout
    of_words = ("--nets", "own_nets.py:Bert", "--input-size", "ids:1x8", "mask:1x8", "--modes", "training")
    done = run_python(*sweep, *of_words, "--points", "words.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    from convnet_benchmarks.results.load import load

    measured = load(str(folder / "words.jsonl")).measurements
    assert {one.unit for one in measured if one.quantity == "throughput"} == {"sequences/s"}
    assert {one.shape for one in measured} == {"ids 2x8, mask 2x8"}
    refused = run_python(
        *sweep, "--nets", "vgg11", "--input-sizes", "64", "--input-size", "3x64x64", cwd=folder
    )
    assert refused.returncode == 2 and "--input-sizes: --input-size takes one size" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("ops", "--batch-sizes", "2", "--runs", "1", "--passes", "2"),
        ("ops", "--batch-sizes", "2", "--runs", "1", "--passes", "2", "--mode", "training"),
        ("flops", "--mode", "training"),
        pytest.param(("flops", "--parts", "roofline", "--passes", "2"), marks=pytest.mark.slow),
    ],
)
def test_the_studies_take_several_inputs(folder: Path, words: tuple[str, ...]) -> None:
    inputs = ("--input-size", "image:1x3x8x8", "meta:1x6", "kind:1", "--threads", "1", "--json", "r.json")
    net = ("--net", "own_nets.py:Branches")
    done = run_python("-m", "convnet_benchmarks", *words, *net, *inputs, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "own_nets.py:Branches" in (folder / "r.json").read_text()
    given = json.loads((folder / "r.json").read_text())["options"]["input_size"]
    assert [one["name"] for one in given] == ["image", "meta", "kind"]

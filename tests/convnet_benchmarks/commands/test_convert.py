"""convert: models of Torch7 as state dicts, and back."""

import functools
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from convnet_benchmarks.nets.registry import NETS, build
from convnet_benchmarks.workload import program_files
from convnet_benchmarks.workload.program_files import write_program
from lua_compat import t7
from lua_compat.conversion import to_torch
from lua_compat.conversion.families.recurrent import LSTM
from tests.convnet_benchmarks.commands.crosscheck.test_result_files import T7
from tests.helpers.commands import run_python
from tests.helpers.crosscheck_files import LOGS, Command
from tests.helpers.places import GOLDEN
from tests.helpers.pt_files import needs_safe_pt
from tests.helpers.torch_values import tensors_of, value_of


@pytest.fixture
def convert(command: Command) -> Command:
    return functools.partial(command, "convert")


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_convert_writes_the_state_dict(convert: Command, tmp_path: Path, suffix: str) -> None:
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")
        from safetensors.torch import load_file as load
    else:
        load = functools.partial(torch.load, weights_only=True)
    code, stdout, stderr = convert(T7 / "tied.bin.t7", "--to", tmp_path / f"net{suffix}")
    assert (code, stderr) == (0, "")
    assert "Linear(in_features=3, out_features=3, bias=True)" in stdout
    state = load(tmp_path / f"net{suffix}")
    expected = to_torch(t7.load(T7 / "tied.bin.t7")["net"]).state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name], expected[name]) for name in expected)


def test_convert_to_t7_and_back_agrees(convert: Command, crosscheck: Command, tmp_path: Path) -> None:
    assert convert(T7 / "net.bin.t7", "--to", tmp_path / "again.t7")[0] == 0
    record = t7.load(T7 / "net.bin.t7")
    record["net"] = t7.load(tmp_path / "again.t7")
    t7.save(tmp_path / "record.t7", record)
    assert crosscheck(tmp_path / "record.t7")[0] == 0


@needs_safe_pt
def test_convert_a_named_net_for_torch7(convert: Command, tmp_path: Path) -> None:
    net = build(NETS["googlenet"], 1)
    torch.save(net.state_dict(), tmp_path / "w.pt")
    code, _, stderr = convert(tmp_path / "w.pt", "--net", "googlenet", "--to", tmp_path / "googlenet.t7")
    assert (code, stderr) == (0, "")
    model = t7.load(tmp_path / "googlenet.t7")
    assert model["modules"][1]["weight"].size == (64, 3, 7, 7)
    np.testing.assert_array_equal(model["modules"][1]["weight"].numpy(), net[0].weight.detach().numpy())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((T7 / "net.bin.t7",), "the following arguments are required: --to"),
        (
            (T7 / "net.bin.t7", "--to", "x.bin"),
            "--to: 'x.bin' must end in .pt, .pth, .safetensors, .t7, .py, .onnx, .pt2",
        ),
        ((T7 / "tensors.bin.t7", "--to", "x.pt"), "--at must name a model; at root there is none"),
        ((T7 / "net.bin.t7", "--at", "nett", "--to", "x.pt"), "--at:"),
        ((T7 / "net.bin.t7", "--to", "/no/such/folder/x.pt"), "--to: cannot write '/no/such/folder/x.pt'"),
        (("nothere.t7", "--to", "x.pt"), "nothere.t7: No such file"),
        ((LOGS / "benchmark_cpu.log", "--to", "x.pt"), "must be a .t7 file; a state_dict needs --net"),
        (("w.pt", "--net", "lenet", "--to", "x.t7"), "--net: unknown net 'lenet'"),
        ((T7 / "net.bin.t7", "--to", "/no/such/folder/x.py"), "there is no folder '/no/such/folder'"),
        ((T7 / "net.bin.t7", "--to", "x.py", "--dtype", "int8"), "--dtype: unknown value 'int8'"),
        (
            (T7 / "net.bin.t7", "--to", "x.pt2", "--input-size", "NxN"),
            "'NxN' is not a size such as",
        ),
    ],
)
def test_convert_refuses_with_one_line(
    convert: Command, arguments: tuple[Any, ...] | tuple[str, ...], message: str
) -> None:
    code, stdout, stderr = convert(*arguments)
    assert (code, stdout) == (2, "")
    assert message in stderr
    assert len(stderr.splitlines()) == 1


@pytest.mark.parametrize("place", [(), ("--at", "modules.1")])
def test_the_model_itself_is_not_replaced(convert: Command, tmp_path: Path, place: tuple[str, ...]) -> None:
    model = Path(shutil.copy(T7 / "net.bin.t7", tmp_path / "model.t7"))
    (tmp_path / "link.t7").symlink_to(model)
    code, _, stderr = convert(model, *place, "--to", tmp_path / "link.t7")
    assert code == 2 and "link.t7' is also the file of MODEL; give another name" in stderr
    assert model.read_bytes() == (T7 / "net.bin.t7").read_bytes()


@pytest.mark.parametrize(
    "target", ["x.pt", *(pytest.param(f"x.{end}", marks=pytest.mark.slow) for end in ("safetensors", "pt2"))]
)
def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path: Path, target: str) -> None:
    (tmp_path / target).write_bytes(b"before")
    script = """
import resource, sys
from convnet_benchmarks.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))
sys.exit(main(["convert", *sys.argv[1:]]))
"""
    arguments = (str(T7 / "net.bin.t7"), "--at", "net", "--input-size", "3x8x8", "--to", target)
    done = run_python("-c", script, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    message = rf"convnet-benchmarks convert: option --to: cannot write '{target}': .*File too large.*\n"
    assert re.fullmatch(message, done.stderr)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {target: b"before"}


def test_convert_as_typed(tmp_path: Path) -> None:
    model = str(T7 / "net.bin.t7")
    done = run_python("-m", "convnet_benchmarks", "convert", model, "--to", str(tmp_path / "net.pt"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Sequential(\n  (0): Conv2d(3, 4, kernel_size=(3, 3)")
    assert torch.load(tmp_path / "net.pt", weights_only=True)["6.weight"].shape == (5, 64)


def test_an_exported_program_computes_what_torch7_recorded(convert: Command, tmp_path: Path) -> None:
    source, target = T7 / "net.bin.t7", tmp_path / "net.pt2"
    record = t7.load(source)
    size = "x".join(map(str, record["input"].size[1:]))
    code, _, stderr = convert(source, "--get", "net", "--to", target, "--input-size", size)
    assert (code, stderr) == (0, "")
    output = torch.export.load(target).module()(torch.from_numpy(np.array(record["input"].numpy())))
    np.testing.assert_allclose(output.detach().numpy(), record["output"].numpy(), atol=1e-10)


@pytest.mark.slow
def test_onnx_computes_what_torch7_recorded(convert: Command, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    source, target = T7 / "net.bin.t7", tmp_path / "net.onnx"
    record = t7.load(source)
    size = "x".join(map(str, record["input"].size[1:]))
    assert convert(source, "--get", "net", "--to", target, "--input-size", size)[0] == 0
    session = runtime.InferenceSession(str(target))
    (output,) = session.run(None, {"input": record["input"].numpy().astype(np.float32)})
    np.testing.assert_allclose(output, record["output"].numpy(), atol=1e-5)


def _recurrent(tmp_path: Path, name: str) -> tuple[Path, Any]:
    """Returns a file with one of the recorded nets of rnn's layers, and the record."""
    records = t7.load(GOLDEN / "models" / "rnn.t7").array()
    record = next(each for each in records if each["name"] == name)
    file = tmp_path / "recurrent.t7"
    text = record["module"]
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file, record


@pytest.mark.parametrize(
    ("name", "sizes", "states"),
    [("SeqLSTM", ["4xNx3"], 2), ("SeqGRU", ["4xNx3"], 1), ("LSTM", ["3"] * 4, 2), ("LSTM alone", ["3"], 2)],
)
def test_states_are_inputs_of_a_program(
    convert: Command, tmp_path: Path, name: str, sizes: list[str], states: int
) -> None:
    source, record = _recurrent(tmp_path, name)
    code, _, stderr = convert(source, "--to", tmp_path / "net.pt2", "--input-size", *sizes)
    assert code == 0 and stderr.count(", of ") == states, stderr
    program = torch.export.load(tmp_path / "net.pt2").module()
    given = tensors_of(value_of(record["input"]))
    zeros = [torch.zeros(2, 5, dtype=torch.float64) for _ in range(states)]
    found = program(*given, *zeros)
    expected = tensors_of(value_of(record["evaluated"]))
    for one, other in zip(found, expected, strict=False):
        torch.testing.assert_close(one, other)
    assert len(found) == len(expected) + states
    if len(sizes) == 1 and given[0].dim() == 3:  # a sequence in two parts is the whole sequence
        longer = program(
            torch.cat([given[0]] * 2, 1), *(torch.zeros(4, 5, dtype=torch.float64) for _ in zeros)
        )
        torch.testing.assert_close(longer[0], torch.cat([found[0]] * 2, 1))
        net = to_torch(t7.load(source)).eval()
        whole = net(torch.cat([given[0]] * 2, 0))
        again = program(*given, *found[len(expected) :])
        torch.testing.assert_close(again[0], whole[len(found[0]) :])


def test_cudnns_lstm_has_states_of_all_its_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = nn.Sequential(LSTM(5, 6, 2), nn.Linear(6, 3))
    write_program(net, str(tmp_path / "net.pt2"), [(4, None, 5)], "--to")
    assert "state1 (2xNx6, of 0), state2 (2xNx6, of 0)" in capsys.readouterr().err
    program = torch.export.load(tmp_path / "net.pt2").module()
    x = torch.randn(8, 3, 5)
    states = [torch.zeros(2, 3, 6), torch.zeros(2, 3, 6)]
    first, *states = program(x[:4], *states)
    second, *_ = program(x[4:], *states)
    torch.testing.assert_close(torch.cat([first, second]), net(x))


@pytest.mark.parametrize(
    ("dtype", "lacks"), [(torch.float64, True), (torch.bfloat16, True), (torch.half, False)]
)
def test_number_types_that_onnx_runtime_lacks_are_told(
    dtype: torch.dtype,
    lacks: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(program_files, "_write_onnx", lambda program, file: None)  # needs a package
    program_files.write_program(nn.Linear(3, 2).to(dtype), str(tmp_path / "net.onnx"), [(None, 3)], "", True)
    said = capsys.readouterr().err
    assert said.endswith("such as convolutions; --dtype float32 runs there\n") if lacks else said == ""


@pytest.mark.slow
def test_onnx_takes_states(convert: Command, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    source, record = _recurrent(tmp_path, "SeqLSTM")
    assert convert(source, "--to", tmp_path / "net.onnx", "--input-size", "4xNx3")[0] == 0
    session = runtime.InferenceSession(str(tmp_path / "net.onnx"))
    assert [each.name for each in session.get_inputs()] == ["input", "state1", "state2"]
    zeros = np.zeros((2, 5), np.float32)
    input = record["input"].numpy().astype(np.float32)
    output, *_ = session.run(None, {"input": input, "state1": zeros, "state2": zeros})
    np.testing.assert_allclose(output, record["evaluated"].numpy(), atol=1e-5)


def test_a_program_needs_the_size_of_its_input(convert: Command, tmp_path: Path) -> None:
    code, _, stderr = convert(T7 / "net.bin.t7", "--get", "net", "--to", tmp_path / "net.pt2")
    assert code == 2 and "needs the size of one input, as --input-size 3x224x224" in stderr


def test_convert_writes_python(convert: Command, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    target = tmp_path / "my_net.py"
    code, stdout, stderr = convert(T7 / "net.bin.t7", "--to", target)
    assert code == 0 and stdout.startswith("Sequential(")
    assert stderr == f"{target}: its numbers are in {tmp_path / 'my_net.safetensors'}\n"
    record = t7.load(T7 / "net.bin.t7")
    np.save(tmp_path / "input.npy", record["input"].numpy())
    program = (
        "import sys\n"
        "for ours in ('lua_compat', 'convnet_benchmarks', 'lupa'): sys.modules[ours] = None\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import numpy, torch, my_net\n"
        f"x = torch.from_numpy(numpy.load({str(tmp_path / 'input.npy')!r}))\n"
        f"numpy.save({str(tmp_path / 'output.npy')!r}, my_net.load()(x).detach().numpy())\n"
    )
    done = run_python("-I", "-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    np.testing.assert_allclose(np.load(tmp_path / "output.npy"), record["output"].numpy(), atol=1e-10)


def test_the_numbers_never_go_over_the_file_that_is_read(convert: Command, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    weights = tmp_path / "w.safetensors"
    weights.write_bytes(b"precious")
    code, _, stderr = convert(weights, "--net", "alexnet_owt", "--to", tmp_path / "w.py")
    assert code == 2 and f"would put its numbers into {weights}: choose another name" in stderr
    assert weights.read_bytes() == b"precious"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_number_type_of_what_is_written(convert: Command, tmp_path: Path, dtype: str) -> None:
    assert convert(T7 / "tied.bin.t7", "--to", tmp_path / "net.pt", "--dtype", dtype)[0] == 0
    state = torch.load(tmp_path / "net.pt", weights_only=True)
    assert {tensor.dtype for tensor in state.values()} == {getattr(torch, dtype)}


def test_a_model_that_lies_deep_is_found_and_named(convert: Command, tmp_path: Path) -> None:
    net = t7.load(T7 / "net.bin.t7")["net"]
    criterion = t7.TorchObject("nn.MSECriterion", 1, t7.LuaTable({"sizeAverage": True}))
    protos = t7.LuaTable({"rnn": net, "criterion": criterion})
    t7.save(tmp_path / "one.t7", t7.LuaTable({"protos": protos, "opt": t7.LuaTable({"seed": 1})}))
    code, _, stderr = convert(tmp_path / "one.t7", "--to", tmp_path / "net.pt")
    assert (code, stderr) == (0, f"{tmp_path / 'one.t7'}: the model is at protos.rnn\n")
    protos["cnn"] = t7.load(T7 / "tied.bin.t7")["net"]
    t7.save(tmp_path / "two.t7", t7.LuaTable({"protos": protos}))
    code, _, stderr = convert(tmp_path / "two.t7", "--to", tmp_path / "net.pt")
    assert code == 2
    assert "option --at must name a model; at root it holds several: protos.rnn, protos.cnn" in stderr
    code, stdout, stderr = convert(tmp_path / "two.t7", "--at", "protos.rnn", "--to", tmp_path / "net.pt")
    assert (code, stderr) == (0, "") and "Conv2d" in stdout

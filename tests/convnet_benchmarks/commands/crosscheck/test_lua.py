"""``convnet-benchmarks crosscheck --lua``: Lua scripts under our th, as a person types it."""

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.cli import main
from convnet_benchmarks.commands.crosscheck.tensors import Tolerance, compare_trees
from convnet_benchmarks.commands.crosscheck.tree import load_results
from lua_compat import run
from tests.helpers.places import GOLDEN

DIGITS = """
require 'nn'
local convolution, pooling = nn.SpatialConvolutionMM, nn.SpatialMaxPooling
local net = nn.Sequential()
net:add(convolution(1, 20, 5, 5)):add(nn.ReLU(true)):add(pooling(2, 2, 2, 2))
net:add(nn.SpatialBatchNormalization(20))
net:add(convolution(20, 50, 5, 5)):add(nn.ReLU(true)):add(pooling(2, 2, 2, 2))
net:add(nn.View(50 * 4 * 4):setNumInputDims(3)):add(nn.Linear(50 * 4 * 4, 10)):add(nn.LogSoftMax())
print('printed by the script')
"""
Command = Callable[..., tuple[Any, ...]]  # exit code, stdout, stderr...


@pytest.fixture
def crosscheck(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Runs the command in this process, which has PyTorch loaded, and the script in one of its own, as ever;
    gives the exit code, stdout, stderr and what --json wrote."""

    def execute(*arguments: object) -> tuple[Any, ...]:
        document = tmp_path / "report.json"
        document.unlink(missing_ok=True)
        code = main(["crosscheck", *map(str, arguments), "--json", str(document)])
        out, err = capfd.readouterr()
        report = json.loads(document.read_text()) if document.exists() else None
        return code, out, err, report

    return execute


def script(folder: Path, text: str, name: str = "recognize_digits.lua") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "ending",
    [
        "return net",
        pytest.param("model = net", marks=pytest.mark.slow),
        "return function(lib) return net end",
    ],
)
def test_a_net_defined_in_lua_is_the_python_net(crosscheck: Command, tmp_path: Path, ending: str) -> None:
    if "function" in ending:  # the parameters are drawn when the function is called
        body = DIGITS.replace("local net", "return function(lib) local net").replace("nn.ReLU", "lib[3]")
        path = script(tmp_path, f"{body} return net end")
    else:
        path = script(tmp_path, DIGITS + ending)
    code, out, err, report = crosscheck("--lua", path, "--seed", 5)
    assert code == 0, out + err
    paths = [row["path"] for row in report["comparisons"]]
    assert paths[:2] == ["parameters.0.weight", "parameters.0.bias"]
    assert "output" in paths and "gradInput" in paths and paths[-1] == "gradParameters.8.bias"
    assert len(paths) == 2 * 8 + 2 and "AGREE: 18 of 18 values" in out
    assert "printed by the script" in err and "printed" not in out
    assert all(row["precisions"] == ["float64", "float64"] for row in report["comparisons"])


@pytest.mark.parametrize("within", ["net", "nn.Sequential():add(nn.Concat(2):add(net))"])
def test_a_gradient_that_the_script_takes_away_is_a_note(
    crosscheck: Command, tmp_path: Path, within: str
) -> None:
    """As the nets of 2014 did: their first layer needs no gradient of its input."""
    ending = f"net:get(1).gradInput = nil\nreturn {within}"
    code, out, _, report = crosscheck("--lua", script(tmp_path, DIGITS + ending))
    assert code == 0, out
    assert "recognize_digits.lua sets gradInput to nil in nn.SpatialConvolutionMM: computed here" in out
    assert "AGREE: 18 of 18 values" in out
    (row,) = (row for row in report["comparisons"] if row["path"] == "gradInput")
    assert row["verdict"] == "same" and row["shapes"] == [[2, 1, 28, 28]] * 2


def test_the_place_where_a_net_differs_is_reported(crosscheck: Command, tmp_path: Path) -> None:
    average = DIGITS.replace("nn.SpatialMaxPooling", "nn.SpatialAveragePooling")
    code, out, _, report = crosscheck(
        "--lua", script(tmp_path, average + "return net", "mine.lua"), "--net", "recognize_digits"
    )
    verdicts = {row["path"]: row["verdict"] for row in report["comparisons"]}
    assert code == 1 and "DIFFER" in out
    assert verdicts["parameters.0.weight"] == "same" and verdicts["output"] == "differs"
    wider = DIGITS.replace("nn.Linear(50 * 4 * 4, 10)", "nn.Linear(50 * 4 * 4, 12)")
    code, out, *_ = crosscheck("--lua", script(tmp_path, wider + "return net"), "--only", "output")
    assert code == 1 and "2x12 | 2x10" in out


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("return 5", [], "it returns number: return an nn.Module"),
        pytest.param("error('broken here')", [], "broken here", marks=pytest.mark.slow),
        ("os.exit(3)", [], "exit code 3"),
        ("return nn.Linear(3, 4)", [], "input must be vector or matrix"),
        (DIGITS + "return net", ["--net", "recognise_digits"], "did you mean recognize_digits"),
        (DIGITS + "return net", ["--batch-size", "0"], "--batch-size"),
        (DIGITS + "return net", ["a.t7", "b.t7"], "a.t7: No such file or directory"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_exit_code_2(
    crosscheck: Command, tmp_path: Path, text: Any, options: list[str], said: str
) -> None:
    code, out, err, _ = crosscheck("--lua", script(tmp_path, text), *options)
    last = err.splitlines()[-1]
    assert (code, out) == (2, "") and said in last and "Traceback" not in err


@pytest.mark.slow
def test_a_script_is_compared_with_what_it_wrote_under_torch7(crosscheck: Command, tmp_path: Path) -> None:
    code, out, *_ = crosscheck(GOLDEN / "random.t7", "--lua", GOLDEN / "probe_random.lua")
    assert code == 0 and "AGREE: 120 of 120 values" in out
    source = (GOLDEN / "probe_random.lua").read_text()
    changed = script(tmp_path, source.replace("torch.manualSeed(seed", "torch.manualSeed(1 + seed"))
    assert crosscheck(GOLDEN / "random.t7", "--lua", changed)[0] == 1
    code, _, err, _ = crosscheck(GOLDEN / "random.t7", "--lua", changed, "--lua-args", "elsewhere")
    assert code == 2 and "--lua-args: {out} is missing" in err
    code, _, err, _ = crosscheck(GOLDEN / "random.t7", "--lua", changed, "--lua-args", "'{out}")
    assert code == 2 and "--lua-args: No closing quotation; accepted: words as in a shell" in err
    silent = script(tmp_path, "print(arg[1])")
    code, _, err, _ = crosscheck(GOLDEN / "random.t7", "--lua", silent)
    assert code == 2 and "it wrote no file" in err


@pytest.mark.slow
def test_the_probe_of_tensors_gives_the_recorded_file(crosscheck: Command) -> None:
    """But for the signs of singular vectors, what symeig leaves in a result nobody asked for, and the file
    and line that Torch7's own Lua code puts before an error's text."""
    arguments = f"{GOLDEN / 'cases_tensor.lua'} {{out}}"
    code, _, _, report = crosscheck(
        GOLDEN / "tensor.t7", "--lua", GOLDEN / "probe_tensor.lua", "--lua-args", arguments
    )
    differing = [row["path"] for row in report["comparisons"] if row["verdict"] != "same"]
    assert (code, len(report["comparisons"]) > 1000) == (1, True)
    assert differing == ["288.values.2.data", "290.values.1.data", "290.values.3.data", "318.error"]


# What Torch7 left uninitialised, and scratch of its own.
LEFT_OPEN = ("*.gradWeight", "*.gradBias", "*.finput", "*.fgradInput")


def test_the_probe_of_files_gives_the_recorded_files(tmp_path: Path) -> None:
    assert run(GOLDEN / "probe_serialize.lua", [str(tmp_path)]) == 0
    compared = 0
    for path in sorted((GOLDEN / "t7").glob("*.t7")):
        rows = compare_trees(load_results(str(path)), load_results(str(tmp_path / path.name)), Tolerance())
        wrong = [row for row in rows if row.verdict != "same"]
        assert all(any(fnmatchcase(row.path, kind) for kind in LEFT_OPEN) for row in wrong), path.name
        compared += len(rows)
    assert compared > 400


@pytest.mark.slow
def test_the_probe_of_whole_nets_gives_the_recorded_file(crosscheck: Command) -> None:
    """Five full-size nets in single precision: digests of all parameters, outputs and gradients.

    The gradients behind a log-softmax add up to zero in exact arithmetic; their sum, over four million,
    is what rounding leaves.
    """
    code, out, err, _ = crosscheck(
        GOLDEN / "nets.t7", "--lua", GOLDEN / "probe_nets.lua", "--rtol", "1e-4", "--atol", "5e-4"
    )
    assert code == 0, out + err

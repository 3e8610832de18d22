"""crosscheck: models with what Torch7 computed, and files that cannot be compared."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lua_compat import t7
from tests.convnet_benchmarks.commands.crosscheck.test_result_files import KINDS, T7
from tests.helpers.crosscheck_files import LOGS, Command, write
from tests.helpers.places import GOLDEN
from tests.helpers.pt_files import PT


@pytest.mark.parametrize("name", ["net", "residual", "tied"])
@pytest.mark.parametrize("encoding", ["bin", "ascii", "long4"])
def test_a_model_computes_what_was_recorded_beside_it(crosscheck: Command, name: str, encoding: str) -> None:
    code, _, stderr, report = crosscheck(T7 / f"{name}.{encoding}.t7")
    assert (code, stderr) == (0, "")
    assert report["kind"] == "model"
    assert report["comparisons"][0]["relative_error"] < (1e-5 if name == "residual" else 1e-6)


def changed_model(tmp_path: Path) -> Path:
    record = t7.load(T7 / "net.bin.t7")
    record["net"]["modules"][7]["weight"].numpy()[0] += 1
    t7.save(tmp_path / "changed.t7", record)
    return tmp_path / "changed.t7"


def test_a_model_that_computes_something_else_differs_and_says_where(
    crosscheck: Command, tmp_path: Path
) -> None:
    code, stdout, _, report = crosscheck(changed_model(tmp_path))
    assert code == 1
    assert "first module whose recorded output differs: net.modules[7] (nn.Linear)" in stdout
    assert report["comparisons"][0]["first_difference"] == [0, 0]


def test_a_mode_other_than_the_recorded_one_differs_and_says_why(crosscheck: Command) -> None:
    code, stdout, *_ = crosscheck(T7 / "net.bin.t7", "--mode", "train")
    assert code == 1
    assert "random in training mode: nn.Dropout (try --mode evaluate)" in stdout


@pytest.mark.parametrize("kind", [".t7", ".npz", ".h5", PT])
def test_a_model_and_its_record_in_two_files(crosscheck: Command, tmp_path: Path, kind: str) -> None:
    record = t7.load(T7 / "residual.bin.t7")
    t7.save(tmp_path / "model.t7", record["net"])
    values = {name: record[name].numpy() for name in ("input", "output")}
    assert crosscheck(tmp_path / "model.t7", write(tmp_path / f"record{kind}", values))[0] == 0
    values["output"] = values["output"] + 1
    code, _, _, report = crosscheck(tmp_path / "model.t7", write(tmp_path / f"record{kind}", values))
    assert code == 1
    assert report["comparisons"][0]["cause"].startswith("offset: B is A + -1")


def test_a_model_of_tables(crosscheck: Command, tmp_path: Path) -> None:
    (case,) = (c for c in t7.load(GOLDEN / "models" / "models.t7").array() if "CASES_MODELS.two" in c["expr"])
    record = {"net": case["module"], "input": case["input"], "output": case["output"]}
    t7.save(tmp_path / "graph.t7", t7.LuaTable(record))
    code, _, _, report = crosscheck(tmp_path / "graph.t7")
    assert code == 0
    assert [row["path"] for row in report["comparisons"]] == ["output.1", "output.2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "A is missing; accepted: the file to compare with, or --lua SCRIPT"),
        (("nothere.t7",), "nothere.t7: No such file or directory"),
        ((GOLDEN, GOLDEN), "golden: not a file"),
        ((T7 / "cycle.bin.t7",), "B is missing"),
        ((LOGS / "benchmark_cpu.log",), "B is missing"),
        ((LOGS / "benchmark_cpu.log", T7 / "cycle.bin.t7"), "benchmark_cpu.log is a run and"),
        ((T7 / "cycle.bin.t7", GOLDEN / "probe_nn.lua"), "nor is it a result file as"),
        ((LOGS / "benchmark_help.log", LOGS / "benchmark_cpu.log"), "no line of a convnet benchmark in it"),
        ((T7 / "cycle.bin.t7", T7 / "cycle.bin.t7", "--rtol", "x"), "--rtol: 'x' is not a number from 0 up"),
        ((T7 / "net.bin.t7", T7 / "net.bin.t7", "--only", "y"), "nothing to compare: no value that --only y"),
        ((T7 / "net.bin.t7", "--mode", "x"), "--mode: unknown value 'x'"),
        ((LOGS / "benchmark_cpu.log", T7 / "net.bin.t7", "--colour"), "unknown option --colour"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    crosscheck: Command, arguments: tuple[Any, ...] | tuple[str, ...], message: str
) -> None:
    code, stdout, stderr, _ = crosscheck(*arguments)
    assert (code, stdout) == (2, "")
    assert message in stderr
    assert len(stderr.splitlines()) == 1


@pytest.mark.parametrize("kind", [*KINDS, ".npy", ".safetensors", ".log"])
@pytest.mark.parametrize("content", [b"", b"\x93garbage\x00\xff", b'{"schema": "convnet-benchmarks/9"}'])
def test_broken_files_are_one_line_and_code_2(
    crosscheck: Command, tmp_path: Path, kind: Any, content: bytes
) -> None:
    broken = tmp_path / f"broken{kind}"
    broken.write_bytes(content)
    code, stdout, stderr, _ = crosscheck(broken, broken)
    if kind == ".json" and content.startswith(b"{"):
        assert 'accepted: "schema": "convnet-benchmarks/1"' in stderr
    assert (code, stdout) == (2, "")
    assert str(broken) in stderr
    assert len(stderr.splitlines()) == 1


def test_a_model_that_cannot_be_converted_names_the_module(crosscheck: Command, tmp_path: Path) -> None:
    mystery = t7.TorchObject("nn.Sequential", 1, t7.LuaTable({"modules": t7.LuaTable.from_list(
        [t7.TorchObject("nn.Mystery", 1, t7.LuaTable())])}))  # fmt: skip
    x = t7.Tensor.from_numpy(np.ones(3))
    t7.save(tmp_path / "m.t7", t7.LuaTable({"net": mystery, "input": x, "output": x}))
    code, _, stderr, _ = crosscheck(tmp_path / "m.t7")
    assert code == 2
    assert "net.modules[1]: nn.Mystery has no counterpart in PyTorch here" in stderr

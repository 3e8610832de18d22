"""crosscheck: result files of any two kinds, tensor by tensor."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from lua_compat import t7
from tests.helpers.commands import run_python
from tests.helpers.crosscheck_files import Command, arrays, write
from tests.helpers.places import GOLDEN
from tests.helpers.pt_files import PT, needs_safe_pt

T7 = GOLDEN / "t7"


@pytest.mark.parametrize(
    ("arguments", "code", "last_line"),
    [
        (("t7/net.bin.t7", "t7/net.ascii.t7"), 0, "AGREE: 94 of 94 values are the same"),
        (("t7/tied.bin.t7", "t7/residual.bin.t7"), 1, "DIFFER: "),
        (("t7/net.bin.t7",), 0, "AGREE: 1 of 1 values are the same"),
        (("t7/net.bin.t7", "--mode", "train"), 1, "DIFFER: 0 of 1 values are the same"),
        (("logs/benchmark_cpu.log", "logs/benchmark_cpu.log"), 0, "AGREE: 1 of 1 runs"),
    ],
)
def test_each_kind_of_pair_as_typed(arguments: tuple[str, ...], code: int, last_line: str) -> None:
    paths = [str(GOLDEN / word) if "/" in word else word for word in arguments]
    done = run_python("-m", "convnet_benchmarks", "crosscheck", *paths)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.splitlines()[-1].startswith(last_line)


@pytest.mark.parametrize(
    ("other", "differs"), [("benchmark_cpu_4d_b4.log", "batch"), ("criterion_cpu.log", "criterion")]
)
def test_unlike_runs_are_refused_with_what_differs(other: str, differs: str) -> None:
    logs = GOLDEN / "logs"
    done = run_python(
        "-m", "convnet_benchmarks", "crosscheck", str(logs / "benchmark_cpu.log"), str(logs / other)
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert differs in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "wrong", "accepted"),
    [
        (
            ("logs/benchmark_cpu.log",) * 2 + ("--only", "TOTAL"),
            "--only: is not for two runs",
            "--max-slowdown",
        ),
        (
            ("t7/net.bin.t7",) * 2 + ("--seed", "2"),
            "--seed: is not for result files",
            "--rtol, --atol, --only",
        ),
        (("t7/net.bin.t7", "--net", "vgg_a"), "--net: is not for a model", "--rtol, --atol, --mode"),
        (
            ("t7/net.bin.t7", "--lua", "t7/net.bin.t7", "--net", "vgg_a"),
            "--net: is not for a script and its file",
            "--rtol, --atol, --only, --lua-args",
        ),
    ],
)
def test_an_option_that_does_not_apply_is_refused(
    crosscheck: Command, arguments: tuple[str, ...], wrong: str, accepted: str
) -> None:
    code, stdout, stderr, _ = crosscheck(*(GOLDEN / word if "/" in word else word for word in arguments))
    assert (code, stdout) == (2, "")
    assert stderr.endswith(f"option {wrong}; accepted: {accepted}\n")


def test_bad_input_as_typed() -> None:
    done = run_python("-m", "convnet_benchmarks", "crosscheck", "nothere.t7")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "convnet-benchmarks crosscheck: nothere.t7: No such file or directory\n"


KINDS = (".t7", ".h5", ".npz", PT, ".json")


@pytest.mark.parametrize("kind", KINDS)
def test_result_files_of_any_two_kinds_agree(crosscheck: Command, tmp_path: Path, kind: str) -> None:
    a = write(tmp_path / "a.t7", arrays())
    b = write(tmp_path / f"b{kind}", arrays())
    code, stdout, stderr, report = crosscheck(a, b)
    assert (code, stderr) == (0, "")
    assert stdout.splitlines()[-1] == "AGREE: 3 of 3 values are the same"
    assert report["verdict"] == "agree"
    assert [row["path"] for row in report["comparisons"]] == ["x", "w", "labels"]


@pytest.mark.parametrize("kind", KINDS)
def test_result_files_of_any_two_kinds_differ(crosscheck: Command, tmp_path: Path, kind: str) -> None:
    changed = arrays()
    changed["x"][1, 0, 2] += 0.5
    a = write(tmp_path / "a.npz", arrays())
    b = write(tmp_path / f"b{kind}", changed)
    code, stdout, _, report = crosscheck(a, b)
    assert code == 1
    assert stdout.splitlines()[-1] == "DIFFER: 2 of 3 values are the same"
    (row,) = (row for row in report["comparisons"] if row["verdict"] == "differs")
    assert (row["path"], row["differing"], row["first_difference"]) == ("x", 1, [1, 0, 2])
    assert row["max_error"] == pytest.approx(0.5)
    assert row["relative_error"] == pytest.approx(0.5 / np.abs(arrays()["x"]).max())
    assert row["values"] == [arrays()["x"][1, 0, 2], changed["x"][1, 0, 2]]


@pytest.mark.parametrize("name", ["tensors", "views", "shared", "cycle", "net"])
def test_the_encodings_of_a_t7_file_agree(crosscheck: Command, name: str) -> None:
    code, *_ = crosscheck(T7 / f"{name}.bin.t7", T7 / f"{name}.ascii.t7")
    assert code == 0


def test_two_nets_differ_path_by_path(crosscheck: Command) -> None:
    code, _, _, report = crosscheck(T7 / "tied.bin.t7", T7 / "residual.bin.t7")
    assert code == 1
    verdicts = {row["path"]: row["verdict"] for row in report["comparisons"]}
    assert verdicts["net.modules.1.weight"] == "only in A"
    assert verdicts["net.modules.3.weight"] == "only in B"
    assert verdicts["output"] == "differs"


def test_precisions_are_held_to_the_coarser_ones_tolerance(crosscheck: Command, tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal(100)
    a = write(tmp_path / "a.npz", {"x": x})
    assert crosscheck(a, write(tmp_path / "b.npz", {"x": x.astype(np.float32)}))[0] == 0
    nearly = write(tmp_path / "c.npz", {"x": x + 1e-7})
    code, stdout, *_ = crosscheck(a, nearly)
    assert code == 1
    assert "offset: B is A + 1e-07" in stdout
    rounded = write(tmp_path / "d.npz", {"x": x.astype(np.float32).astype(np.float64)})
    code, stdout, *_ = crosscheck(a, rounded)
    assert code == 1
    assert "agrees to single precision" in stdout
    assert crosscheck(a, nearly, "--rtol", "1e-6")[0] == 0
    assert crosscheck(a, nearly, "--atol", "2e-7")[0] == 0


def test_only_picks_paths(crosscheck: Command, tmp_path: Path) -> None:
    changed = {**arrays(), "labels": np.arange(8)}
    a, b = write(tmp_path / "a.npz", arrays()), write(tmp_path / "b.npz", changed)
    assert crosscheck(a, b, "--only", "x", "--only", "w*")[0] == 0
    code, stdout, *_ = crosscheck(a, b)
    assert code == 1
    assert "index base: A counts from 1 (Lua), B from 0" in stdout


def test_nested_names_and_single_values_are_matched(crosscheck: Command, tmp_path: Path) -> None:
    x, y = arrays()["x"], arrays()["w"]
    nested = write(tmp_path / "a.t7", {"conv": {"weight": x, "bias": y}})
    flat = write(tmp_path / "b.npz", {"conv/weight": x, "conv.bias": y})
    assert crosscheck(nested, flat)[0] == 0
    one = write(tmp_path / "one.h5", {"dump": x})
    np.save(tmp_path / "bare.npy", x)
    assert crosscheck(one, tmp_path / "bare.npy")[0] == 0


def test_nan_equals_nan_only(crosscheck: Command, tmp_path: Path) -> None:
    x = np.array([1.0, np.nan, np.inf])
    a = write(tmp_path / "a.npz", {"x": x})
    assert crosscheck(a, write(tmp_path / "b.npz", {"x": x}))[0] == 0
    code, stdout, _, report = crosscheck(a, write(tmp_path / "c.npz", {"x": np.array([1.0, 2, np.inf])}))
    assert code == 1
    assert "A has 2 of 3 values that are NaN or infinite" in stdout
    assert report["comparisons"][0]["max_error"] == "inf"


def test_texts_in_arrays_are_compared_as_texts(crosscheck: Command, tmp_path: Path) -> None:
    texts = {
        "name": np.array("net"),
        "classes": np.array([["cat", "dog"], ["eel", ""]]),
        "raw": np.array([b"x"]),
    }
    a = write(tmp_path / "a.npz", texts)
    lists = {"name": "net", "classes": [["cat", "dog"], ["eel", ""]], "raw": ["x"]}
    (tmp_path / "b.json").write_text(json.dumps(lists))
    assert crosscheck(a, tmp_path / "b.json")[0] == 0
    code, stdout, stderr, report = crosscheck(
        a, write(tmp_path / "c.npz", texts | {"classes": np.array([["cat", "cow"], ["eel", ""]])})
    )
    assert (code, stderr) == (1, "")
    assert "classes.1.2: A 'dog', B 'cow'" in stdout
    assert [row["path"] for row in report["comparisons"] if row["verdict"] != "same"] == ["classes.1.2"]


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (np.array(["2015-12-01"], dtype="M8[D]"), "elements of type datetime64[D]"),
        (np.zeros(2, dtype=[("a", int), ("b", float)]), "elements of type [('a', '<i8'), ('b', '<f8')]"),
        (np.zeros(2, dtype=np.clongdouble), "elements of type complex256"),
        (np.array([0x7FFFFFFF], dtype="<u4").view("<U1"), "a text that is not valid Unicode"),
    ],
)
def test_arrays_of_neither_numbers_nor_texts_are_refused_by_place(
    tmp_path: Path, values: Any, held: str
) -> None:
    if values.dtype == np.complex128:
        pytest.skip("a long double is a double here")
    path = str(write(tmp_path / "a.npz", {"x": np.ones(2), "y": values}))
    done = run_python("-m", "convnet_benchmarks", "crosscheck", path, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"convnet-benchmarks crosscheck: {path}: y: holds {held}; accepted: ")
    assert len(done.stderr.splitlines()) == 1


def test_arrays_of_objects_are_refused_by_file(crosscheck: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz", {"x": np.array([None, 1], dtype=object)})
    code, _, stderr, _ = crosscheck(path, path)
    assert code == 2 and str(path) in stderr and len(stderr.splitlines()) == 1


FAR = 10**30 + 1  # what no number type holds


@pytest.mark.parametrize(
    ("a", "b", "error"),
    [
        (2**53, 2**53 + 1, 1),
        ([1, 2**53], [1, 2**53 + 1], 1),
        (-(2**63), -(2**63) + 1, 1),
        (2**64 - 1, 2**64 - 2, 1),
        ([[2**53 + 1, 1]], [[2**53 + 3, 2]], 2),
        (10**22, 10**22 + 1, None),
        (FAR, FAR + 1, None),
        ([FAR, 1], [FAR, 2], 1),
        ([0.5, 1e9], [0.5, 1e9 + 2], 2),
        (10**400, 10**400 + 1, None),
    ],
)
def test_whole_numbers_are_never_rounded(
    crosscheck: Command, tmp_path: Path, a: Any, b: Any, error: int | None
) -> None:
    paths = tmp_path / "a.json", tmp_path / "b.json"
    for path, number in zip(paths, (a, b), strict=True):
        path.write_text(json.dumps({"n": number}))
    assert crosscheck(paths[0], paths[0])[0] == 0
    code, _, stderr, report = crosscheck(*paths)
    assert (code, stderr) == (1, "")
    assert [row["max_error"] for row in report["comparisons"] if row["verdict"] == "differs"] == [error]


def test_a_large_whole_number_equals_the_double_of_another_file(crosscheck: Command, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"seed": 9007199254740993, "far": 10000000000000000000000}')
    t7.save(tmp_path / "b.t7", t7.LuaTable({"seed": 2.0**53, "far": 1e22}))
    code, _, _, report = crosscheck(tmp_path / "a.json", tmp_path / "b.t7")
    assert code == 0
    assert [row["max_error"] for row in report["comparisons"]] == [1, 0]


def test_a_number_of_too_many_digits_is_named(crosscheck: Command, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(5000 * "1")
    code, _, stderr, _ = crosscheck(tmp_path / "a.json", tmp_path / "a.json")
    assert code == 2 and stderr.endswith("a.json: holds a whole number of more than 4300 digits\n")


def tensors_of_kinds() -> dict[str, Tensor]:
    """Tensors that torch.save keeps as they are, and what a message says of them."""
    ones = torch.ones(3)
    return {
        "sparse": ones.to_sparse(),
        "quantized": torch.quantize_per_tensor(ones, 0.1, 0, torch.qint8),
        "meta": torch.ones(3, device="meta"),
    }


@needs_safe_pt
@pytest.mark.filterwarnings("ignore")  # PyTorch's, of making them
@pytest.mark.parametrize("kind", ["sparse", "quantized", "meta"])
def test_tensors_without_plain_values_are_refused_by_place(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "a.pt")
    torch.save({"net": {"x": tensors_of_kinds()[kind]}}, path)
    done = run_python("-m", "convnet_benchmarks", "crosscheck", path, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"convnet-benchmarks crosscheck: {path}: net.x: holds a {kind} tensor; "
        "accepted: dense tensors, saved with their values\n"
    )


@needs_safe_pt
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"x": {1, 2}}, "x: holds a set, which cannot be compared"),
        ({"a.b": 1, "a": {"b": 2}}, "a.b: two values have this path"),
        (
            torch.nn.Linear(2, 2),
            "lists and dicts, such as a state_dict: it holds a torch.nn.modules.linear.Linear;",
        ),
    ],
)
def test_what_is_in_a_pt_file_is_refused_by_name_in_plain_words(
    tmp_path: Path, value: Any, message: str
) -> None:
    path = str(tmp_path / "a.pt")
    torch.save(value, path)
    done = run_python("-m", "convnet_benchmarks", "crosscheck", path, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"convnet-benchmarks crosscheck: {path}: ") and message in done.stderr
    assert done.stderr.removesuffix("\n").isprintable()


@needs_safe_pt
def test_conjugate_and_negative_views_are_read(crosscheck: Command, tmp_path: Path) -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    torch.save({"conjugate": z.conj(), "negative": z.clone().conj().imag}, tmp_path / "a.pt")
    b = write(tmp_path / "b.npz", {"conjugate": z.numpy().conj(), "negative": -z.numpy().imag})
    assert crosscheck(tmp_path / "a.pt", b)[0] == 0


@pytest.mark.parametrize("kind", [".npz", ".npy", PT])
def test_a_file_with_broken_bytes_is_read_or_refused(crosscheck: Command, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a{kind}"
    if kind == ".npy":
        np.save(path, np.arange(6.0))
    else:
        write(path, {"x": np.arange(6.0)})
    whole, random = path.read_bytes(), np.random.default_rng(4)
    for _ in range(150):
        broken = bytearray(whole)
        broken[random.integers(len(whole))] = random.integers(256)
        path.write_bytes(broken)
        code, _, stderr, _ = crosscheck(path, path)
        assert code == 0 or (code == 2 and stderr.startswith(f"convnet-benchmarks crosscheck: {path}: "))

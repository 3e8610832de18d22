"""``convnet-benchmarks crosscheck`` and ``convert`` as a person types them."""

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from torch import Tensor

from convnet_benchmarks.cli import main
from convnet_benchmarks.commands.crosscheck.likely_cause import likely_cause
from lua_compat import t7
from lua_compat.conversion import to_torch
from nets.registry import NETS, build
from tests.helpers.commands import run_python
from tests.helpers.places import DATA, GOLDEN

T7 = GOLDEN / "t7"
LOGS = GOLDEN / "logs"
Command = Callable[..., tuple[Any, ...]]  # exit code, stdout, stderr...


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a subcommand in this process; gives its exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[Any, ...]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def crosscheck(command: Command, tmp_path: Path) -> Command:
    """Runs the command; gives its exit code, stdout, stderr and what --json wrote."""

    def run(*arguments: object) -> tuple[Any, ...]:
        document = tmp_path / "report.json"
        document.unlink(missing_ok=True)
        done = command("crosscheck", *arguments, "--json", document)
        return *done, json.loads(document.read_text()) if document.exists() else None

    return run


@pytest.mark.parametrize(
    ("arguments", "code", "last_line"),
    [
        (("t7/net.bin.t7", "t7/net.ascii.t7"), 0, "AGREE: 94 of 94 values are the same"),
        (("t7/tied.bin.t7", "t7/residual.bin.t7"), 1, "DIFFER: "),
        (("t7/net.bin.t7",), 0, "AGREE: 1 of 1 values are the same"),
        (("t7/net.bin.t7", "--mode", "train"), 1, "DIFFER: 0 of 1 values are the same"),
        (("logs/benchmark_cpu.log", "logs/benchmark_cpu_4d_b4.log"), 0, "AGREE: 1 of 1 runs"),
        (("logs/benchmark_cpu.log", "logs/criterion_cpu.log"), 1, "DIFFER: 0 of 1 runs"),
    ],
)
def test_each_kind_of_pair_as_typed(arguments: tuple[str, ...], code: int, last_line: str) -> None:
    paths = [str(GOLDEN / word) if "/" in word else word for word in arguments]
    done = run_python("-m", "convnet_benchmarks", "crosscheck", *paths)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.splitlines()[-1].startswith(last_line)


def test_bad_input_as_typed() -> None:
    done = run_python("-m", "convnet_benchmarks", "crosscheck", "nothere.t7")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "convnet-benchmarks: nothere.t7: no such file\n"


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"x": rng.standard_normal((2, 3, 4)), "w": rng.standard_normal((5, 2)).astype(np.float32),
            "labels": np.arange(1, 9)}  # fmt: skip


def lua_table(values: dict[str, Any]) -> t7.LuaTable:
    return t7.LuaTable(
        {
            name: lua_table(value) if isinstance(value, dict) else t7.Tensor.from_numpy(value)
            for name, value in values.items()
        }
    )


def write(path: Path, values: dict[str, Any]) -> Path:
    """The same results in any kind of file."""
    if path.suffix == ".t7":
        t7.save(path, lua_table(values))
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            for name, value in values.items():
                file[name] = value
    elif path.suffix == ".npz":
        np.savez(path, **values)
    elif path.suffix == ".pt":
        torch.save({name: torch.from_numpy(value) for name, value in values.items()}, path)
    elif path.suffix == ".json":
        path.write_text(json.dumps({name: value.tolist() for name, value in values.items()}))
    return path


KINDS = (".t7", ".h5", ".npz", ".pt", ".json")


# ---- result files


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
        (np.array([0x7FFFFFFF], dtype="<u4").view("<U1"), "a text with what is no character"),
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
    assert done.stderr.startswith(f"convnet-benchmarks: {path}: y: holds {held}; accepted: ")
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


@pytest.mark.filterwarnings("ignore")  # PyTorch's, of making them
@pytest.mark.parametrize("kind", ["sparse", "quantized", "meta"])
def test_tensors_without_plain_values_are_refused_by_place(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "a.pt")
    torch.save({"net": {"x": tensors_of_kinds()[kind]}}, path)
    done = run_python("-m", "convnet_benchmarks", "crosscheck", path, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"convnet-benchmarks: {path}: net.x: holds a {kind} tensor; "
        "accepted: dense tensors, saved with their values\n"
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"x": {1, 2}}, "x: holds a set, which cannot be compared"),
        ({"a.b": 1, "a": {"b": 2}}, "a.b: two values have this path"),
        (
            torch.nn.Linear(2, 2),
            "it holds a torch.nn.modules.linear.Linear; accepted: tensors, numbers and texts",
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
    assert done.stderr.startswith(f"convnet-benchmarks: {path}: ") and message in done.stderr
    assert done.stderr.removesuffix("\n").isprintable()


def test_conjugate_and_negative_views_are_read(crosscheck: Command, tmp_path: Path) -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    torch.save({"conjugate": z.conj(), "negative": z.clone().conj().imag}, tmp_path / "a.pt")
    b = write(tmp_path / "b.npz", {"conjugate": z.numpy().conj(), "negative": -z.numpy().imag})
    assert crosscheck(tmp_path / "a.pt", b)[0] == 0


@pytest.mark.parametrize("kind", [".npz", ".npy", ".pt"])
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
        assert code == 0 or (code == 2 and stderr.startswith(f"convnet-benchmarks: {path}: "))


IMAGES = np.random.default_rng(2).standard_normal((2, 3, 4, 5))


@pytest.mark.parametrize(
    ("b", "cause"),
    [
        (IMAGES.transpose(0, 2, 3, 1), "transposed: B is A with its dimensions in the order (0, 2, 3"),
        (IMAGES.transpose(0, 2, 3, 1).reshape(IMAGES.shape), "memory layout: B holds A's values"),
        (IMAGES.reshape(6, 20), "the same values in another shape: 2x3x4x5 and 6x20"),
        (IMAGES[0], "B holds only the first sample of the batch"),
        (IMAGES[..., :3, :4], "size rounding: A is one larger, as with ceil mode in a pooling; what both"),
        (IMAGES[..., :3, :4] + 1, "size rounding: A is one larger, as with ceil mode in a pooling"),
        (IMAGES / 64, "scale: B is A * 0.015625 (1 / 64: divided by a count, as sizeAverage does?)"),
        (IMAGES * 255, "scale: B is A * 255 (multiplied by a count of 255"),
        (-IMAGES, "sign: B is -A"),
        (IMAGES + 3, "offset: B is A + 3"),
        (IMAGES[:, ::-1], "reversed along dimension 1 (RGB / BGR?)"),
        (IMAGES[..., ::-1, ::-1], "reversed along the last two dimensions (convolution / cross-correlation?"),
        (IMAGES.astype(np.float16).astype(float), "agrees to half precision"),
        (IMAGES.astype(np.float32).astype(float), "agrees to single precision"),
        (np.where(IMAGES > 2, np.nan, IMAGES), "B has "),
        (IMAGES[:, :1], ""),
        (np.random.default_rng(3).standard_normal(IMAGES.shape), ""),
    ],
)  # fmt: skip
def test_likely_causes(b: Any, cause: str) -> None:
    found = likely_cause(IMAGES, np.asarray(b), 1e-9)
    assert found.startswith(cause)
    assert bool(found) == bool(cause)


def test_labels_counted_from_0_and_from_1() -> None:
    labels = np.array([3.0, 1, 5])
    assert likely_cause(labels, labels - 1, 0) == "index base: A counts from 1 (Lua), B from 0"
    assert likely_cause(labels - 1, labels, 0) == "index base: B counts from 1 (Lua), A from 0"


LARGE, INFINITE = 1e308, np.inf


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (
            [np.nan, INFINITE, -INFINITE, 1],
            [np.nan, INFINITE, INFINITE, 1],
            "1 values, first at [2] A -inf, B inf",
        ),
        ([LARGE, -LARGE, LARGE], [-LARGE, LARGE, LARGE], "2 values, first at [0] A 1e+308, B -1e+308"),
        ([LARGE, -LARGE], [-LARGE, LARGE], "reversed along dimension 0"),
        ([[LARGE, 1], [INFINITE, 2]], [[LARGE, INFINITE], [1, 2]], "transposed"),
        ([1e10], [1e-300], "scale: B is A * 1e-310"),
        ([1e-150 + 0j], [1.5e158 + 1.5e158j], "1 values, first at [0]"),
    ],
)
def test_infinities_and_the_largest_numbers_say_nothing_on_stderr(
    tmp_path: Path, a: list[Any] | list[float], b: list[Any] | list[float], said: str
) -> None:
    paths = [tmp_path / name for name in ("a.npy", "b.npy")]
    for path, values in zip(paths, (a, b), strict=True):
        np.save(path, np.array(values))
    done = run_python("-m", "convnet_benchmarks", "crosscheck", *map(str, paths))
    assert (done.returncode, done.stderr) == (1, "")
    assert said in done.stdout


# ---- runs


def run_json(tmp_path: Path, **changes: Any) -> Path:
    log = (LOGS / "benchmark_cpu.log").read_text()
    model = log[log.index("nn.Sequential") : log.index("\n}\n") + 2]
    lines = dict(line.split("\t") for line in log[log.index(":dry-run") :].strip().splitlines() if line)
    halves = {label: float(value) / 2 for label, value in lines.items()}
    document = {"schema": "convnet-benchmarks/1", "kind": "benchmark", "model": model, "lines": halves}
    document |= changes
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    return path


def test_two_logs_agree_label_by_label(crosscheck: Command) -> None:
    code, stdout, stderr, report = crosscheck(LOGS / "benchmark_cpu.log", LOGS / "benchmark_cpu_4d_b4.log")
    assert (code, stderr) == (0, "")
    assert "model: the same 23 modules" in stdout
    (run,) = report["comparisons"]
    rows = {row["label"]: row for row in run["labels"]}
    assert len(rows) == 10
    assert rows[":TOTAL:"]["speedup"] == pytest.approx(472.3740418752 / 490.33889174461)


def test_a_log_and_the_json_of_ours_agree(crosscheck: Command, tmp_path: Path) -> None:
    code, _, _, report = crosscheck(LOGS / "benchmark_cpu.log", run_json(tmp_path))
    assert code == 0
    assert all(row["speedup"] == pytest.approx(2.0) for row in report["comparisons"][0]["labels"])


def test_a_model_of_other_structure_differs(crosscheck: Command, tmp_path: Path) -> None:
    text = (LOGS / "benchmark_cpu.log").read_text()
    changed = "(18): cudnn.SpatialConvolution(4096 -> 2"
    text = text.replace("(18): nn.SpatialConvolutionMM(4096 -> 4096", changed)
    other = tmp_path / "other.log"
    other.write_text(text.replace("(17): nn.ReLU", "(17): cudnn.ReLU"))
    code, stdout, _, report = crosscheck(LOGS / "benchmark_cpu.log", other)
    assert code == 1
    assert report["comparisons"][0]["model"]["differences"] == [
        "model: 18 is nn.SpatialConvolutionMM(4096 -> 4096, 1x1) in A, "
        "cudnn.SpatialConvolution(4096 -> 2, 1x1) in B"
    ]
    assert "model: nn.ReLU in A is cudnn.ReLU in B" in stdout


def test_a_missing_label_differs(crosscheck: Command, tmp_path: Path) -> None:
    code, stdout, *_ = crosscheck(LOGS / "benchmark_cpu.log", run_json(tmp_path, lines={":TOTAL:": 1.0}))
    assert code == 1
    assert ":accGradParameters(): is missing in B" in stdout


def test_single_passes_may_be_left_out(crosscheck: Command, tmp_path: Path) -> None:
    ours = run_json(tmp_path, kind="criterion", lines={"feed moyen": 100.0})
    code, _, _, report = crosscheck(LOGS / "criterion_cpu_4d_b4.log", ours)
    assert code == 0
    (row,) = (row for row in report["comparisons"][0]["labels"] if row["speedup"])
    assert (row["label"], row["a"]) == ("feed moyen", pytest.approx(3748.0425834656 / 4))


def test_a_benchmark_and_a_criterion_run_differ(crosscheck: Command) -> None:
    code, stdout, *_ = crosscheck(LOGS / "benchmark_cpu.log", LOGS / "criterion_cpu.log")
    assert code == 1
    assert "A is a benchmark run, B a criterion run" in stdout


def test_max_slowdown(crosscheck: Command) -> None:
    logs = LOGS / "benchmark_cpu.log", LOGS / "benchmark_cpu_4d_b4.log"
    assert crosscheck(*logs, "--max-slowdown", "1.1")[0] == 0
    code, stdout, *_ = crosscheck(*logs, "--max-slowdown", "1.05")
    assert code == 1
    assert ":updateOutput(): takes 1.09 times as long in B (at most 1.05 accepted)" in stdout


def test_published_runs_are_paired_by_net_and_kernels(crosscheck: Command, tmp_path: Path) -> None:
    log = DATA / "soumith_imagenet_excerpt.log"
    reordered = tmp_path / "reordered.log"
    text = log.read_text()
    head, *runs = text.split("ModelType:")
    reordered.write_text(head + "".join(f"ModelType:{run}" for run in reversed(runs)))
    code, _, _, report = crosscheck(log, reordered)
    assert code == 0
    assert {row["speedup"] for run in report["comparisons"] for row in run["labels"]} == {1.0}
    fewer = tmp_path / "fewer.log"
    fewer.write_text(head + "ModelType:" + runs[0])
    code, stdout, *_ = crosscheck(log, fewer)
    assert code == 1
    assert "no such run in B" in stdout


@pytest.mark.parametrize("time", ["NaN", "Infinity", "-5", "0", "null", "true", '"5"', "1" + 400 * "0"])
def test_what_is_no_time_in_a_runs_json_is_refused_by_label(tmp_path: Path, time: Any) -> None:
    path = run_json(tmp_path)
    text = path.read_text()
    assert text.count('":TOTAL:": ') == 1
    path.write_text(re.sub(r'(":TOTAL:": )[^,}]+', rf"\g<1>{time}", text))
    done = run_python("-m", "convnet_benchmarks", "crosscheck", str(LOGS / "benchmark_cpu.log"), str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"convnet-benchmarks: {path}: label ':TOTAL:' is ")
    assert done.stderr.endswith("; accepted: milliseconds above 0\n") and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("time", ["nan", "-5", "1e999"])
def test_what_is_no_time_in_a_log_is_missing(crosscheck: Command, tmp_path: Path, time: str) -> None:
    log = tmp_path / "b.log"
    text = (LOGS / "benchmark_cpu.log").read_text()
    log.write_text(re.sub(r"(?m)^(:TOTAL:\s+).*$", rf"\g<1>{time}", text))
    code, stdout, *_ = crosscheck(LOGS / "benchmark_cpu.log", log)
    assert code == 1 and ":TOTAL: is missing in B" in stdout


def test_times_of_a_batch_and_of_a_sample_are_brought_together(crosscheck: Command, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("ModelType: AlexNet\tKernels: cudnn\tInput shape: 128x3x224x224\ncudnn  :TOTAL:  80.96\n")
    code, _, _, report = crosscheck(log, run_json(tmp_path, lines={":TOTAL:": 0.316}))
    assert code == 0
    assert report["comparisons"][0]["unit"] == "ms per sample"
    assert report["comparisons"][0]["labels"][0]["speedup"] == pytest.approx(80.96 / 128 / 0.316)


# ---- a model with its recorded input and output


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


@pytest.mark.parametrize("kind", [".t7", ".npz", ".h5", ".pt"])
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


# ---- what cannot be compared


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "A is missing: the file to compare with, or --lua SCRIPT"),
        (("nothere.t7",), "nothere.t7: no such file"),
        ((GOLDEN, GOLDEN), "golden: is a folder"),
        ((T7 / "cycle.bin.t7",), "B is missing"),
        ((LOGS / "benchmark_cpu.log",), "B is missing"),
        ((LOGS / "benchmark_cpu.log", T7 / "cycle.bin.t7"), "benchmark_cpu.log is a run and"),
        ((LOGS / "benchmark_help.log", LOGS / "benchmark_cpu.log"), "no line of a convnet benchmark in it"),
        ((T7 / "cycle.bin.t7", T7 / "cycle.bin.t7", "--rtol", "x"), "--rtol: 'x' is not a number from 0 up"),
        ((T7 / "net.bin.t7", T7 / "net.bin.t7", "--only", "y"), "nothing to compare: no value that --only y"),
        ((T7 / "net.bin.t7", "--mode", "x"), "--mode: invalid choice: 'x'"),
        ((LOGS / "benchmark_cpu.log", T7 / "net.bin.t7", "--colour"), "unrecognized arguments: --colour"),
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


# ---- convert


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
        ((T7 / "net.bin.t7", "--to", "x.bin"), "--to: 'x.bin' must end in .pt, .pth, .safetensors, .t7"),
        ((T7 / "tensors.bin.t7", "--to", "x.pt"), "--get must name a model; at root there is none"),
        ((T7 / "net.bin.t7", "--get", "nett", "--to", "x.pt"), "--get:"),
        ((T7 / "net.bin.t7", "--to", "/no/such/folder/x.pt"), "--to: cannot write '/no/such/folder/x.pt'"),
        (("nothere.t7", "--to", "x.pt"), "nothere.t7: No such file"),
        ((LOGS / "benchmark_cpu.log", "--to", "x.pt"), "must be a .t7 file; a state_dict needs --net"),
        (("w.pt", "--net", "lenet", "--to", "x.t7"), "--net: unknown net 'lenet'"),
    ],
)
def test_convert_refuses_with_one_line(
    convert: Command, arguments: tuple[Any, ...] | tuple[str, ...], message: str
) -> None:
    code, stdout, stderr = convert(*arguments)
    assert (code, stdout) == (2, "")
    assert message in stderr
    assert len(stderr.splitlines()) == 1


def test_convert_as_typed(tmp_path: Path) -> None:
    model = str(T7 / "net.bin.t7")
    done = run_python("-m", "convnet_benchmarks", "convert", model, "--to", str(tmp_path / "net.pt"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Sequential(\n  (0): Conv2d(3, 4, kernel_size=(3, 3)")
    assert torch.load(tmp_path / "net.pt", weights_only=True)["6.weight"].shape == (5, 64)

"""The package in Python: measuring a module, results from files, comparisons, charts."""

import builtins
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import convnet_benchmarks as cb
from convnet_benchmarks.api.benchmark import measure_file
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets.phases import PHASES
from convnet_benchmarks.points.point import OK
from tests.helpers import made_results, own_nets
from tests.helpers.commands import run_python
from tests.helpers.places import ROOT


def small() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True))


@pytest.fixture(scope="module")
def measured() -> Any:
    return cb.benchmark(small(), (4, 3, 8, 8), seconds=0.05, name="tiny")


def test_inference_is_measured_and_shown_as_a_table(measured: Any) -> None:
    text = repr(measured)
    assert text.startswith("tiny, batch 4") and "throughput" in text and "latency p50" in text
    assert "<td>throughput</td>" in measured._repr_html_()
    assert {one.net for one in measured} == {"tiny"} and len(measured) == len(measured.measurements)


def test_training_has_three_phases_and_leaves_the_module_alone() -> None:
    module = small().eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    for backend in ("stock", "mm", "channels-last"):
        found = cb.benchmark(module, torch.randn(2, 3, 8, 8), mode="training", backend=backend, seconds=0.05)
        phases = {one.phase for one in found if one.quantity == "time"}
        assert phases == {"updateOutput", "updateGradInput", "accGradParameters"}, backend
    assert not module.training and all(parameter.grad is None for parameter in module.parameters())
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((5, (1, 3, 8, 8)), {}, "the first argument is an int; accepted: a torch.nn.Module"),
        (("alexnet", (1, 3, 8, 8)), {}, "the first argument is a str; accepted: a torch.nn.Module"),
        ((small(), (4,)), {}, "accepted: a tensor, or sizes such as"),
        ((small(), (4, 0, 8, 8)), {}, "accepted: a tensor, or sizes such as"),
        ((small(), torch.zeros(3)), {}, "accepted: a batch"),
        ((small(), 4), {}, "input is 4; accepted: a tensor, or sizes such as"),
        ((small(), "4x3x8x8"), {}, "input is '4x3x8x8'; accepted: a tensor, or sizes such as"),
        ((small(), (True, 3, 8, 8)), {}, "accepted: a tensor, or sizes such as"),
        ((small(), (1, 3, 8, 8)), {"seconds": "2"}, "seconds is '2'; accepted: a number above 0"),
        ((small(), (1, 3, 8, 8)), {"seconds": float("nan")}, "seconds is nan; accepted: a number above 0"),
        ((small(), (1, 3, 8, 8)), {"backend": ["stack"]}, "unknown backend '['stack']'; accepted: stock, "),
        ((small(), (1, 3, 8, 8)), {"name": 5}, "name is 5; accepted: a text"),
        ((small(), (1, 3, 8, 8)), {"mode": "test"}, "unknown mode 'test'; accepted: inference, training"),
        ((small(), (1, 3, 8, 8)), {"backend": "cuda"}, "unknown backend 'cuda'; accepted: stock, "),
        ((small(), (1, 3, 8, 8)), {"backend": "tf32"}, "backend tf32 is for cuda, not for cpu"),
        ((small(), (1, 3, 8, 8)), {"seconds": 0}, "seconds is 0; accepted: a number above 0"),
        ((small(), (1, 5, 8, 8)), {}, "benchmark: Sequential fails on an input of 1x5x8x8: "),
    ],
)
def test_what_cannot_be_measured_is_one_clear_line(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as raised:
        cb.benchmark(*arguments, **options)
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int3"}, "unknown number format 'int3'; accepted: float32, "),
        ({"device": "gpu"}, "device 'gpu': accepted: cpu, cuda, cuda:0 and so on"),
        ({"threads": 0}, "threads is 0; accepted: a whole number from 1 up"),
        ({"processes": "2"}, "processes is '2'; accepted: a whole number from 1 up"),
        ({"batch_sizes": 3}, "batch_sizes is 3; accepted: whole numbers, as [1, 8]"),
        ({"batch_sizes": [1, 0]}, "batch_sizes is [1, 0]; accepted: whole numbers, as [1, 8]"),
        ({"label": 5}, "label is 5; accepted: a text"),
        ({"input": {"x": torch.zeros(2, 3), "y": (2, 3)}}, "input has tensors and sizes"),
        ({"input": [torch.zeros(2, 3), "x"]}, "input is [a tensor, 'x']; accepted: a tensor, or sizes"),
        ({"input": {}}, "input is {}; accepted: a tensor, or sizes"),
        (
            {"input": torch.ones(1, 3, 8, 8, device="meta")},
            "input has a tensor on PyTorch's meta device; accepted: dense tensors with memory",
        ),
        ({"input": torch.ones(1, 3, 8, 8).to_sparse()}, "input has a tensor of torch.sparse_coo; accepted: "),
        ({"input": {"z": torch.zeros(2, 3)}}, "fails on an input of z 2x3: "),
    ],
)
def test_how_it_cannot_be_measured_is_one_clear_line(options: dict[str, Any], message: str) -> None:
    given = {"input": (1, 3, 8, 8), **options}
    with pytest.raises(UserError) as raised:
        cb.benchmark(small(), **given)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_each_batch_size_is_measured_with_what_it_is_measured_with() -> None:
    before = torch.get_num_threads()
    options: dict[str, Any] = {"dtype": torch.float64, "device": "cpu", "threads": 1, "label": "try"}
    for module, input, shapes in (
        (own_nets.Bert(), {"ids": (2, 8), "mask": (2, 8)}, ["ids 1x8, mask 1x8", "ids 3x8, mask 3x8"]),
        (own_nets.Detector(), torch.randn(2, 3, 16, 16), ["1x3x16x16", "3x3x16x16"]),
        (
            own_nets.Branches(),
            (torch.randn(2, 3, 8, 8), torch.randn(2, 6), torch.tensor([0, 6])),
            ["1x3x8x8, 1x6, 1", "3x3x8x8, 3x6, 3"],
        ),
    ):
        found = cb.benchmark(module, input, batch_sizes=[1, 3], seconds=0.03, **options)
        assert list(dict.fromkeys(one.shape for one in found)) == shapes
        assert {(one.dtype, one.threads, one.backend, one.label) for one in found} == {
            ("float64", 1, "stock", "try")
        }
        assert all(one.time for one in found) and {one.batch for one in found} == {1, 3}
    assert torch.get_num_threads() == before
    assert all(parameter.dtype == torch.float32 for parameter in module.parameters())


def test_several_inputs_train_and_their_unit_is_the_nets(tmp_path: Path) -> None:
    ids, mask = torch.randint(50, (2, 8)), torch.ones(2, 8, dtype=torch.int64)
    found = cb.benchmark(own_nets.Bert(), {"ids": ids, "mask": mask}, mode="training", seconds=0.03)
    assert {one.unit for one in found if one.quantity == "throughput"} == {"sequences/s"}
    assert {one.phase for one in found if one.quantity == "time"} == set(PHASES)
    found.save(str(tmp_path / "p.jsonl"))
    assert [vars(one) for one in cb.load(str(tmp_path / "p.jsonl"))] == [vars(one) for one in found]


def test_new_processes_run_the_classes_of_a_script(tmp_path: Path) -> None:
    script = """
import convnet_benchmarks as cb
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return x + 1

{guard}
    found = cb.benchmark(Net(), (2, 3), processes=2, seconds=0.02)
    print(len(found.records[0]["processes"]))
"""
    (tmp_path / "script.py").write_text(script.format(guard='if __name__ == "__main__":'))
    done = run_python("script.py", cwd=tmp_path, fresh=True)
    assert done.stdout == "2\n", done.stderr
    (tmp_path / "unguarded.py").write_text(script.format(guard="if True:"))
    done = run_python("unguarded.py", cwd=tmp_path, fresh=True)
    assert done.returncode == 1 and 'put what it does below if __name__ == "__main__":' in done.stderr


class WritesToItsInput(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.add_(1)


def test_the_tensors_given_stay_as_they_are() -> None:
    x = torch.zeros(2, 3)
    cb.benchmark(WritesToItsInput(), x, seconds=0.02)
    assert not x.any()


class Doubled(nn.Module):
    """Comes back from a file without what modules have, as PyTorch's quantised convolutions do."""

    def __getstate__(self) -> dict[str, Any]:
        return {"factor": 2}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return vars(self)["factor"] * x


def test_what_a_file_does_not_keep_of_a_module(tmp_path: Path) -> None:
    torch.save((nn.Sequential(Doubled()), torch.rand(2, 3)), tmp_path / "module.pt")
    how = {"mode": "inference", "backend": "stock", "seconds": 0.02, "cold_cache": False, "threads": None}
    request = {"file": str(tmp_path / "module.pt"), "path": [], "main": "", "how": how | {"name": "net"}}
    assert measure_file(request)["status"] == OK


def test_a_class_that_another_process_cannot_import_is_reported() -> None:
    class Local(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    with pytest.raises(UserError, match=r"processes=2: .*Local") as raised:
        cb.benchmark(Local(), (2, 3), processes=2)
    assert "\n" not in str(raised.value)


def test_the_data_frame_has_a_column_for_each_condition(measured: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = measured.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    wanted = {"backend", "dtype", "threads", "shape", "device", "phase", "unit", "commit", "label", "time"}
    assert wanted <= set(frame.columns)
    first = frame.iloc[0]
    assert (first["backend"], first["dtype"], first["shape"]) == ("stock", "float32", "4x3x8x8")
    assert first["threads"] == torch.get_num_threads() and first["phase"] == "inference"


def test_results_are_kept_read_and_compared(measured: Any, tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    measured.save(str(path))
    again = cb.load(str(path))
    assert again.measurements == measured.measurements
    with pytest.raises(UserError, match="save: these results come from "):
        again.save(str(path))
    compared = cb.compare(measured, again)
    assert set(compared.verdicts) <= {"SAME", "UNSURE", "EQUAL"} and "B : A" in repr(compared)
    assert cb.compare(str(path), path).files[0].measurements == measured.measurements
    with pytest.raises(UserError, match="only one result is given"):
        cb.compare(measured)
    with pytest.raises(UserError, match=r"compare: an int is not a result; accepted: results, or the path"):
        cb.compare(measured, 5)  # type: ignore[arg-type]
    for margin in (-1, 2, "2 %", float("nan")):
        with pytest.raises(UserError, match=r"margin is .*; accepted: a number from 0 to less than 1"):
            cb.compare(measured, again, margin=margin)  # type: ignore[arg-type]
    other = cb.benchmark(nn.Linear(2, 3), (4, 2), seconds=0.02)
    with pytest.raises(UserError, match="share no measurement"):
        cb.compare(measured, other)


@pytest.mark.parametrize("path", [None, 5, 5.0, b"points.jsonl", ["points.jsonl"], "", "a\0b", "/"])
def test_what_cannot_be_read_is_one_clear_line(path: Any) -> None:
    with pytest.raises(UserError, match=r"accepted: the path of a file|directory") as raised:
        cb.load(path)
    assert "\n" not in str(raised.value)


def test_a_chart_of_the_report(tmp_path: Path) -> None:
    points = [made_results.point("alexnet", batch, 10.0 * batch) for batch in (1, 2, 8)]
    results = cb.load(made_results.write(tmp_path / "sweep.jsonl", *points))
    for given in (results, str(tmp_path / "sweep.jsonl"), [results, tmp_path / "sweep.jsonl"]):
        figure = cb.chart(given)  # type: ignore[arg-type]
        assert figure.axes and figure.get_suptitle()
    for wrong, message in (
        (None, "None is not a result"),
        ([results, 5], "an int is not a result"),
        (results.measurements, "a Measurement is not a result"),
        ([], "no result is given"),
        (tmp_path / "none.jsonl", "none.jsonl: No such file or directory"),
    ):
        with pytest.raises(UserError, match=message):
            cb.chart(wrong)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"unknown plot 'pie'; accepted: .*throughput_batch"):
        cb.chart(results, "pie")
    with pytest.raises(UserError, match="nothing in these results for 'roofline'"):
        cb.chart([results], "roofline")


def test_without_matplotlib_a_chart_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else found(name)
    )
    path = made_results.write(tmp_path / "sweep.jsonl", made_results.point("alexnet", 1, 10.0))
    with pytest.raises(UserError, match="chart: needs matplotlib: pip install"):
        cb.chart(path)


def test_without_pandas_it_says_how_to_get_it(measured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pandas"):
        assert len(measured.to_pandas()) == len(measured)
    load = builtins.__import__

    def without_pandas(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(UserError, match="pip install pandas"):
        measured.to_pandas()


def test_the_page_about_python_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    page = tmp_path / "page.py"
    page.write_text("\n".join(blocks))
    done = run_python(page, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        "unknown backend 'no such thing'" in done.stdout and (tmp_path / "throughput.png").stat().st_size > 0
    )


def test_names_of_the_package() -> None:
    assert cb.__version__
    assert set(cb.__all__) == {"__version__", "benchmark", "load", "compare", "chart"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cb.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.slow
def test_a_type_checker_knows_the_functions(tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text(
        "import convnet_benchmarks as cb\nfrom torch import nn\n"
        "cb.benchmark(nn.Linear(2, 3), (4, 2))\n"
        'cb.benchmark(nn.Linear(2, 3), "nonsense", secs=3)\n'
        "cb.load(5)\ncb.nothing\n"
    )
    options = ["--strict", "--follow-imports=silent", "--cache-dir", tmp_path / "cache"]
    result = run_python("-m", "mypy", *options, "uses.py", cwd=tmp_path)
    found = [
        (line.split(":")[1], line.rpartition("[")[2])
        for line in result.stdout.splitlines()
        if "error:" in line
    ]
    assert found == [("4", "call-arg]"), ("4", "arg-type]"), ("5", "arg-type]"), ("6", "attr-defined]")]


@pytest.mark.parametrize("mode", ["inference", "training"])
def test_a_list_of_samples(mode: str) -> None:
    images = [torch.randn(3, 8, 8), torch.randn(3, 8, 8)]
    found = cb.benchmark(own_nets.TakesList(), images, mode=mode, seconds=0.05)
    assert {(one.batch, one.shape) for one in found} == {(2, "2x3x8x8")}
    with pytest.raises(UserError, match="a list of 2 tensors of different sizes; accepted for a module that"):
        cb.benchmark(own_nets.TakesList(), [*images[:1], torch.randn(3, 9, 8)], mode=mode)


@pytest.mark.parametrize(
    ("module", "input", "message"),
    [
        (own_nets.WritesIntoItsInput(), torch.randn(4, 6), "WritesIntoItsInput failed: RuntimeError: a leaf"),
        (nn.Linear(6, 2), torch.randn(0, 6), "input has a tensor of 0x6; accepted: one sample or more"),
        (own_nets.GivesIndices(), (4, 6), "this net cannot be trained: its output does not depend on its"),
    ],
)
def test_what_cannot_be_trained_is_one_line(module: nn.Module, input: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        cb.benchmark(module, input, mode="training", seconds=0.05)


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_a_module_that_cannot_be_copied_is_one_line() -> None:
    with pytest.raises(UserError, match="benchmark: the module cannot be copied: RuntimeError: Only Tensors"):
        cb.benchmark(nn.utils.weight_norm(nn.Linear(3, 2)), (2, 3))

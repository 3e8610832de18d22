"""Libraries on and off: variants, verdicts, the differences of outputs, and the command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from convnet_benchmarks.commands import backends
from convnet_benchmarks.commands.backends.run import Sitting, compare, output_difference
from convnet_benchmarks.commands.backends.tables import details_table
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.batch_norm_statistics import set_running_statistics
from convnet_benchmarks.points.file import read_points
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.timing.verdicts import FASTER, SAME, SLOWER, UNSURE, speed_up, verdict
from convnet_benchmarks.workload.variants import find
from tests.helpers import made_results
from tests.helpers.commands import run_python
from tests.helpers.gpu import sized

NET_FILE = """
from torch import nn

def tiny():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 5))
"""


def variant(text: str) -> Any:
    return find(text, "float32", "--with")


def test_variants_are_read() -> None:
    assert (variant("stock").backend.name, variant("stock").dtype) == ("stock", "float32")
    assert variant("bf16").dtype == "bfloat16" and variant("bf16").name == "bf16"
    found = variant("auto:float64+OMP_PROC_BIND=true+ONEDNN_MAX_CPU_ISA=AVX2")
    assert (found.backend.name, found.dtype) == ("auto", "float64")
    assert found.variables == {"OMP_PROC_BIND": "true", "ONEDNN_MAX_CPU_ISA": "AVX2"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cuda", "unknown backend 'cuda'; accepted: stock, no-onednn"),
        ("stock:int3", "unknown number format 'int3'; accepted: float32"),
        ("stock+X", "'X' in 'stock+X' is not VARIABLE=VALUE"),
    ],
)
def test_other_variants_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match="option --with") as error:
        variant(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.03, 1.5, FASTER),
        (1.001, 1.5, FASTER),
        (0.5, 0.99, SLOWER),
        (0.99, 1.01, SAME),
        (1.001, 1.019, SAME),
        (0.9, 1.2, UNSURE),
        (0.97, 1.0, UNSURE),
        (float("nan"), 1.0, UNSURE),
    ],
)
def test_a_verdict_follows_from_the_interval(low: Any, high: float, expected: Any) -> None:
    assert verdict(low, high) == expected


def test_nothing_is_decided_on_fewer_than_nine_pairs() -> None:
    before, after = [2.0] * 9, [1.0] * 9
    assert speed_up(before, after).verdict == FASTER and speed_up(after, before).verdict == SLOWER
    assert speed_up(before[:8], after[:8]).verdict == UNSURE
    assert speed_up(before[:8], after[:8]).value == 2.0


def test_pairs_are_free_of_the_machines_drift() -> None:
    drift = [1.0, 3.0, 10.0, 2.0, 5.0, 1.0, 7.0, 1.0, 2.0]
    found = speed_up([1.10 * d for d in drift], drift)
    assert found.value == pytest.approx(1.10) and found.verdict == FASTER


def test_outputs_are_compared_over_the_largest() -> None:
    a = np.array([1.0, -4.0], dtype=np.float32)
    assert output_difference([a], [a + np.float32(0.5)]) == {"absolute": 0.5, "relative": 0.125}
    assert output_difference([a], [a[:1]]) == {"absolute": None, "relative": None}
    assert output_difference([a], [a * np.nan]) == {"absolute": None, "relative": None}
    assert output_difference([0 * a], [0 * a]) == {"absolute": 0.0, "relative": None}
    assert output_difference([a, a], [a, a + 1])["absolute"] == 1.0


@pytest.fixture
def net(tmp_path: Path) -> str:
    file = tmp_path / "own.py"
    file.write_text(NET_FILE)
    return f"{file}:tiny"


@pytest.mark.slow
def test_a_sitting_times_variants_in_turns(net: str) -> None:
    point = Point(net, 4, input_size=(3, 8, 8), threads=1)
    others = [variant(name) for name in ("mm", "bf16", "no-cudnn")]
    found = compare(point, variant("stock"), others, Sitting(9, 60.0, True, {}))
    assert found["status"] == "ok"
    results = found["results"]
    assert list(results) == ["stock", "mm", "bf16", "no-cudnn"]
    assert results["no-cudnn"]["status"] == "unsupported"
    for name in ("stock", "mm", "bf16"):
        assert len(results[name]["samples_ms"]) == 9
        assert results[name]["environment"]["torch"]["threads"] == 1
    assert results["mm"]["speed_up"]["pairs"] == 9 and "speed_up" not in results["stock"]
    assert results["mm"]["output_difference"]["relative"] < 1e-5
    assert 1e-5 < results["bf16"]["output_difference"]["relative"] < 0.1
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_variant_that_crashes_fails_alone(net: str) -> None:
    point = Point(net, 4, input_size=(3, 8, 8), threads=1)
    # Without its standard library Python does not start.
    broken = variant("stock+PYTHONHOME=/nowhere")
    found = compare(point, variant("stock"), [broken, variant("no-onednn")], Sitting(2, 60.0, True, {}))
    assert found["status"] == "failed" and found["reason"].startswith("stock+PYTHONHOME=/nowhere: ")
    assert "exit code 1" in found["reason"]
    assert found["results"]["no-onednn"]["speed_up"]["verdict"] == UNSURE  # two pairs


def test_the_command_as_typed_and_once_more(net: str, tmp_path: Path) -> None:
    points, table = tmp_path / "b.jsonl", tmp_path / "b.md"
    arguments = ["--nets", net, "--input-size", "3x8x8", "--batch-size", "8"]
    arguments += ["--pairs", "2", "--threads", "1", "--points", str(points), "--md", str(table)]
    done = run_python("-m", "convnet_benchmarks", "backends", *arguments)
    assert done.returncode == 0, done.stderr
    assert "stock against no-onednn" in done.stdout
    assert "latency batch 1, no-onednn [ms]" in done.stdout and "throughput batch 8, stock" in done.stdout
    assert done.stdout.count("UNSURE") == 4 and "busy cores" in done.stdout
    records = read_points(str(points))
    assert [(r["kind"], r["point"]["batch_size"]) for r in records] == [
        ("latency comparison", 1),
        ("throughput comparison", 8),
    ]
    again = run_python("-m", "convnet_benchmarks", "backends", *arguments)
    assert again.stdout == done.stdout and again.stderr == ""
    assert len(read_points(str(points))) == 2
    assert table.read_text().count("**") == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nets", "vgg_z"], "option --nets: unknown net 'vgg_z'"),
        (
            ["--nets", "vgg_a", "--without", "stock"],
            "option --with: 'stock' is the reference (--without) already",
        ),
        (["--nets", "vgg_a", "--device", "tpu"], "option --device: device 'tpu': accepted: cpu, cuda"),
        (["--nets", "vgg_a", "--pairs", "0"], "'0' is not a whole number from 1 up"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        backends.main(arguments, "backends")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_statistics_make_the_output_depend_on_the_input() -> None:
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4))]
    net = nn.Sequential(*layers, nn.Dropout()).eval()
    for layer in layers[::2]:
        nn.init.uniform_(layer.weight, -0.01, 0.01)
        nn.init.zeros_(layer.get_parameter("bias"))
    x = torch.randn(4, 4, 8, 8)
    assert net(x).std() < 1e-6
    state = torch.get_rng_state()
    set_running_statistics(net, x)
    assert torch.equal(torch.get_rng_state(), state)
    assert 0.5 < net(x).std() < 2.0
    assert not net.training and layers[0].weight.dtype == torch.float32 and layers[1].momentum == 0.1


@pytest.mark.gpu
def test_libraries_on_and_off_on_a_gpu() -> None:
    point = Point(sized("googlenet", "recognize_digits"), 8, "cuda")
    others = [variant(name) for name in ("stock", "tf32", "stock:float16", "channels-last")]
    found = compare(point, variant("no-cudnn"), others, Sitting(sized(9, 2), 60.0, False, {}))
    assert found["status"] == "ok", found["reason"]
    assert found["results"]["stock"]["output_difference"]["relative"] < 1e-3


def test_the_published_numbers_stand_in_our_layout() -> None:
    from convnet_benchmarks.commands.backends.published import NETS, published_table

    table = published_table(["vgg16", "inceptionv4", "alexnet_owt"])
    assert [row[1] for row in table.rows] == ["inceptionv4", "vgg16"]
    assert table.rows[1] == [
        *("CNN/classification", "vgg16", 406.5, 20.07),
        pytest.approx(20.25, abs=0.01),
        *(128, 2.91, 70.84),
        pytest.approx(24.34, abs=0.01),
    ]
    assert len(published_table(list(NETS.values())).rows) == len(NETS)
    nothing = published_table(["recognize_digits"])
    assert not nothing.rows and "none for these nets" in nothing.notes[0] and "vgg16" in nothing.notes[0]
    assert set(NETS.values()) <= set(registry.NETS)


def test_what_passes_take_beside_time_is_shown() -> None:
    record = made_results.comparison("alexnet", 4)
    conditions = {"throttled_passes": 0, "busy_cores": 0.5, "joules_per_pass": 8.0}
    record["results"]["stock"]["conditions"] = conditions
    record["results"]["no-onednn"]["conditions"] = {**conditions, "throttled_passes": 3}
    table = details_table([record])
    titles = [column.title for column in table.columns]
    busy, energy = titles.index("busy cores"), titles.index("energy [J]")
    assert [(row[busy], row[energy]) for row in table.rows] == [(0.5, 2.0)] * 2
    assert table.notes == ["alexnet, batch 4, no-onednn: throttled: the clock fell meanwhile"]
    assert all(len(row) == len(titles) for row in table.rows)


@pytest.mark.slow
def test_comparisons_are_measurements(net: str) -> None:
    from convnet_benchmarks.results.from_points import of_point

    point = Point(net, 4, input_size=(3, 8, 8), threads=1)
    record = {
        "kind": backends.THROUGHPUT,
        "machine": {"device": "a CPU", "torch": "2.4"},
        "point": point.as_dict(),
        **compare(point, variant("stock"), [variant("mm"), variant("tf32")], Sitting(2, 60.0, False, {})),
    }
    found = of_point(record)
    stock, mm = (f"{name}, float32, 1 thread, 3x8x8" for name in ("stock", "mm"))
    kinds = [(m.quantity, m.software) for m in found]
    assert kinds == [("throughput", stock), ("throughput", mm), ("speed-up", mm)]
    assert all(m.low <= m.value <= m.high and m.batch == 4 for m in found)

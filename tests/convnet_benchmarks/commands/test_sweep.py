"""The sweep: what it measures, what it leaves alone when it continues, the largest batch."""

import contextlib
import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from convnet_benchmarks.commands import sweep
from convnet_benchmarks.commands.sweep import run as sweep_run
from convnet_benchmarks.commands.sweep.largest_batch import TOLERANCE, find_largest_batch, search
from convnet_benchmarks.commands.sweep.per_net import describe_nets
from convnet_benchmarks.commands.sweep.tables import sweep_tables
from convnet_benchmarks.errors import UserError
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.points import measure as point_measurement
from convnet_benchmarks.points.file import read_points
from convnet_benchmarks.points.point import Point
from convnet_benchmarks.points.under_load import measure_scenario
from convnet_benchmarks.timing.loops import Settling
from tests.helpers import made_results
from tests.helpers.commands import run_python, started_python
from tests.helpers.gpu import sized

# A net of one's own, so that a process has its figures in no time.
NET_FILE = """
from torch import nn

def tiny():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 5))
"""


def command(folder: Path, *arguments: str) -> tuple[str, ...]:
    """A sweep of a net of one's own, as Python's arguments."""
    file = folder / "own.py"
    file.write_text(NET_FILE)
    net = ("--nets", f"{file}:tiny", "--input-size", "3x8x8", "--threads", "1", "--seconds", "0.05")
    return ("-m", "convnet_benchmarks", "sweep", *net, *arguments)


def tiny() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 5))


class Here:
    """Runs a sweep of a tiny net in this process; ``measured`` are the points that were measured."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.measured: list[Point] = []
        self.results: dict[int, Any] = {}

    def __call__(self, *arguments: str) -> int:
        self.measured = []
        given = ("--nets", "tiny", "--seconds", "0.01", "--threads", "1", "--points", str(self.path))
        return sweep.main([*given, *arguments], "sweep")

    def measure(
        self, point: Point, settling: Settling | None = None, scenario: Any = None, **limits: Any
    ) -> dict[str, Any]:
        self.measured.append(point)
        if scenario:
            return measure_scenario(point, scenario)
        if point.batch_size in self.results:
            outcome = self.results[point.batch_size]
            if isinstance(outcome, BaseException):
                raise outcome
            return {"point": point.as_dict(), "time": "", "seconds": 0.0, **outcome}
        return point_measurement.measure(point, settling)

    @property
    def batches(self) -> list[int]:
        return [point.batch_size for point in self.measured]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    found = Here(tmp_path / "p.jsonl")
    net = Net("tiny", tiny, (3, 8, 8), "this test")
    monkeypatch.setitem(registry.NETS, "tiny", net)
    monkeypatch.setattr(sweep_run, "measure_apart", found.measure)
    return found


def test_every_combination_is_measured_once_and_shown(
    here: Here, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    lists = ("--batch-sizes", "2,1", "--backends", "stock,mm,no-cudnn", "--modes", "inference,training")
    assert here(*lists, "--dtypes", "float32,float64", "--json", str(path)) == 0
    assert len(here.measured) == 2 * 2 * 2 * 2  # no-cudnn is known not to run on a CPU
    output = capsys.readouterr().out
    assert output.startswith("Throughput in images/s against batch size: cpu\nnet   dtype")
    assert "updateGradInput [ms]" in output and "unsupported: backend no-cudnn is for cuda" in output
    records = json.loads(path.read_text())["points"]
    assert len(records) == 3 * 2 * 2 * 2
    assert [r["point"]["batch_size"] for r in records[:2]] == [1, 2]
    assert {r["status"] for r in records} == {"ok", "unsupported"}
    assert len(read_points(str(here.path))) == len(records)


def test_the_same_command_continues_and_fresh_begins_again(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here("--batch-sizes", "1,2") == 0
    before = capsys.readouterr().out
    assert here("--batch-sizes", "1,2") == 0 and here.batches == []
    after = capsys.readouterr()
    assert after.out == before and "2 of 2 points are in" in after.err
    assert here("--batch-sizes", "1,2,4") == 0 and here.batches == [4]
    assert here("--batch-sizes", "1,2", "--seed", "2") == 0 and here.batches == [1, 2]
    assert here("--batch-sizes", "1,2", "--fresh") == 0 and here.batches == [1, 2]
    assert len(read_points(str(here.path))) == 2


def test_a_failed_point_is_tried_again_and_others_go_on(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    here.results = {2: {"status": "failed", "reason": "the device is on fire"}}
    assert here("--batch-sizes", "1,2,4") == 1 and here.batches == [1, 2, 4]
    assert "failed: tiny, batch 2, cpu, float32, stock: the device is on fire" in capsys.readouterr().err
    here.results = {}
    assert here("--batch-sizes", "1,2,4") == 0 and here.batches == [2]


def test_what_is_larger_than_too_large_is_not_tried(here: Here) -> None:
    here.results = {2: {"status": "out of memory", "reason": "full"}}
    assert here("--batch-sizes", "1,2,4,8") == 0 and here.batches == [1, 2]
    *_, last = read_points(str(here.path))
    assert (last["status"], last["reason"]) == ("out of memory", "batch 2 was out of memory already")
    # A known budget that is another one may give another answer; the same one cannot.
    assert here("--batch-sizes", "1,2,4", "--memory-budget", "1GiB") == 0 and here.batches == [2]
    assert here("--batch-sizes", "1,2,4", "--memory-budget", "1GiB") == 0 and here.batches == []
    here.results = {}
    assert here("--batch-sizes", "1,2,4", "--memory-budget", "2GiB") == 0 and here.batches == [2, 4]


def test_ctrl_c_keeps_and_shows_what_there_is(
    here: Here, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    here.results = {4: KeyboardInterrupt()}
    path = tmp_path / "r.csv"
    with pytest.raises(KeyboardInterrupt):
        here("--batch-sizes", "1,2,4,8", "--csv", str(path))
    shown = capsys.readouterr()
    assert "batch 1  batch 2\n" in shown.out and "2 of 4 points are in" in shown.err
    assert "batch_1,batch_2\n" in path.read_text()
    here.results = {}
    assert here("--batch-sizes", "1,2,4,8") == 0 and here.batches == [4, 8]


def test_ctrl_c_before_the_first_point_keeps_older_files(here: Here, tmp_path: Path) -> None:
    here.results = {1: KeyboardInterrupt()}
    path = tmp_path / "r.csv"
    path.write_text("older")
    with pytest.raises(KeyboardInterrupt):
        here("--batch-sizes", "1", "--csv", str(path))
    assert path.read_text() == "older" and not here.path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nets", "vgg_z"], "option --nets: unknown net 'vgg_z'"),
        (
            ["--nets", "vgg_a", "--dtypes", "int3"],
            "option --dtypes: unknown number format 'int3'; accepted: float32",
        ),
        (
            ["--nets", "vgg_a", "--backends", "cuda"],
            "option --backends: unknown backend 'cuda'; accepted: stock",
        ),
        (["--nets", "vgg_a", "--modes", "dreaming"], "option --modes: unknown mode 'dreaming'"),
        (["--nets", "vgg_a", "--batch-sizes", "none"], "none needs --largest-batch"),
        (["--nets", "vgg_a", "--batch-sizes", "0"], "'0' is not a whole number from 1 up"),
        (["--nets", "vgg_a", "--memory-budget", "much"], "'much' is not an amount of memory"),
        (["--nets", "vgg_a", "--input-size", "224"], "an input of vgg_a is 3x224x224, not 224"),
        (["--nets", "vgg_a", "--input-size", "3x"], "'3x' is not a size such as 3x224x224"),
        (["--nets", "vgg_a", "--seconds", "nan"], "'nan' is not a number of seconds"),
        (["--nets", "vgg_a", "--cores", "9999"], "cores that this process may not use"),
        (["--nets", "vgg_a", "--cores", "0-99999999999"], "cores that this process may not use"),
        (["--nets", "vgg_a", "--memory-budget", "9" * 400 + "g"], "is not an amount of memory"),
        (["--nets", "vgg_a", "--threads", "99999999999"], "is not a whole number from 1 to 1024"),
        (["--nets", "vgg_a", "--seed", "4294967296"], "is not a whole number from 0 to 4294967295"),
        (
            ["--nets", "vgg_a", "--scenario", "sever"],
            "option --scenario: unknown scenario 'sever' (did you mean server?)",
        ),
        (
            ["--nets", "vgg_a", "--per-net", "--scenario", "offline"],
            "option --per-net: measures the throughput at one batch size; omit --scenario",
        ),
        (["--nets", "vgg_a", "--scenario", "server"], "server needs --latency-target MS"),
        (
            ["--nets", "vgg_a", "--scenario", "server", "--latency-target", "0"],
            "not a number of milliseconds",
        ),
        (["--nets", "vgg_a", "--latency-target", "9"], "is for --scenario server or single-stream"),
        (
            ["--nets", "vgg_a", "--scenario", "offline", "--modes", "training"],
            "accepted: --modes inference",
        ),
        (["--nets", "vgg_a", "--scenario", "offline", "--processes", "2"], "accepted: --processes 1"),
        (
            ["--nets", "vgg_a", "--points", "p.jsonl", "--json", "p.jsonl"],
            "is also the file of option --json",
        ),
        (["--nets", "vgg_a", "--devices", "tpu"], "option --devices: device 'tpu': accepted: cpu, cuda"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[Any] | list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        sweep.main(arguments, "sweep")
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 63, 64, 65, 100, 1000, 12345])
def test_the_search_ends_beside_the_limit(limit: int) -> None:
    asked = []

    def fits(batch: int) -> bool:
        asked.append(batch)
        return batch <= limit

    fitting, failing = search(fits)
    assert fitting <= limit < failing
    assert failing - fitting <= max(1, fitting * TOLERANCE)
    assert len(asked) == len(set(asked)) <= 26
    assert fitting == limit or limit > 64


def test_the_search_has_an_end_without_a_limit() -> None:
    assert search(lambda batch: True, most=100) == (100, None)


def test_the_largest_batch_on_a_cpu_is_within_its_budget() -> None:
    budget = 290 << 20
    point = Point("googlenet", input_size=(3, 193, 193), threads=1)
    found = find_largest_batch(point, budget)
    assert found["status"] == "ok"
    tried = {entry["batch_size"]: entry for entry in found["tried"]}
    largest, failing = found["largest_batch"], found["smallest_failing_batch"]
    assert failing == largest + 1
    assert tried[failing]["status"] == "out of memory"
    if largest:
        assert tried[largest]["status"] == "ok"
        assert found["peak_memory_bytes"] == tried[largest]["peak_memory_bytes"] <= budget


def test_a_search_that_fails_says_why() -> None:
    found = find_largest_batch(Point("googlenet", input_size=(3, 8, 8)), None)
    assert found["status"] == "failed" and found["largest_batch"] is None
    assert "RuntimeError" in found["reason"] or "UserError" in found["reason"]


def test_the_command_as_typed(tmp_path: Path) -> None:
    path = str(tmp_path / "p.jsonl")
    arguments = command(tmp_path, "--batch-sizes", "1", "--points", path)
    done = run_python(*arguments, "--largest-batch", "--memory-budget", "100MiB")
    assert done.returncode == 0, done.stderr
    assert "Largest batch size" in done.stdout and "tiny, batch 1, cpu" in done.stderr
    kinds = [record["kind"] for record in read_points(path)]
    assert kinds == ["point", "largest batch"]


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, 20])
def test_kills_at_any_moment_lose_no_finished_point(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "p.jsonl"
    lists = ("--batch-sizes", ",".join(map(str, range(1, kills + 2))), "--points", str(path))
    arguments = command(tmp_path, *lists)
    chance = random.Random(1)
    finished: list[bytes] = []
    for _ in range(kills):
        # From the start of Python to some points later.
        with contextlib.suppress(subprocess.TimeoutExpired):
            run_python(*arguments, fresh=True, timeout=chance.uniform(0.1, 4.0))
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]
        assert whole[: len(finished)] == finished
        finished = whole
    done = run_python(*arguments)
    assert done.returncode == 0, done.stderr
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines[: len(finished)] == finished
    records = read_points(str(path))
    assert [record["point"]["batch_size"] for record in records] == list(range(1, kills + 2))
    assert {record["status"] for record in records} == {"ok"}


def test_a_real_ctrl_c_ends_the_worker_and_keeps_the_points(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    arguments = command(tmp_path, "--points", str(path), "--batch-sizes", "1,2,3,4,5,6,7,8,9,10,11,12")
    with started_python(*arguments) as program:
        deadline = time.monotonic() + 300  # of a busy machine
        while (not path.exists() or path.read_bytes().count(b"\n") < 2) and time.monotonic() < deadline:
            time.sleep(0.02)
        program.send_signal(signal.SIGINT)
        done = program.finish()
    assert done.returncode == 130
    assert done.stdout.startswith("Throughput in images/s against batch size")
    assert "of 12 points are in" in done.stderr and "Traceback" not in done.stderr
    assert [record["status"] for record in read_points(str(path))][:2] == ["ok", "ok"]


@pytest.mark.gpu
def test_the_largest_batch_on_a_gpu_leaves_it_usable() -> None:
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1.0)
    net, size = sized(("googlenet", (3, 193, 193)), ("squeezenet1.1", (3, 64, 64)))
    found = find_largest_batch(Point(net, device="cuda", input_size=size), None)
    assert found["status"] == "ok" and found["largest_batch"] > 64
    assert found["smallest_failing_batch"] > found["largest_batch"]
    assert [entry["status"] for entry in found["tried"]].count("out of memory") > 0


def test_points_are_measured_in_turns_in_several_processes(here: Here) -> None:
    assert here("--batch-sizes", "1,2", "--processes", "2") == 0
    assert here.batches == [1, 2, 1, 2]
    last = {record["point"]["batch_size"]: record for record in read_points(str(here.path))}
    assert [len(record["processes"]) for record in last.values()] == [2, 2]
    assert here("--batch-sizes", "1,2", "--processes", "3") == 0  # only what is missing
    assert here.batches == [1, 2]
    assert here("--batch-sizes", "1,2") == 0 and here.batches == []


def test_loads_are_measured_for_each_target(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    load = ("--scenario", "server,offline,single-stream", "--batch-sizes", "2,1", "--latency-target")
    assert here(*load, "1e6") == 0 and here.batches == [1, 2, 1, 2, 1]
    shown = capsys.readouterr().out
    assert "within the target: cpu, float32, stock, inference, within 1e+06 ms\n" in shown
    assert "Throughput with all samples at once" in shown and "Latency of one query at a time" in shown
    assert here(*load, "1e6") == 0 and here.batches == []
    assert here(*load, "2e6") == 0 and here.batches == [1, 2, 1]  # offline has no target
    kinds = [record["kind"] for record in read_points(str(here.path))]
    assert kinds == [
        "server",
        "server",
        "offline",
        "offline",
        "single-stream",
        "server",
        "server",
        "single-stream",
    ]


def test_a_row_for_each_net_with_half_the_batch_where_memory_is_short(
    here: Here, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    here.results = {16: {"status": "out of memory", "reason": "full"}}
    path = tmp_path / "r.json"
    command = ("--per-net", "--batch-sizes", "4,16", "--json", str(path))
    assert here(*command) == 0 and here.batches == [16, 16, 8, 8]
    shown = capsys.readouterr()
    assert "tiny, batch 16, cpu, float32, stock, training: out of memory; batch 8 is tried" in shown.err
    (row,) = json.loads(path.read_text())["tables"][0]["rows"]
    assert (row["parameters_m"], row["input"]) == ((3 * 8 * 9 + 8 + 8 * 36 * 5 + 5) / 1e6, "3x8x8")
    products, outputs = 8 * 36 * 27 + 8 * 36 * 5, 8 * 36 + 5
    assert (row["multiply_adds_g"], row["activations_m"]) == (products / 1e9, outputs / 1e6)
    assert row["inference_batch_size"] == row["training_batch_size"] == 8
    assert row["inference_samples_per_second"] > 0 and row["training_samples_per_second"] > 0
    assert here(*command) == 0 and here.batches == []


def test_a_row_per_net_takes_the_place_of_no_other_table() -> None:
    """A search may be known already when the first point is interrupted."""
    search = made_results.search("vgg16", 12) | {"memory_budget_bytes": 2**30, "tried": []}
    nets = {"vgg16": {"input": "3x224x224", "parameters": 1, "multiply_adds": 1, "activations": 1}}
    assert [table.title for table in sweep_tables([search], nets)] == ["Largest batch size"]
    point = made_results.point("vgg16", 4, 10.0) | {
        "environment": {"torch": {"threads": 1}},
        "ran": {},
    }
    titles = [table.title for table in sweep_tables([point, search], nets)]
    assert titles == ["Nets", "Latency of a pass, and memory", "Largest batch size"]


def test_a_batch_of_one_that_is_out_of_memory_is_the_end(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    here.results = {batch: {"status": "out of memory", "reason": "full"} for batch in (1, 2)}
    assert here("--per-net", "--batch-sizes", "2", "--modes", "inference") == 0 and here.batches == [2, 1]
    assert "out of memory: full" in capsys.readouterr().out


def test_a_net_is_as_large_as_timm_says() -> None:
    """Its table of results has 138.36 M parameters, 15.47 GMACs and 13.56 M activations for vgg16."""
    found = describe_nets(["vgg16"], None)["vgg16"]
    assert found == {
        "input": "3x224x224",
        "parameters": 138_357_544,
        "multiply_adds": 15_470_264_320,
        "activations": 13_556_712,
    }

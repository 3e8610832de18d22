"""The autotuner: what it picks, and a file that may be damaged, deleted or written by two processes."""

import json
import multiprocessing
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from convnet_benchmarks.nets.engine import compile
from convnet_benchmarks.nets.engine.choice.effort import QUICK, THOROUGH
from convnet_benchmarks.nets.engine.choice.experience import Features
from convnet_benchmarks.nets.engine.choice.selection import Trial
from convnet_benchmarks.nets.engine.choice.times_file import VERSION, cache_file
from convnet_benchmarks.nets.engine.choice.tuning import Question, Tuner, machine_key
from convnet_benchmarks.nets.engine.kernels.bilinear import BilinearConvolution
from convnet_benchmarks.nets.engine.kernels.winograd import winograd
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.phases import FORWARD, INPUT_GRADIENT


@dataclass
class Clock:
    """Seconds that pass where candidates run: what a candidate takes is then the same on any machine."""

    wall: float = 0.0
    cpu: float = 0.0

    def compute(self, seconds: float) -> None:
        self.wall += seconds
        self.cpu += seconds


CLOCK = Clock()


def busy(
    milliseconds: float, runs: list[str] | None = None, name: str = ""
) -> Callable[[], Callable[[], None]]:
    def run() -> None:
        CLOCK.compute(milliseconds / 1e3)
        if runs is not None:
            runs.append(name)

    return lambda: run


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuner's time is ``CLOCK``'s, of one thread (conftest brings the threads back)."""
    torch.set_num_threads(1)
    wall, cpu = (lambda: CLOCK.wall), (lambda: CLOCK.cpu)
    clocks = SimpleNamespace(monotonic=wall, perf_counter=wall, thread_time=cpu)
    monkeypatch.setattr("convnet_benchmarks.nets.engine.choice.tuning.time", clocks)


def never() -> Callable[[], None]:
    raise AssertionError("timed again although the file knows")


def test_the_fastest_is_chosen_and_remembered(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "tuning.json"
    tuner = Tuner(path)
    assert tuner.choose("layer", {"slow": busy(20), "fast": busy(1)}).name == "fast"
    tuner.save()
    assert Tuner(path).choose("layer", {"slow": never, "fast": never}).name == "fast"
    assert [child.name for child in path.parent.iterdir() if child.suffix == ".json"] == ["tuning.json"]


def test_a_slow_candidate_is_tried_once_more_than_prepared() -> None:
    runs: list[str] = []
    # The plainest comes first, and is timed last.
    Tuner(None).choose("layer", {"slow": busy(30, runs, "slow"), "fast": busy(1, runs, "fast")})
    assert runs.count("slow") == 2


def test_the_least_cost_decides_not_the_time_alone(tmp_path: Path) -> None:
    content = {"layer": {"fast": 10.0, "near": 10.9}}
    path = tmp_path / "tuning.json"
    path.write_text(json.dumps({"version": VERSION, "machines": {machine_key(): content}}))
    candidates = {"fast": never, "near": never}
    assert Tuner(path).choose("layer", candidates).name == "fast"
    assert Tuner(path).choose("layer", candidates, cost=lambda name, ms: ms + (name == "fast")).name == "near"


def test_without_time_the_likely_candidate_is_taken() -> None:
    candidates = {"plain": never, "likely": never}
    tuner = Tuner(None, seconds=0.0)
    assert tuner.choose("layer", candidates).name == "plain"
    assert tuner.choose("layer", candidates, otherwise="likely").name == "likely"


def test_the_time_ends_between_the_runs_of_a_candidate_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []
    monkeypatch.setattr(
        "convnet_benchmarks.nets.engine.choice.tuning._past", lambda until: len(runs) >= until
    )
    names = ("plain", "likely", "fast")
    candidates = {name: busy(1 if name == "fast" else 3, runs, name) for name in names}
    tuner = Tuner(tmp_path / "tuning.json", QUICK)
    tuner.until = 5  # runs: each candidate is run once to prepare it, and then timed once
    assert tuner.choose("layer", candidates, otherwise="likely").name == "likely"
    assert runs == ["fast", "fast", "likely", "likely", "plain"]
    assert not tuner.knows("layer", names)
    tuner.until = 11
    assert tuner.choose("layer", candidates, otherwise="likely").name == "fast"


def test_similar_shapes_decide_for_those_that_there_was_no_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"a": 4.0, "b": 4.4}
    tuner = Tuner(None, QUICK)
    ask(tuner, "first", SHAPE, times)
    runs: list[str] = []
    monkeypatch.setattr(
        "convnet_benchmarks.nets.engine.choice.tuning._past", lambda until: len(runs) >= until
    )
    tuner.until = 2
    quick = Question("second, quick", candidates({"a": 8.0, "b": 8.8}, runs))
    assert tuner.choose("second", candidates(times, []), quick=quick, features=SIMILAR).name == "a"
    assert runs == ["b", "b"]


def test_a_slow_moment_of_the_machine_does_not_decide() -> None:
    """Who comes near the best one is timed again later: its first runs may have met a slow moment."""
    moment = iter([14] * 5 + [8] * 100)  # ms of the first runs: preparing and four timed ones
    picked = (
        Tuner(None)
        .choose("layer", {"steady": busy(10), "unlucky": lambda: lambda: busy(next(moment))()()})
        .name
    )
    assert picked == "unlucky"


def test_a_trial_transforms_the_weight_once() -> None:
    """A kept copy is what a layer has on all its runs but the first: so must a timed run."""
    # Buffers of two and more MB lie side by side, where they are not kept apart.
    shape = ConvolutionShape(1, 256, 256, (46, 46), (3, 3), (1, 1), (1, 1), torch.float32)
    transformed: list[str] = []

    class Counting(BilinearConvolution):
        def _transform_weight(self, weight: Tensor, out: Tensor | None) -> Tensor:
            transformed.append(phase)
            return super()._transform_weight(weight, out)

    trial = Trial(((1, 46, 46, 256), (1, 46, 46, 256), (256, 256, 3, 3)), torch.float32)
    for phase in (FORWARD, INPUT_GRADIENT):
        run = trial.prepare(phase, lambda memory: Counting(shape, memory, winograd(3, 3)))
        for _ in range(3):
            run()
    assert transformed == [FORWARD, INPUT_GRADIENT]


@pytest.mark.parametrize(
    ("layers", "timed"),
    [((True, True), [", bias, ReLU"]), ((False, True), [", ReLU"]), ((False, False), [""])],
)
def test_a_forward_pass_is_timed_with_what_the_layer_does(
    layers: tuple[bool, bool], timed: list[str], tmp_path: Path
) -> None:
    """A library that has to add the bias and apply the ReLU by themselves is slower than it seems."""
    bias, relu = layers
    module = nn.Sequential(nn.Conv2d(8, 8, 1, bias=bias), nn.ReLU() if relu else nn.Identity())
    path = tmp_path / "tuning.json"
    compile(module, (2, 8, 9, 9), tuning_file=path).close()
    found = {
        key.partition(FORWARD)[2]
        for key in re.findall(r'"([^"]*batch[^"]*)"', path.read_text())
        if FORWARD in key
    }
    assert sorted(found) == timed


def test_a_new_candidate_is_timed_though_the_others_are_known(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    tuner = Tuner(path)
    tuner.choose("layer", {"a": busy(5), "b": busy(9)})
    tuner.save()
    assert Tuner(path).choose("layer", {"a": busy(5), "b": busy(9), "c": busy(1)}).name == "c"


def test_a_known_time_of_another_candidate_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    tuner = Tuner(path)
    tuner.choose("layer", {"a": busy(1), "b": busy(5), "c": busy(9)})
    tuner.save()
    assert Tuner(path).choose("layer", {"b": never, "c": never}).name == "b"


def test_a_single_candidate_is_not_timed() -> None:
    assert Tuner(None).choose("layer", {"only": never}).name == "only"


def test_a_candidate_without_memory_is_out() -> None:
    def too_large() -> Callable[[], None]:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    assert Tuner(None).choose("layer", {"large": too_large, "small": busy(1)}).name == "small"


def test_other_errors_are_not_swallowed() -> None:
    def wrong() -> Callable[[], None]:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        Tuner(None).choose("layer", {"wrong": wrong, "small": busy(1)})


@pytest.fixture
def busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads, and other programs that always wait for a core."""
    waited = iter(range(10**6))
    monkeypatch.setattr(
        "convnet_benchmarks.nets.engine.choice.tuning._seconds_waited", lambda: float(next(waited))
    )
    torch.set_num_threads(2)


def test_on_a_busy_machine_one_threads_cpu_time_decides(busy_machine: None) -> None:
    """Waiting, as for a core that another program holds, does not count; the thread count comes back."""
    threads: list[int] = []

    def waits() -> None:
        threads.append(torch.get_num_threads())
        CLOCK.wall += 0.02

    assert Tuner(None).choose("layer", {"waits": lambda: waits, "computes": busy(4)}).name == "waits"
    assert set(threads) == {1}  # "computes" was disturbed first, and that was enough
    assert torch.get_num_threads() == 2


def test_times_of_a_busy_machine_serve_until_it_is_quiet(
    tmp_path: Path, busy_machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []
    candidates = {"b": busy(5, runs, "b"), "a": busy(1, runs, "a")}
    path = tmp_path / "tuning.json"
    for _ in range(2):
        tuner = Tuner(path)
        assert tuner.choose("layer", candidates).name == "a"
        tuner.save()
    assert runs.count("b") == 2  # by the first tuner; the second found the machine busy with "a"
    monkeypatch.setattr("convnet_benchmarks.nets.engine.choice.tuning._seconds_waited", lambda: 0.0)
    tuner = Tuner(path)
    assert tuner.choose("layer", {"a": busy(5), "b": busy(1)}).name == "b"
    tuner.save()
    assert Tuner(path).choose("layer", {"a": never, "b": never}).name == "b"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "\x00\xff",
        json.dumps({"version": VERSION + 1, "machines": {}}),
        json.dumps({"version": VERSION, "machines": {machine_key(): {"layer": {"fast": "soon"}}}}),
        json.dumps({"version": VERSION, "machines": {machine_key(): {"layer": 3}}}),
        json.dumps({"version": VERSION}),
        "[" * 100_000,
        f'{{"version": {VERSION}, "machines": ' + '{"a":' * 100_000,
        json.dumps({"version": VERSION, "machines": {}}) + " " * (65 << 20),
        *(
            json.dumps(
                {"version": VERSION, "machines": {machine_key(): {"layer": {"fast": 1, "slow": "?"}}}}
            ).replace('"?"', odd)
            for odd in ("NaN", "-1", "-Infinity", "true", "null", "1" + "0" * 400, "1" + "0" * 5000)
        ),
    ],
    ids=range(18),  # as text, some would be megabytes
)
def test_a_damaged_or_foreign_file_is_as_good_as_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(content)
    tuner = Tuner(path)
    assert tuner.choose("layer", {"slow": busy(20), "fast": busy(1)}).name == "fast"
    tuner.save()
    assert Tuner(path).choose("layer", {"slow": never, "fast": never}).name == "fast"


def test_special_files_are_neither_waited_for_nor_written_through(tmp_path: Path) -> None:
    for kind in ("json", "lock"):
        folder = tmp_path / kind
        folder.mkdir()
        os.mkfifo(folder / f"tuning.{kind}")
        tuner = Tuner(folder / "tuning.json")
        assert tuner.choose("layer", {"slow": busy(9), "fast": busy(1)}).name == "fast"
        tuner.save()
        assert Tuner(folder / "tuning.json").choose("layer", {"slow": never, "fast": never}).name == "fast"
    precious = tmp_path / "precious"
    precious.write_text("text")
    (tmp_path / "tuning.lock").symlink_to(precious)
    tuner = Tuner(tmp_path / "tuning.json")
    tuner.choose("layer", {"slow": busy(9), "fast": busy(1)})
    tuner.save()
    assert precious.read_text() == "text"


def test_an_unwritable_place_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    tuner = Tuner(tmp_path / "file" / "tuning.json")
    assert tuner.choose("layer", {"slow": busy(9), "fast": busy(1)}).name == "fast"
    tuner.save()


def test_the_file_may_be_deleted_between(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    tuner = Tuner(path)
    tuner.choose("a", {"slow": busy(9), "fast": busy(1)})
    tuner.save()
    path.unlink()
    tuner.choose("b", {"slow": busy(9), "fast": busy(1)})
    tuner.save()
    assert Tuner(path).choose("b", {"slow": never, "fast": never}).name == "fast"


def _tune(path: Path, key: str) -> None:
    torch.set_num_threads(1)  # as the process that looks at the file
    for index in range(20):
        tuner = Tuner(path)
        tuner.choose(f"{key} {index}", {"slow": busy(0.5), "fast": busy(0.01)})
        tuner.save()


def test_two_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_tune, args=(path, key)) for key in ("a", "b")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    known = json.loads(path.read_text())["machines"][machine_key()]
    assert set(known) == {f"{key} {index}" for key in "ab" for index in range(20)}


def test_picks_hold_for_one_thread_count_only() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = machine_key()
        torch.set_num_threads(2)
        assert machine_key() != one
    finally:
        torch.set_num_threads(before)


def test_the_cache_folder_follows_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_file() == Path("/somewhere/convnet-benchmarks/engine-tuning.json")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_file() == Path("/home/someone/.cache/convnet-benchmarks/engine-tuning.json")


SHAPE = Features("3x3", (6.0, 6.0, 10.0))
SIMILAR = Features("3x3", (7.0, 6.0, 10.0))
OTHER = Features("5x5", (6.0, 6.0, 10.0))


def candidates(times: dict[str, float], runs: list[str]) -> dict[str, Callable[[], Callable[[], None]]]:
    return {name: busy(ms, runs, name) for name, ms in times.items()}


def ask(
    tuner: Tuner, key: str, features: Features, times: dict[str, float]
) -> tuple[str, dict[str, int], dict[str, int]]:
    """Returns what the tuner chooses, and how often it ran each candidate on all the work and on less."""
    whole: list[str] = []
    less: list[str] = []
    quick = Question(key + ", quick", candidates({name: ms / 4 for name, ms in times.items()}, less))
    chosen = tuner.choose(key, candidates(times, whole), quick=quick, features=features).name
    return chosen, dict(Counter(whole)), dict(Counter(less))


def test_a_quick_choice_runs_less_work_less_often() -> None:
    times = {"a": 12.0, "b": 4.0}
    _, whole, less = ask(Tuner(None, QUICK), "layer", SHAPE, times)
    assert not whole and less == {"a": 2, "b": 2}  # each prepared and timed once
    chosen, whole, less = ask(Tuner(None, THOROUGH), "layer", SHAPE, times)
    assert chosen == "b" and not less and whole["b"] > 2


def test_what_was_slow_on_a_similar_shape_is_not_timed_again() -> None:
    times = {"slow": 40.0, "good": 4.2, "better": 4.0}
    tuner = Tuner(None, QUICK)
    ask(tuner, "first", SHAPE, times)
    chosen, _, less = ask(tuner, "second", SIMILAR, times)
    assert chosen == "better" and set(less) == {"good", "better"}
    _, _, less = ask(tuner, "third", OTHER, times)
    assert set(less) == set(times)


def test_later_processes_refine_a_quick_choice(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    tuner = Tuner(path, QUICK)
    ask(tuner, "layer", SHAPE, {"a": 6.0, "b": 4.0, "far": 100.0})
    tuner.save()
    # On all the work a is the faster one.
    again = Tuner(path, QUICK)
    chosen, whole, less = ask(again, "layer", SHAPE, {"a": 3.0, "b": 6.0, "far": 100.0})
    again.save()
    assert chosen == "a" and set(whole) == {"a", "b"} and not less
    chosen, whole, less = ask(Tuner(path, THOROUGH), "layer", SHAPE, {"a": 1.0, "b": 1.0, "far": 1.0})
    assert chosen == "a" and not whole and not less


def test_a_plan_is_met_again_by_later_processes(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    tuner = Tuner(path, QUICK)
    assert not tuner.met("plan a") and not tuner.met("plan a")
    tuner.save()
    assert Tuner(path, QUICK).met("plan a") and not Tuner(path, QUICK).met("plan b")


def test_what_has_decided_is_told(tmp_path: Path) -> None:
    times = {"plain": 8.0, "fast": 2.0}

    def decided(tuner: Tuner, features: Features = SHAPE, key: str = "layer") -> str:
        quick = Question(key + ", quick", candidates(times, []))
        return tuner.choose(key, candidates(times, []), quick, features).by

    path = tmp_path / "tuning.json"
    tuner = Tuner(path, QUICK)
    assert tuner.choose("one", candidates({"only": 1.0}, [])).by == "no choice"
    assert decided(tuner) == "timed quickly"
    tuner.until = CLOCK.wall
    assert decided(tuner, SIMILAR, "similar") == "similar shape"
    assert decided(tuner, OTHER, "other") == "rule"
    tuner.save()
    assert decided(Tuner(path, QUICK, seconds=0)) == "timed quickly"
    assert decided(Tuner(path, QUICK)) == "timed"


def test_without_time_similar_shapes_decide_then_the_plainest() -> None:
    times = {"plain": 8.0, "fast": 2.0}
    tuner = Tuner(None, QUICK)
    assert ask(tuner, "first", SHAPE, times)[0] == "fast"
    tuner.until = CLOCK.wall
    assert ask(tuner, "second", SIMILAR, times) == ("fast", {}, {})
    assert ask(tuner, "third", OTHER, times) == ("plain", {}, {})
    assert ask(tuner, "far", Features("3x3", (3.0, 3.0, 14.0)), times) == ("plain", {}, {})
    assert tuner.choose("fourth", candidates(times, [])).name == "plain"


def test_the_caller_is_told_before_something_is_timed(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    for expected in (1, 0):
        told: list[None] = []
        tuner = Tuner(path, told=lambda told=told: told.append(None))  # type: ignore[misc]
        tuner.choose("layer", {"slow": busy(4), "fast": busy(1)})
        tuner.save()
        assert len(told) == expected

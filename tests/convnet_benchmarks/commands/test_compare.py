"""compare: what is matched, the verdicts, and the command as a person types it."""

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convnet_benchmarks.commands.compare import comparison_table
from convnet_benchmarks.commands.compare.rows import compare
from convnet_benchmarks.results.load import load_all
from convnet_benchmarks.results.measurement import Measurement
from convnet_benchmarks.results.ratio import DIFFERS, EQUAL, ratio
from convnet_benchmarks.timing.several_processes import TOO_FEW_PROCESSES
from convnet_benchmarks.timing.statistics import FEWEST_FOR_A_VERDICT
from convnet_benchmarks.timing.verdicts import FASTER, OLD_IS_FASTER, OLD_IS_SLOWER, SAME, SLOWER, UNSURE
from tests.helpers import made_results
from tests.helpers.commands import run_python
from tests.helpers.places import GOLDEN, ROOT

COMMAND = ("-m", "convnet_benchmarks", "compare")
TIME = Measurement("time", "ms per sample", 10.0, "alexnet", 1, "forward", samples=20, low=9.95, high=10.05)
SPEED = Measurement("throughput", "images/s", 100.0, "alexnet", 1, samples=20, low=99.5, high=100.5)


def scaled(one: Measurement, factor: float) -> Measurement:
    return replace(one, value=one.value * factor, low=one.low * factor, high=one.high * factor)


@pytest.mark.parametrize(
    ("factor", "of_time", "of_speed"),
    [
        (1.0, SAME, SAME),
        (1.005, SAME, SAME),
        (0.5, FASTER, SLOWER),
        (1.5, SLOWER, FASTER),
    ],
)
def test_verdicts(factor: float, of_time: Any, of_speed: Any) -> None:
    assert ratio(TIME, scaled(TIME, factor), margin=0.02).verdict == of_time
    assert ratio(SPEED, scaled(SPEED, factor), margin=0.02).verdict == of_speed


def test_intervals_that_overlap_are_unsure() -> None:
    noisy = replace(TIME, low=9.0, high=11.0)
    found = ratio(noisy, scaled(noisy, 1.1))
    assert found.verdict == UNSURE and found.low < 1 < found.high and "overlap" in found.reason
    assert ratio(noisy, noisy).verdict == UNSURE


def test_the_ratio_of_speeds_is_how_many_times_as_fast() -> None:
    assert ratio(TIME, scaled(TIME, 0.5)).value == pytest.approx(2)
    assert ratio(SPEED, scaled(SPEED, 2)).value == pytest.approx(2)


def test_fewer_than_nine_samples_decide_nothing() -> None:
    few = replace(scaled(TIME, 0.1), samples=FEWEST_FOR_A_VERDICT - 1)
    found = ratio(TIME, few)
    assert (
        found.verdict == UNSURE and found.value == pytest.approx(10) and "8 samples, 9 needed" in found.reason
    )
    assert ratio(TIME, replace(few, samples=FEWEST_FOR_A_VERDICT)).verdict == FASTER


def test_a_single_number_is_judged_by_the_other_ones_interval() -> None:
    log = Measurement("time", "ms per sample", 5.0, phase="forward")
    found = ratio(TIME, log)
    assert (found.verdict, found.value) == (OLD_IS_FASTER, 2.0) and found.low < 2 < found.high
    assert ratio(log, TIME).verdict == OLD_IS_FASTER
    assert ratio(TIME, replace(log, value=10.0)).verdict == SAME
    assert ratio(replace(TIME, low=5.0), replace(log, value=9.0)).verdict == UNSURE
    few = ratio(log, replace(TIME, samples=2))
    assert few.verdict == UNSURE and few.reason == "2 samples, 9 needed"
    old_speed = replace(SPEED, value=20.0, samples=0, low=None, high=None)
    found = ratio(old_speed, SPEED)
    assert (found.verdict, found.value) == (OLD_IS_SLOWER, 5.0) and found.low < 5 < found.high


def test_two_single_numbers_are_unsure_with_their_ratio() -> None:
    log = Measurement("time", "ms per sample", 5.0, phase="forward")
    found = ratio(log, replace(log, value=2.5))
    assert (found.verdict, found.value, found.low) == (UNSURE, 2.0, None)


def test_what_is_no_speed_is_equal_or_differs() -> None:
    memory = Measurement("memory", "MiB", 100.0)
    assert ratio(memory, memory).verdict == EQUAL
    found = ratio(memory, replace(memory, value=150.0))
    assert (found.verdict, found.value) == (DIFFERS, 1.5)


def test_units_that_differ_are_not_compared() -> None:
    found = ratio(TIME, replace(TIME, unit="ms per batch"))
    assert found.verdict == UNSURE and found.value is None and "ms per batch" in found.reason


@pytest.mark.parametrize("one", [TIME, SPEED])
def test_the_slower_one_must_not_be_noisy(one: Measurement) -> None:
    """What disturbs a measurement makes it slower, so that a noisy one may still be called faster."""
    slow = scaled(one, 2 if one is TIME else 0.5)
    noisy = replace(slow, noise="noisy")
    assert ratio(one, slow).verdict == SLOWER and ratio(slow, one).verdict == FASTER
    for pair in ((one, noisy), (noisy, one)):
        found = ratio(*pair)
        assert found.verdict == UNSURE and "noisy" in found.reason and "--processes" in found.reason
    assert ratio(slow, replace(one, noise="noisy")).verdict == FASTER
    assert ratio(replace(one, noise="noisy"), slow).verdict == SLOWER
    old = Measurement("time", "ms per sample", 100.0, phase="forward")
    assert ratio(old, replace(TIME, noise="noisy")).verdict == OLD_IS_SLOWER
    assert ratio(replace(old, value=1.0), replace(TIME, noise="noisy")).verdict == UNSURE


def test_too_few_processes_decide_nothing_about_the_slower_one() -> None:
    """Nothing tells how much of the difference is other programs' work, where two processes differ widely."""
    slow = replace(scaled(TIME, 4), noise=TOO_FEW_PROCESSES)
    found = ratio(TIME, slow)
    assert found.verdict == UNSURE and TOO_FEW_PROCESSES in found.reason


def gated(folder: Path, factor: float, *options: str, **about: Any) -> int:
    """The exit code for a run that takes ``factor`` times as long as A."""
    a = made_results.write(folder / "a.json", made_results.benchmark())
    b = made_results.write(folder / "b.json", made_results.benchmark(10 * factor, **about))
    return int(run_python(*COMMAND, a, b, *options).returncode)


@pytest.mark.parametrize(
    ("factor", "options", "about", "code"),
    [
        (1.04, "", {}, 1),
        (1.04, "--fail-slower 5", {}, 0),
        (1.06, "--fail-slower 5", {}, 1),
        (1.06, "--fail-slower 5%", {}, 1),
        (0.5, "--fail-slower 5 --fail-unsure", {}, 0),
        (1.5, "--fail-slower 5", {"spread": 0.5}, 0),
        (1.5, "--fail-slower 5 --fail-unsure", {"spread": 0.5}, 4),
        (1.0, "--fail-slower 5 --fail-unsure", {"spread": 0.5}, 4),
        (1.0, "--fail-slower 20 --fail-unsure", {"spread": 0.06}, 0),
        (0.5, "--fail-unsure", {"count": 5}, 4),
    ],
)
def test_the_exit_code_of_a_gate(
    tmp_path: Path, factor: float, options: str, about: dict[str, Any], code: int
) -> None:
    assert gated(tmp_path, factor, *options.split(), **about) == code


def test_a_noisy_result_of_several_processes_is_judged_by_its_interval(tmp_path: Path) -> None:
    noisy: dict[str, Any] = {"spread": 0.5}
    a = made_results.benchmark(10.0)
    one, several = made_results.benchmark(30.0, **noisy), made_results.benchmark(30.0, **noisy)
    assert one["phases"][":updateOutput():"]["summary"]["verdict"] == "noisy"
    several["runs"] = [{}, {}]
    paths = [made_results.write(tmp_path / f"{n}.json", each) for n, each in enumerate((a, one, several))]
    done = run_python(*COMMAND, *paths, "--only", "updateOutput", "--json", str(tmp_path / "out.json"))
    assert done.returncode == 1
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [found["verdict"] for found in row["ratios"]] == [UNSURE, SLOWER]
    assert "B: 1 UNSURE because the slower one is marked noisy: use --processes 8" in done.stdout


def test_a_noisy_point_of_a_sweep_is_not_called_slower(tmp_path: Path) -> None:
    a, b = made_results.point("alexnet", 1, 100.0), made_results.point("alexnet", 1, 50.0)
    b["pass_ms"]["verdict"] = "noisy"
    for count, verdict in ((0, UNSURE), (2, SLOWER)):
        b["processes"] = [{}] * count
        paths = [made_results.write(tmp_path / f"{n}.jsonl", each) for n, each in enumerate((a, b))]
        run_python(*COMMAND, *paths, "--only", "throughput", "--json", str(tmp_path / "out.json"))
        (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
        assert row["ratios"][0]["verdict"] == verdict


def test_a_comparison_fits_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is the same in all rows stands above them, once."""
    made_results.write(tmp_path / "a.json", made_results.benchmark())
    monkeypatch.chdir(tmp_path)
    files = load_all(["a.json"] * 2)
    comparison = compare([file.measurements for file in files])
    shown = io.StringIO()
    comparison_table(files, comparison, comparison.rows).show(shown, 80)
    lines = [line.rstrip() for line in shown.getvalue().splitlines()]
    place = lines.index("time, ms per sample")
    assert lines[place + 1].split() == ["phase", "A", "B", "B", ":", "A", "from", "to", "verdict"]
    assert lines[0].startswith("A: ") and all(len(line) <= 80 for line in lines)


intervals = st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)).map(sorted)


@given(intervals, intervals)
def test_verdicts_mirror_each_other(a: list[float], b: list[float]) -> None:
    one, other = (replace(TIME, value=sum(ends) / 2, low=ends[0], high=ends[1]) for ends in (a, b))
    there, back = ratio(one, other, 0.02).verdict, ratio(other, one, 0.02).verdict
    assert {FASTER: SLOWER, SLOWER: FASTER}.get(there, there) == back
    if there == FASTER:
        assert other.high < one.low
    assert ratio(one, one, 0.02).verdict in (SAME, UNSURE)


def test_unknown_nets_and_batches_match_the_only_one() -> None:
    log = Measurement("time", "ms per sample", 5.0, phase="forward")
    (row,) = compare([[log], [TIME]]).rows
    assert row.ratios[0].value == 0.5
    two = [TIME, replace(TIME, net="vgg_a")]
    assert compare([[log], two]).shared == ()


def test_nets_are_matched_however_spelt() -> None:
    assert compare([[TIME], [replace(TIME, net="AlexNet")]]).shared
    assert not compare([[TIME], [replace(TIME, net="alexnet_owt")]]).shared


def test_conditions_tell_rows_apart_only_where_a_file_has_several() -> None:
    stock, engine = (replace(TIME, software=name) for name in ("stock", "engine"))
    across = compare([[stock], [engine]])
    assert across.matched_by == () and len(across.shared) == 1
    within = compare([[stock, engine], [stock]])
    assert within.matched_by == ("software",)
    assert [row.about.software for row in within.shared] == ["stock"] and len(within.rows) == 2


def test_equal_runs_in_one_log_are_matched_in_order() -> None:
    first, second = replace(TIME, value=1.0, low=1.0, high=1.0), replace(TIME, value=2.0, low=2.0, high=2.0)
    rows = compare([[first, second], [first, second]]).rows
    assert [row.ratios[0].value for row in rows] == [1.0, 1.0]


def test_three_files_each_against_the_first() -> None:
    (row,) = compare([[TIME], [scaled(TIME, 0.5)], [scaled(TIME, 2)]]).rows
    assert [found.verdict for found in row.ratios] == [FASTER, SLOWER]


def test_the_command_says_slower_with_its_exit_code(tmp_path: Path) -> None:
    fast, slow = (
        made_results.write(tmp_path / f"{ms}.json", made_results.benchmark(ms)) for ms in (10.0, 12.0)
    )
    done = run_python(*COMMAND, fast, slow)
    assert done.returncode == 1 and done.stderr == ""
    total = next(line for line in done.stdout.splitlines() if line.startswith("forward+backward"))
    assert "SLOWER" in total and "0.833" in total
    assert run_python(*COMMAND, slow, fast).returncode == 0


def test_the_command_compares_a_log_with_a_result(tmp_path: Path) -> None:
    run = made_results.benchmark(batch=1, net="overfeat_accurate")
    result = made_results.write(tmp_path / "run.json", run)
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "md")}
    output = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    done = run_python(*COMMAND, str(GOLDEN / "logs" / "benchmark_cpu.log"), result, *output)
    assert done.returncode == 0 and "OLD IS SLOWER by" in done.stdout and "one mean per line" in done.stdout
    document = json.loads(files["json"].read_text())
    verdicts = [found["verdict"] for row in document["rows"] for found in row["ratios"] if found]
    assert document["kind"] == "compare" and set(verdicts) == {UNSURE, OLD_IS_SLOWER}
    assert "verdict of B" in files["csv"].read_text() and "| OLD IS SLOWER by" in files["md"].read_text()


def test_only_keeps_the_rows_that_contain_the_text(tmp_path: Path) -> None:
    path = made_results.write(tmp_path / "run.json", made_results.benchmark())
    done = run_python(*COMMAND, path, path, "--only", "updategrad")
    rows = [line for line in done.stdout.splitlines() if "SAME" in line and "updateGradInput" in line]
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a"], "two or more"),
        (["{run}", "absent.json"], "absent.json: No such file"),
        (["{run}", "{run}", "--only", "nonsense"], "option --only: no row contains 'nonsense'"),
        (["{run}", "{sweep}"], "A and B share no measurement"),
        (["{run}", "{run}", "--margin", "-1"], "--margin: '-1' is not a percentage from 0 to below 100"),
        (["{run}", "{run}", "--json", "absent/x.json"], "option --json: cannot write"),
        (["{run}", "{run}", "--json", "{run}"], "is also the file of FILE; give another name"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    paths = {
        "{run}": made_results.write(tmp_path / "run.json", made_results.benchmark()),
        "{sweep}": made_results.write(tmp_path / "s.jsonl", made_results.point("alexnet", 1, 5.0)),
    }
    done = run_python(*COMMAND, *(paths.get(argument, argument) for argument in arguments))
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and message in done.stderr


def test_files_are_written_though_nobody_reads_the_table(tmp_path: Path) -> None:
    run = made_results.write(tmp_path / "run.json", made_results.benchmark())
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, *COMMAND, run, run, "--json", str(tmp_path / "out.json")]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["kind"] == "compare"


def test_help_has_examples_and_does_not_load_torch() -> None:
    done = run_python("-X", "importtime", *COMMAND, "--help")
    assert "examples:" in done.stdout and "Exit code" in done.stdout
    assert "torch" not in done.stderr and "numpy" not in done.stderr

"""``--processes``: the lines are the medians of several processes, the intervals hold what differs."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.cli import main
from convnet_benchmarks.legacy.new_processes import Answer, together
from convnet_benchmarks.results.load import load
from tests.helpers import made_results
from tests.helpers.commands import run_python

SMALL = ("--net", "recognize_digits", "--threads", "1", "-iter", "3")
FIRST, SECOND, THIRD = made_results.PHASES


def answer(milliseconds: float) -> dict[str, Any]:
    """What a process answers whose phases take so long, per sample, in batches of 2."""
    document = made_results.benchmark(milliseconds)
    ran = {
        "net": "alexnet_owt", "batch_size": 2, "input_shape": [2, 3, 224, 224], "backend": "mm",
        "dtype": "float32", "device": "cpu", "device_name": "Testor 9000", "threads": 1, "cold_cache": False,
    }  # fmt: skip
    for label, phase in document["phases"].items():
        document["phases"][label] = {**phase, "passes": 20, "seconds": 1.0, "conditions": {
            "clock_mhz": None, "clocks": [], "throttled_passes": 0, "busy_cores": 1.0,
        }}  # fmt: skip
    printed = [["nn.Sequential {", None], *([label, ms] for label, ms in document["lines"].items())]
    return {
        "printed": printed,
        "document": document | {"ran": ran, "notes": ["of the options"]},
        "said": ["backend mm"],
    }


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the processes will answer, one after the other; Ctrl-C comes when there is no more."""
    coming: list[dict[str, Any]] = []
    asked = []

    def call(function: str, request: dict[str, Any]) -> dict[str, Any]:
        assert function == "convnet_benchmarks.commands.benchmark:once"
        assert (request["processes"], request["json"], request["net"]) == (1, None, "recognize_digits")
        asked.append(request)
        if len(asked) > len(coming):
            raise KeyboardInterrupt
        return copy.deepcopy(coming[len(asked) - 1])

    monkeypatch.setattr("convnet_benchmarks.legacy.new_processes.call", call)
    return coming


def test_the_lines_are_medians_and_the_sums_are_of_them(
    answers: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answers += map(answer, (10.0, 14.0, 11.0))
    answers[0]["document"]["lines"][FIRST] = 12.0  # the medians of the lines are of several processes
    path = tmp_path / "r.json"
    assert main(["benchmark", *SMALL, "--processes", "3", "--json", str(path)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "nn.Sequential {"
    printed = dict(line.split("\t") for line in said.out.splitlines()[1:])
    assert (printed[FIRST], printed[SECOND], printed[":TOTAL:"]) == ("12", "11", "34")
    assert "note: of the options" in said.err and "backend mm" in said.err
    assert "medians of 3 processes" in said.err and "processes differ" in said.err
    result = json.loads(path.read_text())
    assert (result["status"], result["options"]["processes"], len(result["runs"])) == ("complete", 3, 3)
    loop = result["phases"][FIRST]
    assert (loop["passes"], loop["summary"]["samples"], len(loop["samples_ms"])) == (60, 60, 60)
    assert loop["summary"]["low"] < 20 and loop["summary"]["high"] > 28  # per pass of two samples
    one = next(one for one in load(str(path)).measurements if one.phase == "updateGradInput")
    assert one.value == pytest.approx(11.0) and one.interval is not None and one.interval[1] > 14


def test_ctrl_c_keeps_the_processes_that_have_finished(
    answers: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answers += map(answer, (10.0, 12.0))
    path = tmp_path / "r.json"
    assert main(["benchmark", *SMALL, "--processes", "5", "--json", str(path)]) == 130
    assert f"{SECOND}\t11\n" in capsys.readouterr().out
    result = json.loads(path.read_text())
    assert result["status"] == "interrupted" and len(result["runs"]) == 2


def test_one_process_is_itself() -> None:
    alone = together([Answer(**answer(10.0))])
    assert alone["phases"][FIRST]["summary"] == answer(10.0)["document"]["phases"][FIRST]["summary"]


@pytest.mark.parametrize(
    ("script", "options", "variables", "said"),
    [
        ("benchmark", (), {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"},
         "option --processes: torchrun starts the processes"),
        ("criterion", ("--pass-times",), {}, "option --processes: --pass-times prints each pass"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_it(
    script: str, options: tuple[str, ...], variables: dict[str, str], said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main([script, *SMALL, "--processes", "2", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("script", ["benchmark.py", "benchmark_criterion.py"])
def test_the_command_as_typed(script: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    one = run_python(script, *SMALL)
    two = run_python(script, *SMALL, "--processes", "2", "--json", str(path))
    assert (one.returncode, two.returncode) == (0, 0), two.stderr
    labels = [[line.partition("\t")[0] for line in done.stdout.splitlines()] for done in (one, two)]
    assert labels[0] == labels[1]
    result = json.loads(path.read_text())
    assert len(result["runs"]) == 2 and all(len(p["samples_ms"]) == 6 for p in result["phases"].values())


@pytest.mark.slow
def test_what_a_process_cannot_do_is_one_line() -> None:
    done = run_python("benchmark.py", "--net", "vgg_a", "-batch_size", "100000", "--processes", "2")
    assert done.returncode == 3 and "the largest batch to try is" in done.stderr.splitlines()[-1]

"""Old logs, as people paste them, against new runs: pairs by options, and verdicts."""

import json
from pathlib import Path
from typing import Any

import pytest

from convnet_benchmarks.legacy.logs import parse_log
from tests.helpers import made_results
from tests.helpers.commands import run_python
from tests.helpers.places import DATA

README = DATA / "readme_excerpt.md"


def new_run(path: Path, milliseconds: float = 100.0, *, batch: int = 1, **about: Any) -> str:
    """A result of benchmark.py on a CPU, each phase ``milliseconds`` an image."""
    net = about.pop("net", "overfeat_accurate")
    content = made_results.benchmark(milliseconds, batch=batch, net=net, **about)
    shape = [batch, 3, 221, 221] if batch > 1 else [3, 221, 221]
    content["ran"] = {
        "net": net, "batch_size": batch, "input_shape": shape, "backend": "mm", "dtype": "float32",
        "device": "cpu", "device_name": "Testor 9000", "threads": 2,
    }  # fmt: skip
    content["lines"][":Backward:"] = 2 * milliseconds
    return made_results.write(path, content)


def command(name: str, *arguments: str) -> Any:
    return run_python("-m", "convnet_benchmarks", name, *arguments)


@pytest.mark.parametrize("decorate", ["{}", "* {}", "  - {}", "> {}", "1. {}", "    {}", "`{}`"])
def test_logs_are_read_however_they_are_pasted(decorate: str) -> None:
    lines = ["th benchmark.lua -cuda true", ":updateOutput():    20.5", "free :updateOutput():   0.5"]
    (run,) = parse_log("# A heading\n\n" + "\n".join(map(decorate.format, lines)) + "\n")
    assert run.times == {":updateOutput():": 20.5, "free :updateOutput():": 0.5}
    assert run.setup is not None and run.setup.device == "cuda"


def test_every_run_of_a_readme_knows_its_options() -> None:
    setups = [str(run.setup) for run in parse_log(README.read_text())]
    assert setups == [
        "benchmark, overfeat_accurate, cpu, mm, one sample",
        "benchmark, overfeat_accurate, cuda, mm, one sample",
        "criterion, overfeat_accurate, cuda, cudnn, batch 60",
    ]


@pytest.mark.parametrize("name", ["compare", "crosscheck"])
def test_another_size_of_the_input_is_other_work(name: str, tmp_path: Path) -> None:
    log = (DATA / "soumith_imagenet_excerpt.log").read_text()
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    for path, size in zip(paths, ("3x224x224", "3x112x112"), strict=True):
        path.write_text(log.replace("3x224x224", size))
    done = command(name, *map(str, paths))
    assert done.returncode == 2 and done.stdout == ""
    assert "3x112x112" in done.stderr


def test_crosscheck_pairs_a_readme_by_options_and_judges(tmp_path: Path) -> None:
    done = command("crosscheck", str(README), new_run(tmp_path / "new.json"))
    assert done.stderr == "" and done.returncode == 0
    (total,) = (line for line in done.stdout.splitlines() if line.startswith(":TOTAL:"))
    assert "771.55" in total and "OLD IS SLOWER by 2.57x" in total
    (weights,) = (line for line in done.stdout.splitlines() if line.startswith(":accGradParameters():"))
    assert "OLD IS FASTER by 1.26x" in weights
    assert "structure was not compared: A and B printed no model" in done.stdout
    assert done.stdout.splitlines()[-1] == "AGREE: 1 of 1 runs have the same labels"


def test_crosscheck_the_other_way_about_says_the_same(tmp_path: Path) -> None:
    done = command("crosscheck", new_run(tmp_path / "new.json"), str(README))
    (total,) = (line for line in done.stdout.splitlines() if line.startswith(":TOTAL:"))
    assert "OLD IS SLOWER by 2.57x" in total


def test_too_few_passes_are_not_judged(tmp_path: Path) -> None:
    done = command("crosscheck", str(README), new_run(tmp_path / "new.json", count=5))
    assert "OLD IS" not in done.stdout


def test_another_net_does_not_agree(tmp_path: Path) -> None:
    done = command("crosscheck", str(README), new_run(tmp_path / "new.json", net="alexnet_owt"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "net is overfeat_accurate in A, alexnet_owt in B" in done.stderr


@pytest.mark.parametrize("batch", [1, 60])
def test_a_log_of_a_gpu_is_compared_by_one_rule(tmp_path: Path, batch: int) -> None:
    """The same pair: refused by both commands, or the same ratio and verdict from both."""
    log = tmp_path / "k20m.log"
    times = ":updateOutput():\t6.4\n:updateGradInput():\t0.015\n:accGradParameters():\t34\n"
    log.write_text(f"th benchmark.lua -cuda True -4d_tensor true -batch_size 60\n{times}")
    new = new_run(tmp_path / "new.json", batch=batch)
    cross, side = (command(name, str(log), new) for name in ("crosscheck", "compare"))
    if batch == 1:
        assert cross.returncode == side.returncode == 2
        reasons = [done.stderr.split(": ", 1)[1] for done in (cross, side)]
        assert reasons[0] == reasons[1]
        assert "batch size is 60 in A, 1 in B; device is cuda in A, cpu in B" in reasons[0]
        return
    for label, phase in ((":updateOutput():", "updateOutput"), (":updateGradInput():", "updateGradInput")):
        rows = [
            next(line for line in done.stdout.splitlines() if line.startswith(name)).split()[1:]
            for done, name in ((cross, label), (side, phase))
        ]
        assert rows[0] == rows[1] and "OLD IS FASTER by" in " ".join(rows[0])
    assert all("device is cuda in A, cpu in B" in done.stdout for done in (cross, side))
    headings = [done.stdout.splitlines()[1] for done in (cross, side)]
    assert headings[0] == headings[1] and "overfeat_accurate; batch 60; Testor 9000" in headings[0]


def test_compare_pairs_a_readme_by_options_and_judges(tmp_path: Path) -> None:
    new, kept = new_run(tmp_path / "new.json"), tmp_path / "out.json"
    done = command("compare", str(README), new, "--json", str(kept))
    assert done.stderr == "" and done.returncode == 1  # accGradParameters was faster in 2015
    (total,) = (line for line in done.stdout.splitlines() if line.startswith("forward+backward"))
    assert "OLD IS SLOWER by 2.57x" in total and "one mean per line" in done.stdout
    ratios = {row["values"][0]["phase"]: row["ratios"][0] for row in json.loads(kept.read_text())["rows"]
              if row["values"][0] and row["ratios"][0]}  # fmt: skip
    found = ratios["forward+backward"]
    assert found["low"] < found["value"] < found["high"] and found["low"] == pytest.approx(2.57, rel=0.01)
    back = command("compare", new, str(README), "--only", "forward+backward")
    assert "OLD IS SLOWER by 2.57x" in back.stdout and back.returncode == 1


def test_compare_names_what_differs(tmp_path: Path) -> None:
    done = command("compare", str(README), new_run(tmp_path / "new.json", net="alexnet_owt"))
    assert done.returncode == 2
    assert "net is overfeat_accurate in A, alexnet_owt in B" in done.stderr
    done = command("compare", str(README), new_run(tmp_path / "new.json", batch=4))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "batch size is 1 in A, 4 in B" in done.stderr and "cpu, mm, batch 4" in done.stderr

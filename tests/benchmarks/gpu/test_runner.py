"""Parts and their steps: each is kept when it ends, a run continues, and all command lines are accepted."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.gpu import journal
from benchmarks.gpu.parts import PARTS
from benchmarks.gpu.runner import run_part
from benchmarks.gpu.step import RESULT, Setting, Step
from convnet_benchmarks.legacy.options import BenchmarkOptions, CriterionOptions, parse
from tests.convnet_benchmarks.legacy.test_scripts import OLD_COMMAND_LINES
from tests.helpers.places import ROOT

WRITES = "import sys; open(sys.argv[1], 'w').write('{\"value\": 1}')"
MISSING = Path("/nothing/here")


def python(name: str, code: str, seconds: float = 60.0, needs: tuple[Path, ...] = ()) -> Step:
    return Step(name, (sys.executable, "-c", code, RESULT), seconds, needs)


def statuses(out: Path, part: str = "1") -> dict[str, str]:
    return {record["step"]: record["status"] for record in journal.read(journal.journal_file(out, part))}


def test_every_step_is_kept_however_it_ends(tmp_path: Path) -> None:
    steps = [
        python("writes", WRITES),
        python("fails", "print('before'); raise SystemExit('no such thing')"),
        python("hangs", "import time; time.sleep(600)", seconds=0.5),
        python("lacks", WRITES, needs=(MISSING,)),
        python("after", WRITES),
    ]
    assert not run_part("1", steps, tmp_path, 60.0)
    assert statuses(tmp_path) == {
        "writes": "ok", "fails": "failed", "hangs": "timed out", "lacks": "skipped", "after": "ok",
    }  # fmt: skip
    first, failed, *_ = journal.read(journal.journal_file(tmp_path, "1"))
    assert first["result"] == {"value": 1} and failed["reason"] == "exit code 1: no such thing"
    summary = (tmp_path / "summary.txt").read_text()
    assert "part 1: 2 ok, 1 failed, 1 timed out, 1 skipped" in summary and f"lacks: no {MISSING}" in summary
    assert "before" in (tmp_path / "part1.log").read_text()


def test_the_same_command_goes_on(tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    count = python("counts", f"open({str(tmp_path / 'runs')!r}, 'a').write('x')")
    wants = python("wants", f"import os, sys; sys.exit(not os.path.exists({str(mended)!r}))")
    assert not run_part("2", [count, wants], tmp_path, 60.0)
    mended.touch()
    assert run_part("2", [count, wants], tmp_path, 60.0)
    assert (tmp_path / "runs").read_text() == "x" and statuses(tmp_path, "2") == {
        "counts": "ok",
        "wants": "ok",
    }


def test_steps_that_time_nothing_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two waits for the other; what runs alone comes before and after, with all the threads."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    waits = """
import os, sys, time
mine, other = sys.argv[2:]
assert os.environ["OMP_NUM_THREADS"] == "2"
open(mine, "w")
while not os.path.exists(other): time.sleep(0.01)
"""
    alone = "import os; assert os.environ.get('OMP_NUM_THREADS') != '2' and len(os.listdir({!r})) == {}"
    files = tmp_path / "files"
    files.mkdir()
    pair = [
        Step(
            name,
            (sys.executable, "-c", waits, RESULT, str(files / name), str(files / other)),
            30.0,
            alone=False,
        )
        for name, other in (("a", "b"), ("b", "a"))
    ]
    steps = [
        python("before", alone.format(str(files), 0)),
        *pair,
        python("after", alone.format(str(files), 2)),
    ]
    assert run_part("first", steps, tmp_path, 60.0)
    assert list(statuses(tmp_path, "first"))[::3] == ["before", "after"]


def test_the_summary_has_the_main_figures_and_an_end(tmp_path: Path) -> None:
    told = [f"net {i}: 1.5 ms" for i in range(50)]
    tells = f"import json, sys; json.dump({{'told': {told}}}, open(sys.argv[1], 'w'))"
    tested = "print('Completed 12 asserts in 3 tests with 0 failures'); print('other')"
    run_part("1", [python("figures", tells), python("suite", tested)], tmp_path, 60.0)
    summary = journal.summary(tmp_path)
    assert "net 0: 1.5 ms" in summary and "Completed 12 asserts" in summary and "other" not in summary
    run_part("2", [python(f"figures {i}", tells) for i in range(30)], tmp_path, 60.0)
    summary = journal.summary(tmp_path)
    assert len(summary) <= 11_000 and "figures 29" in summary and "net 0: 1.5 ms" in summary


def test_without_time_left_a_step_is_not_started(tmp_path: Path) -> None:
    assert not run_part("3", [python("late", WRITES)], tmp_path, 0.0)
    assert statuses(tmp_path, "3") == {"late": "not started"}
    assert "goes on here" in (tmp_path / "summary.txt").read_text()


def test_a_journal_that_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    run_part("1", [python("writes", WRITES)], tmp_path, 60.0)
    path = journal.journal_file(tmp_path, "1")
    whole = path.read_text()
    path.write_text(whole + whole[: len(whole) // 2])
    assert list(statuses(tmp_path)) == ["writes"]
    path.write_text("{\n" + whole)
    with pytest.raises(ValueError, match="line 1: not JSON"):
        journal.read(path)


def every_step(setting: Setting) -> list[Step]:
    return [step for part in PARTS.values() for step in part(setting)]


@pytest.mark.parametrize("rehearsal", [False, True])
def test_names_of_steps_are_unique_in_a_part(rehearsal: bool) -> None:
    for number, part in PARTS.items():
        names = [step.name for step in part(Setting(MISSING, rehearsal))]
        assert len(names) == len(set(names)), number
        assert names[0] == "machine"


def test_the_lines_of_2015_are_run_as_they_were() -> None:
    names = {step.name for step in PARTS["2"](Setting(MISSING))}
    assert len(OLD_COMMAND_LINES) == 14 and set(OLD_COMMAND_LINES) <= names
    assert "benchmark.py --cuda --cudnn --batch-size 64" in names


@pytest.mark.parametrize("rehearsal", [False, True])
def test_every_command_line_is_accepted(rehearsal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from convnet_benchmarks.commands import backends, flops, ops, sweep
    from convnet_benchmarks.commands.sweep import _check

    checked = 0
    for step in every_step(Setting(MISSING, rehearsal)):
        _, *words = step.command
        if words[0] in ("benchmark.py", "benchmark_criterion.py"):
            options = BenchmarkOptions if words[0] == "benchmark.py" else CriterionOptions
            parse(options, words[1:], words[0], "")
        elif words[:2] == ["-m", "convnet_benchmarks"]:
            name, *arguments = words[2:]
            parsers = {"backends": backends.parser, "sweep": sweep.parser, "flops": flops._parser}
            parsed = {**parsers, "ops": ops._parser}[name](name).parse_args(arguments)
            if name == "sweep":
                _check(parsed)
            if name == "backends":
                for variant in (parsed.without, *parsed.others):
                    backends.variants.find(variant, parsed.dtype, "--with")
        elif words[0] == "-m" and words[1].startswith("benchmarks."):
            assert (ROOT / f"{words[1].replace('.', '/')}.py").is_file(), words
        elif words[:2] == ["-m", "pytest"]:
            assert all((ROOT / word).exists() for word in words if word.startswith("tests/")), words
        else:
            assert words[:2] == ["-m", "lua_compat"] and Path(words[2]).is_file(), words
        checked += 1
    assert checked > 50

"""The pages show the figures that lie beside the benchmarks."""

import argparse
import json
from pathlib import Path

import pytest

from benchmarks import performance
from convnet_benchmarks.tables import Column, Table
from tests.helpers.places import ROOT

FIGURES = sorted((ROOT / "benchmarks").glob("*.json"))


@pytest.mark.parametrize("page", performance.PAGES)
def test_the_page_is_what_the_figures_give(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == performance.renewed(text), "run python -m benchmarks.performance"


def test_every_benchmark_with_figures_is_on_a_page() -> None:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in performance.PAGES]
    shown = {name for text in texts for _, name, _, _, _ in performance.BLOCK.findall(text)}
    assert FIGURES and {path.stem for path in FIGURES} == shown
    assert all(path.with_suffix(".py").exists() for path in FIGURES)


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_every_table_says_where_and_when(path: Path) -> None:
    for record in performance.read(path.stem):
        assert record.title and record.machine and record.conditions
        assert record.date.startswith("20") and len(record.commit) >= 7
        assert record.command.startswith(f"python -m benchmarks.{path.stem}")
        assert record.rows and {len(row) for row in record.rows} == {len(record.columns)}


def test_a_recorded_table_reaches_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "docs").mkdir()
    marks = "<!-- speed: walk -->\nstale\n<!-- end of speed -->\n"
    (tmp_path / "README.md").write_text(marks.replace("walk", "walk: Steps"))
    (tmp_path / "docs" / "performance.md").write_text(f"before\n{marks}after\n")
    (tmp_path / "docs" / "engine.md").write_text("no marks\n")
    monkeypatch.setattr(performance, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["walk", "/a/folder", "--torch7", "/my/th", "--record", "Steps"])
    options = argparse.Namespace(record="Steps", machine="a machine", conditions="quiet")
    for cost in (2.0, 1.23456):  # the second replaces the first
        table = Table("", [Column("what"), Column("cost", "ms")], [["left|right", cost]], ["A note."])
        performance.report("walk", table, options)
    assert "1.235" in capsys.readouterr().out
    (kept,) = json.loads((tmp_path / "benchmarks" / "walk.json").read_text())
    assert (kept["rows"], kept["columns"]) == ([["left|right", 1.235]], ["what", "cost [ms]"])
    assert kept["command"] == "python -m benchmarks.walk folder --torch7 COMMAND"
    page = (tmp_path / "docs" / "performance.md").read_text()
    assert page.startswith("before\n") and page.endswith("after\n") and "stale" not in page
    assert "### Steps" in page and "| left\\|right | 1.235 |" in page and "A note." in page
    assert "a machine; 20" in page and "; quiet." in page
    readme = (tmp_path / "README.md").read_text()
    assert "1.235" in readme and "### Steps" not in readme
    with pytest.raises(LookupError, match=r"walk\.json has no record Runs"):
        performance.renewed(marks.replace("walk", "walk: Runs"))

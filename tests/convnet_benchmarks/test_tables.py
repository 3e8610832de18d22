"""Tables in their forms, and where a study's tables go."""

import argparse
import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.options.study import open_output, study_parser
from convnet_benchmarks.options.types import names, positive, sizes
from convnet_benchmarks.tables import Column, Table


def example() -> Table:
    columns = (Column("net"), Column("time", "ms"), Column("images", key="count"))
    rows: list[Sequence[str | int | float | None]] = [("a|b", 1.23456, 1234567), ("c", None, 2)]
    return Table("Times", columns, rows, ["a note"])


def test_plain_aligns_numbers_to_the_right() -> None:
    assert example().plain().splitlines() == [
        "Times",
        "net  time [ms]     images",
        "a|b      1.235  1,234,567",
        "c                       2",
        "a note",
    ]


def test_markdown_escapes_bars() -> None:
    lines = example().markdown().splitlines()
    assert lines[2:6] == [
        "| net | time [ms] | images |",
        "|---|---:|---:|",
        "| a\\|b | 1.235 | 1,234,567 |",
        "| c |  | 2 |",
    ]


def test_csv_keeps_the_numbers_in_full() -> None:
    assert list(csv.reader(io.StringIO(example().csv()))) == [
        ["net", "time [ms]", "count"],
        ["a|b", "1.23456", "1234567"],
        ["c", "", "2"],
    ]


def test_rich_on_a_terminal_shows_the_same_cells() -> None:
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    Table("[bold]T", (Column("x", "ms"),), [("[red]",)]).show(terminal)
    text = terminal.getvalue()
    assert "[bold]T" in text and "[red]" in text and "x [ms]" in text


def test_output_goes_to_stdout_and_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "md")}
    options = study_parser("p", "d", ["--csv x"]).parse_args(
        [part for name, path in paths.items() for part in (f"--{name}", str(path))]
    )
    with open_output("example", options) as output:
        output.write([example(), example()], {"points": [1]})
    assert capsys.readouterr().out.count("Times") == 2
    document = json.loads(paths["json"].read_text())
    assert document["kind"] == "example" and document["points"] == [1]
    assert document["tables"][0]["rows"][1] == {"net": "c", "time [ms]": None, "count": 2}
    assert paths["csv"].read_text().count("# Times") == 2
    assert paths["md"].read_text().count("**Times**") == 2


def test_an_unwritable_file_is_refused_before_the_work(tmp_path: Path) -> None:
    options = study_parser("p", "d", []).parse_args(["--md", str(tmp_path / "absent" / "x.md")])
    with pytest.raises(UserError, match="option --md: cannot write"), open_output("example", options):
        pytest.fail("opened")


def test_lists_are_read_without_repeats() -> None:
    assert names("a, b,a") == ["a", "b"]
    assert sizes("1, 8,8") == [1, 8]
    for read, bad in ((names, " , "), (sizes, "1,0"), (sizes, "1,x"), (positive, "-1")):
        with pytest.raises(argparse.ArgumentTypeError):
            read(bad)

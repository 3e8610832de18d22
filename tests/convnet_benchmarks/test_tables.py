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
from convnet_benchmarks.tables import Cell, Column, Table


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(table: Table, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns what a terminal of ``width`` columns gets."""
    monkeypatch.setenv("COLUMNS", str(width))
    terminal = Terminal()
    table.show(terminal)
    return terminal.getvalue()


def test_a_terminal_shows_the_same_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(Table("[bold]T", (Column("x", "ms"),), [("[red]",)]), 80, monkeypatch)
    assert "[bold]T" in text and "[red]" in text and "x [ms]" in text


def wide(columns: int) -> Table:
    """A table of long names, long reasons, and ``columns`` columns of numbers."""
    headings = (Column("net"), *(Column(f"a heading {i}", "samples/s") for i in range(columns)))
    rows: list[Sequence[Cell]] = [
        ("a_net_with_quite_a_long_name_v1", *(1234567.8 + i for i in range(columns)), "76.68 .. 81.22"),
        ("squeezenet1.1", *(0.00012345 * i for i in range(columns)), "out of memory: " + 9 * "no room "),
    ]
    return Table("T", (*headings, Column("verdict")), rows, ["a note of " + 20 * "many words "])


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
@pytest.mark.parametrize("columns", [1, 3, 5, 12])
def test_no_digit_is_cut_however_narrow(width: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    table = wide(columns)
    text = shown(table, width, monkeypatch)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for row in table.texts():
        assert set(row[1:-1]) <= set(words), "numbers are whole"
    assert "76.68 .. 81.22" in text, "an interval stays in one piece"
    assert "…" not in text and "".join(words).count("noroom") == 9


def test_narrow_terminals_get_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    table = Table("T", (Column("net"), *(Column(f"batch {n}") for n in (1, 2, 4))), notes=["end"])
    table.rows += [("alexnet", 1.5, 22222.25, None), ("vgg_a", 2, 3, 4)]
    assert [line.rstrip() for line in shown(table, 24, monkeypatch).splitlines()] == [
        "T",
        "net      alexnet",
        "batch 1  1.5",
        "batch 2  22,222",
        "",
        "net      vgg_a",
        "batch 1  2",
        "batch 2  3",
        "batch 4  4",
        "end",
    ]


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colours_where_they_are_not_wanted(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = Table("T", (Column("verdict"),), [("SLOWER",)])
    assert "\033[31m" in shown(table, 80, monkeypatch)
    monkeypatch.setenv(variable, value)
    assert "\033[31m" not in shown(table, 80, monkeypatch)


def test_conditions_that_all_rows_share_are_in_the_title(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [Column(name, condition=True) for name in ("device", "dtype")]
    table = Table("T", [Column("net"), *columns], [("a", "cpu", "float32"), ("b", "cpu", "bfloat16")])
    assert table.plain().splitlines()[:2] == ["T: cpu", "net  dtype"]
    assert shown(table, 80, monkeypatch).splitlines()[0].endswith("T: cpu\033[0m")
    assert "device" in table.csv() and "device" in table.markdown()


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

"""The progress line: on a terminal, in a pipe, and how much longer."""

import io
import re

import pytest

from convnet_benchmarks import progress
from convnet_benchmarks.progress import Progress, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    return clock


def screen(text: str, width: int) -> list[str]:
    """Returns the lines that a terminal shows after ``text``, as far as rich's lines move its cursor."""
    lines, row, column = [""], 0, 0
    for code, number, kind, char in re.findall(r"(\033\[\??(\d*)([A-Za-z]))|([\s\S])", text):
        if kind == "A":
            row -= int(number or 1)
            assert row >= 0
        elif kind == "K":
            lines[row] = "" if number == "2" else lines[row][:column]
        elif char == "\r":
            column = 0
        elif char == "\n" or (char and column == width):
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        if char and char not in "\r\n":
            lines[row] = lines[row][:column].ljust(column) + char + lines[row][column + 1 :]
            column += 1
        assert code or char
    return [line.rstrip() for line in lines if line.strip()]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "50")
    return Terminal()


def test_a_terminal_line_says_what_runs_how_far_and_how_long(terminal: Terminal, now: list[float]) -> None:
    line = Progress(2, stream=terminal)
    line.start("first")
    now[0] = 20.0
    line.start("second")
    (shown,) = screen(terminal.getvalue(), 50)
    assert shown.startswith("[2/2]") and re.search(r"second\s+about 20 s left", shown)


def test_a_narrow_terminal_keeps_no_remnants(terminal: Terminal) -> None:
    line = Progress(20, stream=terminal)
    print("before", file=terminal)
    for number in range(20):
        line.start(f"a_net_with_quite_a_long_name_v{number}, batch 64, cpu, float32, stock, training")
    shown = screen(terminal.getvalue(), 50)
    assert shown[0] == "before" and max(map(len, shown)) <= 50
    line.clear()
    print("after", file=terminal)
    assert screen(terminal.getvalue(), 50) == ["before", "after"]


@pytest.mark.parametrize("columns", [20, 50, 80])
def test_a_keystroke_that_the_terminal_shows_leaves_no_remnants(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    line = Progress(2, stream=terminal)
    line.start("a_net_with_quite_a_long_name, batch 64, cpu, float32, stock, inference")
    terminal.write("^C^C")
    line.start("another_net_with_quite_a_long_name, batch 64, cpu, float32, stock, training")
    terminal.write("^C")
    line.clear()
    print("interrupted", file=terminal)
    assert screen(terminal.getvalue(), columns) == ["interrupted"]


def test_text_between_the_steps_stays(terminal: Terminal) -> None:
    line = Progress(3, stream=terminal)
    for what in "abc":
        line.start(what)
        line.clear()
        print(f"done {what}", file=terminal)
    assert screen(terminal.getvalue(), 50) == ["done a", "done b", "done c"]


def test_a_pipe_gets_a_line_for_each_step(now: list[float]) -> None:
    silent, spoken = io.StringIO(), io.StringIO()
    for stream in (silent, spoken):
        line = Progress(2, shown=stream is spoken, stream=stream)
        for what in ("a", "b"):
            line.start(what)
            line.detail("soon after", 1, 4)
            now[0] += 30.0
        line.detail("layer", 3, 4)
        line.clear()
    assert silent.getvalue() == ""
    assert spoken.getvalue() == (
        "[1/2] a\n[2/2] b; about 30 s left\n[2/2] layer 3 of 4; about 30 s left for this\n"
    )


def test_what_only_prepares_does_not_tell_how_long_the_rest_takes(now: list[float]) -> None:
    stream = io.StringIO()
    line = Progress(5, stream=stream)
    for what, seconds in (("make", 60.0), ("warm up", 4.0), ("a", 2.0), ("b", 4.0), ("c", 1.0)):
        line.start(what, preparing=what in ("make", "warm up"))
        now[0] += seconds
    assert stream.getvalue().splitlines() == [
        "[1/5] make", "[2/5] warm up", "[3/5] a", "[4/5] b; about 4 s left", "[5/5] c; about 3 s left",
    ]  # fmt: skip


def test_a_dumb_terminal_gets_lines_too(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    line = Progress(1, stream=terminal)
    line.start("a")
    line.clear()
    assert terminal.getvalue() == "[1/1] a\n"


def test_durations_have_the_unit_that_suits() -> None:
    assert [duration(s) for s in (0.2, 89, 91, 600, 9000)] == ["1 s", "89 s", "2 min", "10 min", "2.5 h"]

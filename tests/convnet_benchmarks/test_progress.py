"""The progress line: on a terminal, in a pipe, and how much longer."""

import io

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


def test_a_terminal_line_is_overwritten_and_taken_away() -> None:
    stream = Terminal()
    line = Progress(2, stream=stream)
    line.start("first")
    line.start("second")
    line.clear()
    assert stream.getvalue() == "\r\033[K[1/2] first\r\033[K[2/2] second\r\033[K"


def test_a_pipe_gets_nothing_or_a_line_now_and_then(now: list[float]) -> None:
    silent, spoken = io.StringIO(), io.StringIO()
    lines = [Progress(4, stream=silent), Progress(4, stream=spoken, seconds_between_lines=10.0)]
    for what in ("a", "b", "c", "d"):
        for line in lines:
            line.start(what)
        now[0] += 6.0
    lines[1].clear()
    assert silent.getvalue() == ""
    assert spoken.getvalue() == "[1/4] a\n[3/4] c\n"


def test_a_step_says_how_far_it_is(now: list[float]) -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        line = Progress(2, stream=stream, seconds_between_lines=10.0)
        line.start("first")
        line.detail("half")
    assert terminal.getvalue() == "\r\033[K[1/2] first\r\033[K[1/2] half"
    assert pipe.getvalue() == "[1/2] first\n"


def test_the_time_left_is_that_of_the_steps_so_far(now: list[float]) -> None:
    stream = io.StringIO()
    line = Progress(4, stream=stream, time_left=True, seconds_between_lines=0.0)
    line.start("a")
    now[0] = 20.0
    line.start("b")
    now[0] = 60.0
    line.start("c")
    assert stream.getvalue() == "[1/4] a\n[2/4] b; about 60 s left\n[3/4] c; about 60 s left\n"


def test_durations_have_the_unit_that_suits() -> None:
    assert [duration(s) for s in (0.2, 89, 91, 600, 9000)] == ["1 s", "89 s", "2 min", "10 min", "2.5 h"]

"""Functions in a process of their own: values arrive as they were, and its end is not ours."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from lua_compat.helper_process.library import Ended, Library


@pytest.fixture(params=[False, True], ids=["stays", "forks"])
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    made = Library("tests.lua_compat.helper_process.functions", forks=request.param)
    yield made
    made.close()


def test_values_arrive_as_they_were(library: Library) -> None:
    values = (None, True, 3, -0.5, "", "a\n\0\xff", "x" * 1_000_000)
    assert library.call("same", *values) == values
    assert [library.call("first", value) for value in values] == list(values)
    assert library.call("same") == ()


def test_errors_arrive_as_they_were(library: Library) -> None:
    for kind, error in (("value", ValueError), ("type", TypeError), ("other", ValueError)):
        with pytest.raises(error, match=f"a {kind}"):
            library.call("fail", kind)
    with pytest.raises(FileNotFoundError) as missing:
        library.call("fail", "missing")
    assert missing.value.filename == "/does/not/exist"


def test_the_end_of_the_process_is_an_error_and_the_next_call_starts_another(library: Library) -> None:
    for _ in range(2):
        with pytest.raises(Ended, match="SIGSEGV"):
            library.call("die", signal.SIGSEGV)
        with pytest.raises(Ended, match="exit code 3"):
            library.call("leave", 3)
        assert library.call("first", "there") == "there"


def test_a_fork_leaves_nothing_to_the_next_call() -> None:
    for forks, counted in ((False, [1, 2]), (True, [1, 1])):
        library = Library("tests.lua_compat.helper_process.functions", forks)
        assert [library.call("count") for _ in range(2)] == counted
        library.close()


def test_ctrl_c_ends_the_call(library: Library) -> None:
    library.call("first", 1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        library.call("sleep", 60)
    timer.join()
    signal.signal(signal.SIGINT, before)
    assert library.call("first", 2) == 2

"""Lua's tracebacks beside the cells they name."""

import re

from lua_compat.notebook.tracebacks import with_source


def plain(lines: list[str]) -> list[str]:
    return [re.sub(r"\x1b\[\d+m", "", line) for line in lines]


def test_lines_are_shown_below_their_positions() -> None:
    cells = {1: "function f()\n   error('no')\nend", 2: "local a\nf()"}
    frames = ("[C]: in function 'error'", "In [1]:2: in function 'f'", "In [2]:2: in main")
    trace = "\n\t".join(("In [1]:2: no\nstack traceback:", *frames))
    assert plain(with_source(trace, cells)) == [
        "In [1]:2: no",
        "      1   function f()",
        "----> 2      error('no')",
        "      3   end",
        "stack traceback:",
        "    [C]: in function 'error'",
        "    In [1]:2: in function 'f'",
        "    In [2]:2: in main",
        "      1   local a",
        "----> 2   f()",
    ]


def test_places_without_a_cell_are_left() -> None:
    for text in (
        "a message",
        "In [9]:1: of a cell that is gone",
        "In [1]:7: behind its end",
        "In [1]:0: before it",
    ):
        assert plain(with_source(text, {1: "x = 1"})) == [text]

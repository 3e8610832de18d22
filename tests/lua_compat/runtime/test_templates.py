"""The language of texts that are compiled (docs/templates.md)."""

import re
from pathlib import Path

import pytest

from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime


def compiled(text: str, values: str, also: str = "nil", check: str = "") -> None:
    """Runs ``check`` on ``f``, what the text gives."""
    call = f"require('torch.core.templates').compile('of_a_test', [=[{text}]=], {values}, {also})"
    assert Runtime().run_string(f"local f = {call} {check}") == 0


def test_holes_are_replaced_by_values_which_may_have_arguments_and_holes() -> None:
    compiled(
        "return function(x, y) return $sum($twice(x, x + 1), y) + $one end",
        "{ sum = '($1 + $2)', twice = '2 * $1 * $half($2)', half = '(0.5 * ($1))', one = 1 }",
        check="assert(f(3, 4) == 2 * 3 * 0.5 * 4 + 4 + 1)",
    )


def test_a_part_is_repeated_with_its_numbers() -> None:
    compiled(
        """return function(p)
              local $each(3){a@} = $each(3){p[$at]}
              $each($n, ;){a@ = 2 * a@}
              return $each(3, +){a@}
           end""",
        "{ at = '@ + 1', n = 2 }",
        check="assert(f{ 1, 10, 100 } == 122)",
    )


def test_elements_are_processed_in_fours_and_then_one_by_one() -> None:
    compiled(
        "return function(p, n) $fours(k) return p end",
        "{ elements = '$each($1, ;){p[k + @] = $1}' }",
        check="local p = f({}, 6) for k = 0, 5 do assert(p[k] == (k < 4 and 4 or 1)) end assert(p[6] == nil)",
    )


def test_names_stand_for_what_is_given_and_for_functions_that_all_texts_may_call() -> None:
    compiled(
        "return function(x) return get(max(x, t.least), LARGE) end",
        "{ get = function(...) return ... end, t = { least = 5 }, LARGE = 2 ^ 60 }",
        check="local a, b = f(2) assert(a == 5 and b == 2 ^ 60)",
    )


def test_values_that_need_not_be_used() -> None:
    compiled("return $x", "{ x = 1.1 }", "{ y = 2, get = print }", "assert(f == 1.1)")


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("return $x", "{}", r"\$x is not given"),
        ("return $x", "{ x = 1, y = 2 }", "y is given, but not used"),
        ("return $x", "{ x = 1, get = print }", "get is given, but not used"),
        ("return $x", "{ x = '$1 + 1' }", r"\$x has no argument 1"),
        ("return $x(1)", "{ x = '$2' }", r"\$x has no argument 2"),
        ("return $each(2) x", "{}", r"\$each\(2\) is not \$each\(times\)\{text\}"),
        ("return $each(two){x}", "{}", r"\$each\(two\)\{x\} is not \$each"),
        ("return a@", "{}", "@ outside of"),
        ("return return", "{}", ":1: unexpected symbol"),
    ],
)
def test_errors_name_the_template_and_the_hole(text: str, values: str, message: str) -> None:
    with pytest.raises(LuaError, match="of_a_test.*" + message):
        compiled(text, values)


def test_kept_bytecode_is_only_for_the_same_inputs() -> None:
    compiled("return $x + y", "{ x = 1, y = 2 }", check="assert(f == 3)")
    compiled(
        "return $x + y",
        "{ x = 1, y = 2 }",
        check="""
        local compile = require('torch.core.templates').compile
        local function f(text, values, also) return compile('of_a_test', text, values, also) end
        assert(f('return $x + y', { x = 1, y = 5 }) == 6 and f('return $x + y', { x = 1, y = 2 }) == 3)
        assert(f('return $x + y', { x = 2, y = 2 }) == 4 and f('return $x + y', { x = '2', y = 2 }) == 4)
        assert(f('return $x + y', { y = 2 }, { x = 3, z = 1 }) == 5)
        assert(f('return $x + y', { y = 2 }, setmetatable({ z = 1 }, { __index = { x = 4 } })) == 6)
        assert(f('return max(y, 1)', { y = 2 }) == 2)
        assert(f('return max(y, 1)', { y = 2, max = math.min }) == 1)
        """,
    )


def test_a_text_has_no_globals() -> None:
    compiled(
        "return function() return print end",
        "{}",
        check="local _, problem = pcall(f) assert(problem:find 'a template uses print, which it is not')",
    )


def test_the_example_of_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "templates.md").read_text()
    example = re.search("```lua\n(.*?)```", page, re.DOTALL)
    assert example is not None
    check = """
    local T, ffi = require('torch.core.types').Float, require 'ffi'
    local p, sums = ffi.new('float[10]', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), ffi.new 'double[5]'
    for _, are_finite in ipairs{ true, false } do
       ffi.fill(sums, 40)
       sum_squares(sums, T, p, 5, 2, are_finite)
       for row = 0, 4 do assert(sums[row] == (2 * row) ^ 2 + (2 * row + 1) ^ 2) end
    end
    """
    assert Runtime().run_string(example[1] + check) == 0

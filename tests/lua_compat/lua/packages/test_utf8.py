"""lua-utf8: patterns, letter case and widths by characters."""

import unicodedata
from pathlib import Path

import pytest

from lua_compat.kernels.packages.characters import BLOCK, characters
from tests.helpers.commands import run_lua

# Calls, and what luautf8 0.1.3 gives for them
CALLS = {
    "find": """
        { 2, 3, f('aé中ß', '[é中]+') }      { 2, 4, '(a)', 5, f('é(a)é', '(%b())()') }
        { 3, 3, f('aéa', 'a', 2) }          { 2, 2, f('a.é.', '.', 2, true) }
        { 4, 4, f('aé.é', 'é', -1) }        { false, f('abc', 'é') or false }""",
    "match": """
        { 'Страна', '12', f('Страна 12', '^(%a+)%s(%d+)$') }    { false, f('ÀÉÎ', '%l') or false }
        { 'État', f('xÉtat y', '%f[%u]%a+') }                   { 'é', f('éxé', '(.)x%1') }
        { '-!', f('a中-!', '[^%w_]+$') }                        { '٣', f('a٣', '%d') }""",
    "gsub": """
        { '<hé> <hô>', 2, f('hé hô', '%a+', '<%0>') }    { '-中-文-', 3, f('中文', '', '-') }
        { 'öéö', 2, f('aéa', 'a', { a = 'ö' }) }         { 'éa', 1, f('aé', '(.)(.)', '%2%1') }
        { 'éééé', 1, f('éé', 'é.', function(c) return c .. c end, 1) }""",
    "lower": "{ 'àжi', f('ÀЖİ') } { 97, f(65) }",
    "upper": "{ 'ßÉЖ', f('ßéж') }",
    "title": "{ 453, f(0x1C6) }",
    "fold": "{ 'жéß', f('ЖÉẞ') }",
    "ncasecmp": "{ 0, f('ÉCOLE', 'école') } { -1, f('a', 'B') } { 1, f('ab', 'A') }",
    "width": """
        { 3, f('中é') } { 2, f('é', true) } { 0, f('\\226\\128\\139') }
        { 1, f('\\226\\128\\139', false, 1) }""",
    "widthindex": "{ 2, 2, 2, f('a中b', 3) } { 3, f('ab', 9) }",
    "reverse": "{ 'e\\204\\129a', f('ae\\204\\129') } { '\\204\\129ea', f('ae\\204\\129', true) }",
    "remove": "{ 'a', f('aébc', 2) } { 'ac', f('aébc', 2, 3) } { 'aé', f('aéb') }",
    "insert": "{ 'aé-b', f('aéb', -1, '-') } { 'aé-', f('aé', '-') } { '-aé', f('aé', 1, '-') }",
    "charpos": "{ 4, 98, f('aéb', 3) } { 2, 233, f('aéb', 1, 1) } { 4, 98, f('aéb', -1) }",
    "next": "{ 4, 98, f('aéb', 2) } { 1, 97, f('aéb') } { 2, 233, f('aéb', 4, -1) }",
    "offset": "{ 1, f('aéb', 0) } { 2, f('aéb', 0, 3) } { 4, f('aéb', -1) }",
    "escape": "{ 'ééééé%é', f('%233%{233}%xE9%u{233}%u233%%%é') }",
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name: str, tmp_path: Path) -> None:
    calls = CALLS[name].replace("} ", "}, ").replace("}\n", "},\n")
    run_lua(
        tmp_path,
        f"""
        local f = require('lua-utf8').{name}
        for number, call in ipairs{{ {calls} }} do
           local half = #call / 2
           for k = 1, half do
              assert(call[k] == call[half + k],
                 ('%d: %s, not %s'):format(number, tostring(call[half + k]), tostring(call[k])))
           end
           assert(half % 1 == 0, 'other number of results')
        end
        """,
    )


def test_gmatch_and_errors(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        r"""
        local utf8 = require 'lua-utf8'
        local words = {}
        for word, place in utf8.gmatch('été à Zürich', '(%a+)()') do words[#words + 1] = word .. place end
        assert(table.concat(words, ' ') == 'été4 à6 Zürich13')
        for pattern, message in pairs{
           ['%'] = "malformed pattern (ends with '%')", ['[a'] = "malformed pattern (missing ']')",
           ['%f'] = "missing '[' after '%f' in pattern", ['('] = 'unfinished capture',
           ['%1'] = 'invalid capture index %1',
           [')'] = 'invalid pattern capture', ['%b'] = "malformed pattern (missing arguments to '%b')",
           [('()'):rep(33)] = 'too many captures',
        } do
           local ok, problem = pcall(function() return (utf8.match('é', pattern)) end)
           assert(not ok and problem:match('^.-script%.lua:%d+: (.*)$') == message, problem)
        end
        assert(utf8.gsub('éa', '(', 'x') == 'xéxax' and not pcall(utf8.gsub, 'a', '(', '%1'))
        assert(not pcall(utf8.lower, '\255') and not pcall(utf8.escape, '%{1x}'))
        assert(not pcall(utf8.insert, 'a', 4, 'b'))
        """,
    )


def test_classes_are_unicodes() -> None:
    """The classes that Python's tables know, too, for every character."""
    for first in range(0, 0x20000, 11 * BLOCK):
        for code, line in enumerate(characters(first).splitlines(), first):
            classes, character = line.split()[0], chr(code)
            kind = unicodedata.category(character)
            assert ("a" in classes) >= character.isalpha()
            assert ("d" in classes) == (kind == "Nd")
            assert ("s" in classes) >= (kind == "Zs")
            assert ("w" in classes) == ("a" in classes or kind[0] == "N")
            assert not ("g" in classes and "s" in classes)


def test_a_number_that_is_no_code_point_is_refused(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local utf8 = require 'lua-utf8'
        for _, name in ipairs{ 'lower', 'upper', 'title', 'fold', 'width', 'char' } do
           for _, number in ipairs{ -1, 0x110000, 2 ^ 31, 2 ^ 53, 1 / 0, 0 / 0 } do
              local ok, problem = pcall(utf8[name], number)
              local expected = "bad argument #1 to '" .. name .. "' (value out of range)"
              assert(not ok and problem:find(expected, 1, true), problem)
           end
        end
        assert(utf8.lower(0xC9) == 0xE9 and utf8.width(0x4E00) == 2 and utf8.lower(0x10FFFF) == 0x10FFFF)
        """,
    )

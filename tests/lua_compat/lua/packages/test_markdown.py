"""sundown and dok: Markdown as Torch7's sundown printed it, and help made of it; env."""

from pathlib import Path

import pytest

from tests.helpers.commands import run_lua
from tests.helpers.places import GOLDEN

SAMPLE = GOLDEN / "packages" / "markdown"
RENDERED = {
    "sample.html": "sundown.renderHTML(text)",
    "sample_colored.txt": "sundown.renderASCII(text)",
    "sample_plain.txt": "sundown.renderASCII(text, require('sundown.ascii').bw())",
}


@pytest.mark.parametrize("name", RENDERED)
def test_a_page_is_printed_as_sundown_printed_it(tmp_path: Path, name: str) -> None:
    run_lua(
        tmp_path,
        f"""
        local function content_of(name)
           local file = io.open('{SAMPLE}/' .. name)
           local text = file:read('*a')
           file:close()
           return text
        end
        local sundown, text = require 'sundown', content_of('sample.md')
        local got, wanted = {RENDERED[name]}, content_of('{name}')
        local line = 1
        for place = 1, #wanted do
           if got:byte(place) ~= wanted:byte(place) then
              error(('line %d: %s'):format(line, got:sub(place, place + 40)))
           end
           if wanted:byte(place) == 10 then line = line + 1 end
        end
        assert(#got == #wanted)
        """,
    )


def test_a_style_of_ones_own(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local ascii = require 'sundown.ascii'
        local style = ascii.bw()
        local own = {}
        for kind, code in pairs(style) do own[kind] = code end
        own.emph, own.none, own.maxlsz = '<', '>', 12
        assert(ascii.render('some *words* to break', own) == '\\nsome\\n<words> to\\nbreak')
        own.code = nil
        local ok, problem = pcall(ascii.render, 'text', own)
        assert(not ok and problem:find('the style has no text for code', 1, true), problem)
        """,
    )


def test_help_comes_from_the_markdown_beside_a_package(tmp_path: Path) -> None:
    package = tmp_path / "wave"
    (package / "doc").mkdir(parents=True)
    (package / "init.lua").write_text(
        "wave = { sine = function() end, none = function() end }\nreturn wave\n"
    )
    (package / "doc" / "index.md").write_text(
        '<a name="wave.dok"></a>\n# Waves #\nAll *about* waves.\n\n'
        '<a name="wave.sine"></a>\n## sine(x) ##\nThe sine of `x`:\n\n    wave.sine(1) > 0\n'
    )
    run_lua(
        tmp_path,
        """
        package.path = arg[1] .. '/?.lua;' .. arg[1] .. '/?/init.lua;' .. package.path
        require 'wave'
        local dok = require 'dok'
        local c = dok.colors
        assert(help == dok.help and browse == dok.browse)
        local sine = dok.help(wave.sine, true)
        local wanted = c.Magenta .. 'sine(x)' .. c.none .. '\\n\\n\\nThe sine of' .. c.green .. ' x '
           .. c.none .. ':\\n' .. c.cyan .. c.green .. ' wave.sine(1) > 0 ' .. c.none .. c.none
        assert(sine == wanted, ('%q'):format(sine))
        assert(dok.help(wave.none, true) == nil)
        assert(dok.help(wave, true):find(c.Black .. 'about' .. c.none .. ' waves', 1, true))
        for _, name in ipairs{ 'wave.sine', 'wave:sine' } do
           assert(dok.help(name, true) == sine)
           local usage = dok.usage(name, 'unused', nil, { type = 'number', help = 'x' })
           assert(usage:find(sine, 1, true) == 1)
        end
        """,
        str(tmp_path),
    )


def test_arguments_by_dok(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local dok = require 'dok'
        local function area(...)
           return select('#', dok.unpack({ ... }, 'area', 'An area.',
              { arg = 'width', type = 'number', help = 'w', req = true },
              { arg = 'height', type = 'number', help = 'h', defaulta = 'width' })),
              dok.unpack({ ... }, 'area', 'An area.',
              { arg = 'width', type = 'number', help = 'w', req = true },
              { arg = 'height', type = 'number', help = 'h', defaulta = 'width' })
        end
        local count, values, width, height = area(3)
        assert(count == 3 and values.width == 3 and width == 3 and height == 3)
        local _, _, w, h = area{ height = 2, width = 5 }
        assert(w == 5 and h == 2)
        dok.dontusecolors()
        local printed, show = {}, print
        print = function(line) printed[#printed + 1] = line end
        assert(not pcall(area))
        print = show
        assert(printed[1] == 'missing argument: width')
        dok.usecolors()
        local ok, problem = pcall(dok.error, 'bad', 'here')
        assert(not ok and problem:find(dok.colors.Red .. '<here> bad' .. dok.colors.none, 1, true))
        """,
    )


def test_env_makes_the_globals_of_the_old_prompt(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'env'
        local t = table()
        t:insert('a')
        t:insert('b')
        assert(#t == 2 and t:concat(',') == 'a,b' and #table() == 0)
        assert(type(help) == 'function' and help == dok.help and type(exit) == 'function')
        """,
    )

"""The Lua that Torch7's LuaJIT speaks (LUAJIT_ENABLE_LUA52COMPAT), on a LuaJIT built without that option."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lupa import luajit21

from lua_compat import run
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_th
from tests.helpers.places import GOLDEN, ROOT

SOURCE_LUA = ROOT / "lua_compat" / "lua" / "dialect" / "source.lua"


def th(*words: str, cwd: Path = ROOT) -> str:
    command = [sys.executable, "-m", "lua_compat", *words]
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def run_lua(tmp_path: Path, code: str) -> None:
    """Runs Lua that asserts what it expects."""
    script = tmp_path / "script.lua"
    script.write_text(code)
    assert run(script) == 0


def test_programs_give_what_torch7s_luajit_gave(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(GOLDEN / "probe_dialect.lua") == 0
    assert capfd.readouterr().out.splitlines() == (GOLDEN / "dialect.txt").read_text().splitlines()


def test_random_programs_give_what_torch7s_luajit_gave(capfd: pytest.CaptureFixture[str]) -> None:
    """Sequences of tokens, most of them no programs: they run, or raise the same error on the same line."""
    script = GOLDEN / "probe_dialect_random.lua"
    runtime = Runtime(str(script), ["1", "1000"])
    assert runtime.run_string("getmetatable('').__mod = nil") == 0  # Penlight's operator, which LuaJIT lacks
    assert runtime.run_file(str(script)) == 0
    expected = (GOLDEN / "dialect_random.txt").read_text().splitlines()
    assert capfd.readouterr().out.splitlines() == expected
    assert sum("] gave " in line for line in expected) > 150


def test_comparisons_give_what_torch7s_luajit_gave(capfd: pytest.CaptureFixture[str]) -> None:
    """Of values of all kinds: whose metamethod is called, and how an error names the types."""
    assert run(GOLDEN / "probe_comparisons.lua", ["1", "3000"]) == 0
    assert capfd.readouterr().out.splitlines() == (GOLDEN / "comparisons.txt").read_text().splitlines()


def test_comparisons_without_metamethods_are_not_rewritten(tmp_path: Path) -> None:
    """They cost what they cost; __len is none of theirs."""
    run_lua(
        tmp_path,
        """
        local function length(text) return #string.dump(load(text, '=p'), true) end
        local text = 'local a, b = ... return a < b'
        local plain = length(text)
        load("return '__l" .. "en'")
        assert(length(text) == plain)
        load("return '__l" .. "e'")
        assert(length(text) > plain)
        """,
    )


def test_length_of_modules(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local net = nn.Sequential():add(nn.Identity()):add(nn.Identity())
        assert(#net == 2 and #nn.Sequential() == 0)
        local ok, problem = pcall(function() return #nn.Concat(1) end)
        assert(not ok and problem:match('script.lua:5: nn.Concat has no length operator$'), problem)
        assert((#torch.ones(2, 3))[2] == 3 and #torch.LongStorage(4) == 4)
        local ok, problem = pcall(function() return net + 1 end)
        assert(problem:match('script.lua:8: both nn.Sequential and %(null%) have no addition operator$'))
        """,
    )


def test_every_way_to_load_lua_takes_the_dialect(tmp_path: Path) -> None:
    (tmp_path / "part.lua").write_text(
        "#!/usr/bin/env th\nlocal f = tostring\nlocal s = f\n(#LONG)\nreturn s"
    )
    (tmp_path / "broken.lua").write_text("local a = #'x'\nlocal b = (#)")
    run_lua(
        tmp_path,
        f"""
        LONG = setmetatable({{}}, {{ __len = function() return 42 end }})
        local path = '{tmp_path}/part.lua'
        assert(require 'part' == '42' and dofile(path) == '42' and loadfile(path)() == '42')
        assert(require './part' == '42' and paths.dofile(path) == '42')
        assert(load('return #LONG')() == 42 and loadstring('return #LONG')() == 42)
        assert(setfenv(loadfile(path), {{ tostring = tostring, LONG = 'four' }})() == '4')
        assert(loadfile(path, 't', {{ tostring = tostring, LONG = 'four' }})() == '4')
        assert(not loadfile(path, 'b') and select(2, loadfile('/no/file')):match('^cannot open /no/file'))
        local f = load(string.dump(function(t) return #t, #LONG end))
        assert(f('abc') == 3 and select(2, f('abc')) == 42)
        local saved = torch.deserialize(torch.serialize(function(t) return #t end))
        assert(saved(LONG) == 42)
        local ok, problem = pcall(require, 'broken')
        assert(problem:match("^error loading module 'broken' from file '.*/broken.lua':\\n\\t.*/broken.lua"
           .. ":2: unexpected symbol near '%)'$"), problem)
        """,
    )


def test_lines_of_a_call_over_lines(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local function line_of(program)
           local ok, problem = pcall(assert(load(program, '=p')))
           return tonumber(problem:match('p:(%d+)')), problem
        end
        assert(line_of('local t = {}\\nreturn t.x.y\\n\\n(1)') == 2)      -- what is called
        assert(line_of('local t = {}\\nreturn t.x\\n\\n(1)') == 4)        -- the call
        assert(line_of('local f = tostring\\nreturn f\\n(\\nzz.y)') == 4) -- its arguments
        assert(line_of('local f = tostring\\nreturn f\\n"a"\\n(1)') == 4) -- one that follows another
        local here = load('local function at() return debug.getinfo(2, "l").currentline end\\n'
           .. 'local n = at\\n\\n() return n')
        assert(here() == 4)
        """,
    )


def test_compiled_loops_stay_compiled(tmp_path: Path) -> None:
    """After every kind of operand has come by, a loop with # is compiled, and hardly a trace is given up."""
    run_lua(
        tmp_path,
        """
        require 'nn'
        local many = { nn.Sequential(), torch.ones(2), torch.LongStorage(1), 'text', {},
           setmetatable({}, { __len = function() return 1 end }), setmetatable({}, {}) }
        for i = 1, 20000 do local x = many[i % #many + 1] local n = #x end
        for i = 1, 200 do pcall(function() local x return #x end) end

        local traces, given_up = 0, 0
        jit.attach(function(what)
           if what == 'stop' then traces = traces + 1 elseif what == 'abort' then given_up = given_up + 1 end
        end, 'trace')
        local function counted(x)
           traces, given_up = 0, 0
           local loop = load('local x = ... local n = 0 for i = 1, 1e5 do n = n + #x end return n')
           return loop(x), traces, given_up
        end
        for _, case in ipairs{ { { 1, 2 }, 2 }, { 'abc', 3 }, { setmetatable({ 1 }, {}), 1 },
              { setmetatable({}, { __len = function() return 4 end }), 4 } } do
           local sum, made, lost = counted(case[1])
           assert(sum == case[2] * 1e5 and made >= 1 and lost <= 2, sum .. ' ' .. made .. ' ' .. lost)
        end
        """,
    )


def test_require_looks_for_plain_names_in_the_working_folder(tmp_path: Path) -> None:
    """As trepl's require does where Lua's own finds nothing: with its ending or without, each time again."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "main").mkdir()
    (tmp_path / "lib" / "util.lua").write_text("count = (count or 0) + 1 return count")
    (tmp_path / "lib" / "bare").write_text("return 'bare ' .. #{1, 2}")
    (tmp_path / "main" / "script.lua").write_text(
        "print(require 'lib/util.lua', require 'lib/util.lua', require 'lib/util', require 'lib/util')\n"
        "print(require 'lib/bare', (pcall(require, 'lib/none')))"
    )
    assert th("main/script.lua", cwd=tmp_path) == "1\t2\t3\t3\nbare 2\tfalse\n"


def test_bit32(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local b = require 'bit32'
        assert(b.band() == 0xffffffff and b.bor() == 0 and b.band(-1, 0xf0) == 0xf0)
        assert(b.bnot(0) == 0xffffffff)
        assert(b.bor(1, 2, 4) == 7 and b.bxor(0xff, 0x0f) == 0xf0 and b.btest(3, 2) and not b.btest(1, 2))
        assert(b.lshift(1, 31) == 0x80000000 and b.lshift(1, 32) == 0 and b.lshift(8, -3) == 1)
        assert(b.rshift(-1, 4) == 0x0fffffff and b.arshift(-16, 2) == 0xfffffffc)
        assert(b.arshift(-1, 40) == 0xffffffff and b.arshift(8, -1) == 16)
        assert(b.lrotate(0x80000001, 1) == 3 and b.rrotate(1, 1) == 0x80000000)
        assert(b.extract(0xabcd, 4, 8) == 0xbc and b.replace(0, 0xff, 8, 4) == 0xf00 and b.extract(8, 3) == 1)
        assert(not pcall(b.extract, 1, 30, 4) and not pcall(b.extract, 1, -1))
        require 'trepl' require 'env'
        """,
    )


def test_lua_utf8(tmp_path: Path) -> None:
    """Against Python's own UTF-8."""
    text = "aé€😀z"
    codes = ", ".join(str(ord(c)) for c in text)
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    run_lua(
        tmp_path,
        f"""
        local utf8 = require 'lua-utf8'
        local text = io.open(paths.dirname(arg[0]) .. '/text.txt'):read('*a')
        assert(utf8.char({codes}) == text and utf8.len(text) == 5 and #text == {len(text.encode())})
        local all = {{ utf8.codepoint(text, 1, -1) }}
        for i, code in ipairs{{ {codes} }} do assert(all[i] == code and utf8.byte(text, i) == code) end
        local places, n = {{}}, 0
        for place, code in utf8.codes(text) do n = n + 1 assert(code == all[n]) places[n] = place end
        n = 0
        for place, code in utf8.next, text do
           n = n + 1
           assert(place == places[n] and code == all[n])
        end
        assert(n == 5 and utf8.next(text, 4, -1) == 2 and utf8.next(text, 4, 0) == 4 and utf8.next('') == nil)
        for i = 1, 5 do
           assert(utf8.offset(text, i) == places[i] and utf8.offset(text, i - 6) == places[i])
        end
        assert(utf8.offset(text, 0, 5) == 4 and utf8.offset(text, 9) == nil)
        assert(utf8.offset(text, 6) == #text + 1)
        assert(utf8.sub(text, 2, 3) == utf8.char(233, 8364) and utf8.sub(text, -1) == 'z')
        assert(utf8.sub(text, 4, 2) == '')
        assert(utf8.reverse(text) == 'z' .. utf8.char(128512, 8364, 233) .. 'a')
        assert(utf8.insert(text, 2, '-') == 'a-' .. text:sub(2) and utf8.remove(text, 2, 4) == 'az')
        assert(utf8.remove('ab') == 'a' and utf8.insert('ab', 'c') == 'abc')
        local count, bad = utf8.len('a\\195')
        assert(count == nil and bad == 2)
        assert(utf8.len('\\237\\160\\128') == nil and utf8.len('\\192\\128') == nil)
        local n = 0
        for c in text:gmatch(utf8.charpattern) do n = n + 1 end
        assert(n == 5 and not pcall(utf8.char, 0x110000) and not pcall(utf8.codepoint, '\\255'))
        """,
    )


def test_profiles(tmp_path: Path) -> None:
    """jit.p names the function that takes the time, its line, zone and callers."""
    run_lua(
        tmp_path,
        r"""
        local profiler, zone = require 'jit.p', require 'jit.zone'
        local function busy() local n = 0 for i = 1, 1e5 do n = n + math.sin(i) end return n end
        local function work(seconds)
           local start = os.clock()
           while os.clock() - start < seconds do busy() end
        end
        local out = paths.dirname(arg[0]) .. '/out.txt'
        for options, expected in pairs{
           f = '^%s*%d+%%  busy\n', F = '^%s*%d+%%  script.lua:busy\n', l = '^%s*%d+%%  script.lua:3\n',
           r = '^ +%d+  busy\n',
           zf = '^%s*%d+%%  work\n  %-%- +%d+%%  busy', s = '^%s*%d+%%  busy\n  <%- +%d+%%  work\n',
           ['2'] = '^%s*%d+%%  busy < work', G = ';work;busy %d+\n', a = '| +local function busy',
        } do
           profiler.start(options .. 'i2', out)
           zone 'work'
           work(0.15)
           assert(zone.get() == 'work' and zone() == 'work' and zone() == nil)
           profiler.stop()
           local text = io.open(out):read('*a')
           assert(text:find(expected), options .. '\n' .. text)
        end
        assert(not pcall(profiler.start, 'q'))
        """,
    )


def test_bytecode_and_traces_are_listed(tmp_path: Path) -> None:
    """In LuaJIT's own form, as its jit.bc and jit.v print them."""
    run_lua(
        tmp_path,
        r"""
        local bc, out = require 'jit.bc', paths.dirname(arg[0]) .. '/out.txt'
        local function read() return io.open(out):read('*a') end
        local file = io.open(out, 'w')
        bc.dump(load("local t = ... for i = 1, 10 do t[i] = t.x .. 'a\\n' end return t, 1.5, -3", '=p'), file)
        file:close()
        local listing = [[
-- BYTECODE -- p:0-1
0001    VARG     0   2   0
0002    KSHORT   1   1
0003    KSHORT   2  10
0004    KSHORT   3   1
0005    FORI     1 => 0011
0006 => TGETS    5   0   0  ; "x"
0007    KSTR     6   1      ; "a\n"
0008    CAT      5   5   6
0009    TSETV    5   0   4
0010    FORL     1 => 0006
0011 => MOV      1   0
0012    KNUM     2   0      ; 1.5
0013    KSHORT   3  -3
0014    RET      1   4

]]
        assert(read() == listing, read())
        local traces = require 'jit.v'
        traces.start(out)
        load('local n = 0 for i = 1, 1000 do n = n + i end', '=q')()
        traces.off()
        -- LuaJIT counts by addresses what runs often, and so may compile another piece right after this one.
        assert(('\n' .. read()):find('\n%[TRACE +%d+ q:1 loop%]\n'), read())
        """,
    )


def test_a_profile_is_written_at_the_end_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "busy.lua"
    script.write_text(
        "require('jit.p').start 'i2'\n"
        "local function busy() local n = 0 for i = 1, 1e6 do n = n + math.sin(i) end end\n"
        "local start = os.clock()\nwhile os.clock() - start < 0.2 do busy() end"
    )
    assert re.match(r"\s*\d+%  busy\n", th(str(script)))


# The rewriter alone, on texts made at random


class Rewriter:
    """dialect/source.lua in a LuaJIT of its own; ``load`` is LuaJIT's."""

    def __init__(self) -> None:
        self.lua = luajit21.LuaRuntime(encoding="latin-1")
        self.source = self.lua.eval("function(text) return assert(loadstring(text))() end")(
            SOURCE_LUA.read_text()
        )
        self.load = self.lua.eval("function(text) return (loadstring(text, '=p')) end")
        self.dump: Callable[[str], str | None] = self.lua.eval(
            "function(text) local f = loadstring(text, '=p') return f and string.dump(f) end"
        )


@pytest.fixture(scope="module")
def rewriter() -> Rewriter:
    return Rewriter()


PIECES = [
    *(
        "#",
        "#",
        "#",
        "-",
        "--",
        "[",
        "]",
        "[[",
        "]]",
        "[=[",
        "]=]",
        "--[[",
        "--[==[",
        "]==]",
        '"',
        "'",
        "\\",
        "\\z",
    ),
    *(
        "\n",
        "\r",
        "\r\n",
        " ",
        "\t",
        "a",
        "x1",
        "é",
        "return",
        "5",
        "0x",
        "1e",
        "..",
        ".",
        "(",
        ")",
        "{",
        "}",
        ";",
        "::",
    ),
    *("break", "goto", "end", "do", "=", "false", "^", '\\"', "\\'", "\\\n"),
]

# Tokens as Lua's manual describes them: independent of the rewriter's own reading.
TOKEN = re.compile(
    r"""
      (?P<comment>--\[(?P<c>=*)\[.*?\](?P=c)\]|--(?!\[=*\[)[^\r\n]*)
    | (?P<string>\[(?P<s>=*)\[.*?\](?P=s)\]
        | "(?:\\z[\ \t\r\n\v\f]*|\\\r\n|\\\n\r|\\.|[^"\\\r\n])*"
        | '(?:\\z[\ \t\r\n\v\f]*|\\\r\n|\\\n\r|\\.|[^'\\\r\n])*')
    | (?P<blank>[\ \t\r\n\v\f]+)
    | (?P<word>[A-Za-z_\x80-\xff][\w\x80-\xff]*)
    | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def tokens(text: str) -> list[tuple[str, str, int]]:
    """Kind, text and line of each token but blanks; a first line that begins with # is none."""
    found, place = [], 0
    if text.startswith("#"):
        place = re.search(r"[\r\n]|\Z", text).start()
    while place < len(text):
        match = TOKEN.match(text, place)
        assert match is not None
        kind = next(
            name for name in ("comment", "string", "blank", "word", "symbol") if match[name] is not None
        )
        if kind != "blank":
            found.append((kind, match[0], text.count("\n", 0, place)))
        place = match.end()
    return found


@settings(max_examples=600, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=40))
def test_only_lengths_are_rewritten(rewriter: Rewriter, pieces: list[str]) -> None:
    """A # becomes false^ where it is a token, and nothing else changes: no string, no comment, no line."""
    text = "".join(pieces)
    rewritten = rewriter.source.with_lengths(text)
    if rewriter.load(rewritten) is None and rewriter.load(text) is None:
        # no program either way: it may have an end that is missing
        assert rewritten.count("\n") == text.count("\n")
        return
    expected = []
    for kind, token, line in tokens(text):
        lengths = [("word", "false", line), ("symbol", "^", line)]
        expected += lengths if (kind, token) == ("symbol", "#") else [(kind, token, line)]
    assert tokens(rewritten) == expected
    assert (rewriter.load(rewritten) is None) == (rewriter.load(text) is None)


@settings(max_examples=300, deadline=None)
@given(
    depth=st.recursive(
        st.sampled_from(["a", "'#'", "[[#]]", "7", "{1; 2}", "f(1)", "a.b[#a]", "..."]),
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["#", "-", "not ", "# ", "#--#\n"]), inner).map("".join),
            st.tuples(inner, st.sampled_from(["+", "..", "^", "==", " and ", "<", "*"]), inner).map("".join),
            inner.map(lambda text: f"({text})"),
            inner.map(lambda text: f"function() return {text.replace('...', 'a')} end"),
        ),
        max_leaves=12,
    )
)
def test_a_rewritten_length_binds_as_a_length_does(rewriter: Rewriter, depth: str) -> None:
    """The same tree: with the operator put back by its meaning, the programs compute the same."""
    program = f"local a, f = {{1, 2, b = {{3, 4}}}}, tostring return {depth}"
    rewritten = rewriter.source.with_lengths(program)
    compare = rewriter.lua.eval(
        """function(one, other)
           local length = { __pow = function(_, x) return #x end }
           debug.setmetatable(false, length)
           local f, g = loadstring(one, '=p'), loadstring(other, '=p')
           if not f or not g then return f == g, 'loads' end
           local ok, value = pcall(f, 'dots')
           local same, other_value = pcall(g, 'dots')
           debug.setmetatable(false, nil)
           local function plain(x) return (type(x) == 'table' or type(x) == 'function') and type(x) or x end
           value, other_value = plain(value), plain(other_value)
           return ok == same and (not ok or value == other_value or value ~= value), tostring(value)
        end"""
    )
    same, value = compare(program, rewritten)
    assert same, (program, rewritten, value)


@settings(max_examples=300, deadline=None)
@given(
    statements=st.lists(
        st.sampled_from(
            [
                "local a = 1",
                "f(1)",
                "do local b end",
                "if a then f(2) end",
                "while a do break end",
                "::l1::",
                "return 1",
            ]
            + [
                "for i = 1, 2 do goto c ::c:: end",
                "local t = {1; 2}",
                "function g(a) return a end",
                "repeat until a",
            ]
        ),
        max_size=8,
    ),
    separator=st.sampled_from([" ", "\n", "; ", ";\n"]),
)
def test_programs_of_plain_lua_are_left_as_they_are(
    rewriter: Rewriter, statements: list[str], separator: str
) -> None:
    text = separator.join(statements)
    changed = rewriter.source.with_statements(text)
    if rewriter.load(text) is not None:
        assert rewriter.dump(changed) == rewriter.dump(text)


def test_halves_are_written_further_from_zero(tmp_path: Path) -> None:
    """As real Torch7 wrote them: today's LuaJIT writes the even one of the two numbers."""
    run_lua(
        tmp_path,
        """
        local function check(expected, format, ...)
           local text = string.format(format, ...)
           assert(text == expected, text .. ' instead of ' .. expected)
        end
        check('0.13 0.38 -0.13', '%.2f %.2f %.2f', 0.125, 0.375, -0.125)
        check('1 1 2 3 -3', '%.0f %.0f %.0f %.0f %.0f', 0.5, '0.5', 1.5, 2.5, -2.5)
        check('   62.3|62.3%|+62.3', '%7.1f|%.1f%%|%+.1f', 62.25, 62.25, 62.25)
        check('1.3e+02 1.1e+02 1.3E-01', '%.2g %.2g %.1E', 125, 105, 0.125)
        check('4.882813e-04 100001', '%e %g', 2 ^ -11, 100000.5)
        check('0.015413284301757813', '%.17g', 0.0154132843017578125)
        check('4.7683715820313e-07 4.76837158203125e-07', '%s %.15g', 2 ^ -21, 2 ^ -21)
        check('nan inf -inf 0', '%.0f %.1f %.2f %.0f', 0 / 0 * -1, 1 / 0, -1 / 0, 0)
        check('3 3 1 3e+00', '%.f %.g %.F %.e', 2.5, 2.5, 0.5, 2.5)
        for _, tiny in ipairs{ 5e-324, 1e-300, 1e-160, 2 ^ -507 } do -- the current LuaJIT writes others
            check('0.000000 -0.00     0.0', '%f %.2f %7.1F', tiny, -tiny, tiny)
            check('0.' .. ('0'):rep(99), '%.99f', tiny)
        end
        assert(tostring(-2 ^ -21) == '-4.7683715820313e-07' and tostring(0.1) == '0.1')
        assert(tostring(torch.Tensor{ 1 / 32, 0.5 }):match('0.0313'))
        for _, wrong in ipairs{ { '%.1f', {} }, { '%.1f %d', 0.25 } } do
            local ok, problem = pcall(function() return (wrong[1]):format(wrong[2]) end)
            assert(problem:find("bad argument #%d to '[format?]+'"), problem)
        end
        """,
    )


def test_comparisons_where_numbers_have_a_metatable() -> None:
    code = """
        local asked = setmetatable({}, { __lt = function() return true end })
        debug.setmetatable(1.0, { __add = function(a, b) return b + a end })
        assert(asked < asked)
        local f = loadstring('return function(n) while n > 0 do n = n - 1 end return n < 3 end')()
        print(f(2), torch.rand(3):size(1))
    """
    result = run_th("-e", code)
    assert result.stdout == "true\t3\n", result.stderr


def test_what_has_been_compiled_is_not_forgotten(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local made, forgotten = 0, 0
        jit.attach(function(what)
            if what == 'stop' then made = made + 1 elseif what == 'flush' then forgotten = forgotten + 1 end
        end, 'trace')
        for k = 1, 2000 do loadstring('local x = 0 for i = 1, 200 do x = x + ' .. k .. ' end return x')() end
        assert(made > 1500 and forgotten == 0, ('%d traces, %d times forgotten'):format(made, forgotten))
        """,
    )


def test_methods_are_inherited_and_hooks_asked_first_at_any_depth(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local first = torch.class('First')
        function first:base() return 'first' end
        local classes, parent = { first }, 'First'
        for k = 2, 6 do
            classes[k], parent = torch.class('Class' .. k, parent), 'Class' .. k
            classes[k]['own' .. k] = k % 2 == 0 and k
        end
        local object = Class6()
        local function check()
            assert(object:base() == 'first' and object.missing == nil)
            for k = 2, 6 do assert(object['own' .. k] == (k % 2 == 0 and k)) end
        end
        check()
        for _, class in ipairs(classes) do
            class.__index__ = function(_, key)
                if key == 'hooked' or key == 'base' then return function() return 'hook' end, true end
            end
            assert(object:hooked() == 'hook' and object:base() == 'hook')
            class.__index__ = nil
            check()
        end
        """,
    )


def test_levels_of_errors_that_lead_to_a_protected_call_name_its_caller() -> None:
    code = """
        local function fails(level) error('text', level) end
        local function outer(level) fails(level) end
        local function text(...)
            local _, problem = pcall(...) return problem
        end
        print(text(fails, 2), text(outer, 3), text(fails, 3), text(outer, 4))
        print(select(2, xpcall(fails, function(problem) return problem end, 3)))
    """
    # as Torch7's LuaJIT prints it
    expected = "text\ttext\t(command line):5: text\t(command line):5: text\n(command line):8: text\n"
    assert run_th("-e", code).stdout == expected

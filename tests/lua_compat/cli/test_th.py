"""The command th, as a person types it."""

import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.commands import run_python, run_th, started_th
from tests.helpers.places import ROOT
from tests.helpers.sandbox import SANDBOX


def test_script_gets_its_arguments_and_finds_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "helper.lua").write_text("return { twice = function(x) return 2 * x end }")
    (tmp_path / "main.lua").write_text(
        "#!/usr/bin/env th\nlocal helper = require 'helper'\n"
        "print(arg[0]:match('[^/]*$'), #arg, ..., arg[2])\n"
        "print(helper.twice(21))"
    )
    result = run_th(tmp_path / "main.lua", "-iter", "3", fresh=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "main.lua\t2\t-iter\t3\n42\n"


def test_require_of_paths_as_trepl_has_it(tmp_path: Path) -> None:
    files = {
        "main.lua": """
            print(require './sub/counts', require('./sub/counts.lua'), package.loaded['./sub/counts'])
            print((require './sub')) -- its init.lua
            print(require('./sub/numbers').x, (pcall(require, './sub/counts')))
            torch.save(arg[1] .. '/saved.th', torch.ones(3))
            torch.save(arg[1] .. '/saved.net', { 7 })
            print(require('./saved'):sum(), require('./saved.net')[1])
            for _, name in ipairs{ './nothing', 'nothing' } do
               local ok, problem = pcall(require, name)
               print(ok, problem:match('^[^:]*'), problem:find(arg[1], 1, true) ~= nil)
            end
            print(pcall(require, './broken'))
        """,
        "up.lua": "return 'up'",
        "broken.lua": "return {",
        "sub/counts.lua": "count = (count or 0) + 1 assert(... == nil) return count",
        "sub/init.lua": "return require '../up' .. ', ' .. require 'beside' .. ', ' .. require './deep'",
        "sub/beside.lua": "return ...",
        "sub/deep/init.lua": "local here = require('.up') return here",
        "sub/deep/.up.lua": "return 'a hidden file'",
        "sub/numbers.json": '{"x": 5}',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    result = run_th(str(tmp_path / "main.lua"), str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:4] == ["1\t2\tnil", "up, beside, a hidden file", "5\ttrue", "3\t7"]
    assert lines[4:6] == [f"false\tmodule '{name}' not found\ttrue" for name in ("./nothing", "nothing")]
    assert lines[6].startswith("false\t") and "broken.lua:1: unexpected symbol" in lines[6]


def test_code_and_packages_on_the_command_line() -> None:
    result = run_th("-l", "paths", "-e", "print(torch.Tensor{1, 2}:sum(), type(paths.cwd))")
    assert (result.stdout, result.returncode) == ("3\tfunction\n", 0)


def test_a_package_that_is_not_there_is_a_wrong_command_line() -> None:
    result = run_th("-l", "nosuchpackage", "-e", "print('not reached')")
    message = "th: -l nosuchpackage: no package 'nosuchpackage' here or in Lua's path\n"
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message)


def test_print_writes_tables_out_in_their_place(tmp_path: Path) -> None:
    """As trepl's print does; numbers and strings as Lua's own prints them."""
    script = tmp_path / "prints.lua"
    script.write_text(
        "io.write('before ')\n"
        "print({ rate = 0.5, name = 'x', { 1, {} }, t = torch.FloatTensor(2, 3) }, 'after', {})\n"
        "print('a', 1, nil)\n"
        "print(setmetatable({}, { __tostring = function() return 'its text' end }), nil)\n"
        "print({ { { { { { 1 } } } } } })\n"
        "setprintlevel(1) print({ {1} })\n"
        "setprintlevel(0) print({}) print(pcall(setprintlevel, -1))\n"
    )
    expected = (
        'before {\n  1 : \n    {\n      1 : 1\n      2 : {}\n    }\n  name : "x"\n  rate : 0.5\n'
        "  t : FloatTensor - size: 2x3\n}\nafter\t{}\na\t1\tnil\nits text\tnil\n"
    )
    result = run_th("-gg", str(script))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(expected)
    rest = result.stdout.removeprefix(expected)
    assert "\n                  1 : {...}\n                }\n" in rest  # the fifth table
    assert "\n}\n{\n  1 : {...}\n}\ntable: 0x" in rest
    assert "a number from 0 up expected" in rest


def test_who_and_import_are_for_scripts_too() -> None:
    code = "require 'nn' mine = torch.ones(2) import 'sys' print(tic == sys.tic) who()"
    result = run_th("-e", code)
    assert (result.returncode, result.stderr) == (0, "")
    first, *names = result.stdout.splitlines()
    assert first == "true"
    assert "mine                 torch.DoubleTensor of size 2" in names
    assert not any(line.split()[0] in ("nn", "torch", "print", "arg") for line in names)


PENLIGHT = """
return function(globals)
   rawset(globals, 'utils', { version = 'a stand-in' })
   setmetatable(globals, { __index = function(_, name)
      if name == 'stringx' or name == 'text' then
         local found = require('pl.' .. name)
         rawset(globals, name, found)
         return found
      end
   end })
end
"""


@pytest.mark.parametrize("options", [[], ["-g"], ["-gg"]])
def test_names_of_penlight_are_global_where_it_is_installed(tmp_path: Path, options: list[str]) -> None:
    folder = tmp_path / "pl"
    folder.mkdir()
    (folder / "import_into.lua").write_text(PENLIGHT)
    (folder / "stringx.lua").write_text("return { loaded = true }")
    (folder / "text.lua").write_text(
        "return { format_operator = function() getmetatable('').__mod = string.format end }"
    )
    (tmp_path / "pl.lua").write_text("error('the script has a file of this name')")
    code = "print(utils.version, stringx.loaded, '<%s>' % 'x', pcall(function() return nothing end))"
    (tmp_path / "main.lua").write_text(code)
    result = run_th(*options, str(tmp_path / "main.lua"))
    unknown = "false\t" if options == ["-gg"] else "true\tnil\n"
    assert result.stdout.startswith("a stand-in\ttrue\t<x>\t" + unknown)
    assert ("undeclared variable: nothing" in result.stderr) == (options == ["-g"])
    assert result.returncode == 0 and "stringx" not in result.stderr


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("os.exit(3)", 3),
        ("os.exit()", 0),
        ("os.exit(false)", 1),
        ("pcall(os.exit, 4)", 4),
        ("os.exit(3.7)", 3),
        ("os.exit('5')", 5),
        ("os.exit(-1)", 255),
        ("os.exit(2 ^ 31 + 3)", 0),
        ("if not pcall(os.exit, {}) then os.exit(6) end", 6),
    ],
)
def test_exit_codes(code: str, status: int) -> None:
    result = run_th("-e", f"io.write('before') {code} io.write('after')")
    assert (result.returncode, result.stdout) == (status, "before")


def test_finalisers_are_called_at_the_end_and_files_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "main.lua").write_text(
        """
        local function finalised(call)
           local userdata = newproxy(true)
           getmetatable(userdata).__gc = call
           return userdata
        end
        kept = { finalised(function() print 'the oldest' end), torch.rand(3), finalised(function()
           print 'the newest'
           finalised(function() print 'made by another' end)
        end) }
        file = io.open(arg[1], 'w')
        file:write 'whole'
        """
    )
    result = run_th(tmp_path / "main.lua", tmp_path / "file")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "the newest\nthe oldest\nmade by another\n"
    assert (tmp_path / "file").read_text() == "whole"


def test_uncaught_error_has_a_lua_traceback_and_exit_code_1(tmp_path: Path) -> None:
    script = tmp_path / "fails.lua"
    script.write_text(
        "local function inner() torch.mm(torch.ones(2, 3), torch.ones(2, 3)) end\nprint('so far')\ninner()\n"
    )
    result = run_th(str(script))
    assert (result.returncode, result.stdout) == (1, "so far\n")
    assert "size mismatch, m1: [2 x 3], m2: [2 x 3]" in result.stderr
    assert "fails.lua:1: in function 'inner'" in result.stderr
    assert "boot.lua" not in result.stderr and "Traceback" not in result.stderr


def test_an_error_in_a_net_names_the_line_of_the_script_in_both_traces(tmp_path: Path) -> None:
    script = tmp_path / "fails.lua"
    script.write_text("require 'nn'\n\nnn.Sequential():add(nn.Linear(2, 3)):forward(torch.ones(5))\n")
    result = run_th(str(script))
    trace, warning, again = result.stderr.partition("WARNING: If you see a stack trace below")
    assert "size mismatch, [3 x 2], [5]" in trace and "[C]: in function 'xpcall'\n" in trace
    for text in (trace, again):
        assert text.rstrip().endswith("fails.lua:3: in main chunk")
    assert warning and "boot.lua" not in result.stderr


def test_errors_of_python_are_strings_that_lua_can_catch() -> None:
    code = """
        local function singular() return torch.inverse(torch.zeros(2, 2)) end
        local ok, problem = pcall(singular)
        print(ok, type(problem), problem:match('singular'))
        print(xpcall(singular, function(e) return type(e) .. ' handled' end))
        local thread = coroutine.create(singular)
        local resumed, text = coroutine.resume(thread)
        print(resumed, type(text))
        print(pcall(function() end)) -- no more values than there were
        print(coroutine.resume(coroutine.create(function() return nil, nil end)))
    """
    expected = "false\tstring\tsingular\nfalse\tstring handled\nfalse\tstring\ntrue\ntrue\tnil\tnil\n"
    assert run_th("-e", code).stdout == expected


def test_handlers_of_protected_calls_get_their_own_errors() -> None:
    """Though calls with one handler share what is made for it: one in the other, in turns, in a coroutine."""
    code = """
        local function first(e) return '1 ' .. tostring(e) end
        local function second(e) return '2 ' .. tostring(e) end
        local function fail() error('e', 0) end
        print(xpcall(fail, first)) print(xpcall(fail, second))
        print(xpcall(function() xpcall(fail, second) error('later', 0) end, first))
        local thread = coroutine.create(function()
            return xpcall(function() coroutine.yield() fail() end, first)
        end)
        coroutine.resume(thread)
        xpcall(fail, second)
        print(coroutine.resume(thread))
        print(select('#', xpcall(function() end, first)))
        print(xpcall(function() return torch.inverse(torch.zeros(2, 2)) end, type))
        local kept = setmetatable({ {} }, { __mode = 'v' })
        -- in a coroutine, as the collector keeps what lies in a stack's unused places
        local function handler_with(object) return function() return object end end
        coroutine.wrap(function() xpcall(fail, handler_with(kept[1])) end)()
        collectgarbage()
        print(kept[1])
        xpcall(function() xpcall(os.exit, second, 3) end, first)
        print('not reached')
    """
    expected = "false\t1 e\nfalse\t2 e\nfalse\t1 later\ntrue\tfalse\t1 e\n1\nfalse\tstring\nnil\n"
    result = run_th("-e", code)
    assert (result.returncode, result.stdout) == (3, expected), result.stderr


def test_the_first_load_of_nn_draws_what_it_draws_in_torch7() -> None:
    """Facts of Torch7: its nn makes a layer of four parameters as it is loaded."""
    code = """
        local function next_after(name) torch.manualSeed(1) require(name) return torch.random() end
        print(next_after 'optim', next_after 'nngraph', next_after 'nn')
    """
    assert run_th("-e", code).stdout == "1791095845\t491263\t1791095845\n"


def test_python_is_out_of_reach() -> None:
    code = """
        local python_object = require('th.python').functions.wall_clock
        print(pcall(function() return python_object.__globals__ end))
    """
    assert "false" in run_th("-e", code).stdout


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--frobnicate"], "--frobnicate"),
        (["nothere.lua"], "nothere.lua"),
        (["-e"], "-e"),
    ],
)
def test_usage_errors_are_one_line_and_exit_code_2(words: list[str], named: str) -> None:
    result = run_th(*words)
    assert result.returncode == 2
    assert named in result.stderr and result.stderr.count("\n") == 1


def test_help_answers_without_loading_pytorch() -> None:
    code = "import sys; from lua_compat.cli.th import main; main(['-h']); sys.exit('torch' in sys.modules)"
    result = run_python("-c", code)
    assert result.returncode == 0 and result.stdout.startswith("usage: th")


def test_both_spellings_print_the_versions() -> None:
    short, long = run_th("-v"), run_th("--version")
    assert short.returncode == 0 and short.stdout.startswith("th, of convnet-benchmarks ")
    assert short.stdout == long.stdout


@pytest.mark.parametrize(
    "loop",
    [
        "while true do end",
        "local t = torch.ones(3) while true do t:add(torch.IntTensor{1}:double():sum()) end",
    ],
)
def test_ctrl_c_ends_a_loop(loop: str) -> None:
    with started_th("-e", f"print'started'io.flush() pcall(function() {loop} end)") as program:
        assert program.stdout.readline() == "started\n"
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        done = program.finish(30)
    assert done.returncode == 130
    assert "interrupted" in done.stderr


def test_a_reader_that_goes_away_ends_a_script() -> None:
    command = f"{sys.executable} -m lua_compat -e 'while true do print(1) end' | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_run_from_python_ends_the_script_only(tmp_path: Path) -> None:
    from lua_compat import run
    from lua_compat.runtime.errors import LuaError

    script = tmp_path / "exits.lua"
    script.write_text("assert(arg[1] == 'x') os.exit(7)")
    assert run(script, ["x"]) == 7
    with pytest.raises(LuaError, match="assertion failed"):
        run(script, ["y"])
    with pytest.raises(FileNotFoundError):
        run(tmp_path / "absent.lua")
    for args in ("-seed", ["-seed", 1]):
        with pytest.raises(TypeError, match=r"args is .*-seed.*; accepted: a list of texts"):
            run(script, args)  # type: ignore[arg-type]


def test_paths_and_texts_outside_of_ascii(tmp_path: Path) -> None:
    """Lua's strings are bytes: names of files and messages cross in UTF-8."""
    script = tmp_path / "naïve 😀.lua"
    script.write_text(
        "local folder = arg[1] .. '/é'\n"
        "assert(paths.mkdir(folder) and paths.dirp(folder) and #'é' == 2)\n"
        "local found = {}\n"
        "for _, name in ipairs(paths.dir(arg[1])) do found[name] = true end\n"
        "assert(found['é'] and paths.concat(folder, '..', 'é') == folder)\n"
        "error('ünlucky')\n"
    )
    result = run_th(str(script), str(tmp_path))
    assert result.returncode == 1 and "ünlucky" in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("words", "redirected", "code"),
    [
        ("-e 'print(1)'", ">&-", 1),
        ("-e 'print(1) os.exit(0)'", ">/dev/full", 1),
        ("-e 'for i = 1, 1e5 do print(i) end'", ">/dev/full", 1),
        ("-e 'x = 1'", ">&-", 0),
        ("-e 'print(1) os.exit(3)'", ">&-", 3),
        (f"{SANDBOX} script.lua", ">&-", 1),
    ],
)
def test_what_cannot_be_printed_is_told(tmp_path: Path, words: str, redirected: str, code: int) -> None:
    (tmp_path / "script.lua").write_text("print(1)")
    command = f"PYTHONPATH={shlex.quote(str(ROOT))} {sys.executable} -m lua_compat {words} {redirected}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr.count("\n") == (code == 1), done.stderr


def test_a_deleted_working_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    command = f"PYTHONPATH={shlex.quote(str(ROOT))} {sys.executable} -m lua_compat -e 'print(1)'"
    shell = f"cd {shlex.quote(str(tmp_path / 'gone'))} && rmdir ../gone && {command}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the working folder has been deleted" in done.stderr and done.stderr.count("\n") == 1

"""th --sandbox: what a script that is not trusted can and cannot do."""

import io
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from lua_compat.cli.th import main
from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime
from lua_compat.sandbox import STOPPED, Limits, Outcome, run
from lua_compat.sandbox.worker import PACKAGES
from tests.helpers.commands import run_th
from tests.helpers.places import GOLDEN, ROOT
from tests.helpers.sandbox import SANDBOX

slow = partial(pytest.param, marks=pytest.mark.slow)  # a sandbox starts in seconds


def sandboxed(folder: Path, code: str, **limits: float) -> tuple[Outcome, str]:
    script = folder / "script.lua"
    script.write_text(code)
    out = io.BytesIO()
    bounds = Limits(**limits)  # type: ignore[arg-type]
    outcome = run(script, ["an argument"], bounds, stdout=out, stderr=out, weaker=True)
    return outcome, out.getvalue().decode()


def test_torch_and_nn_work_and_values_come_back(tmp_path: Path) -> None:
    (tmp_path / "neighbour.lua").write_text("return { three = 3 }")
    code = """
        local net = nn.Sequential():add(nn.Linear(3, 4)):add(nn.Tanh())
        local output = net:clone():forward(torch.ones(2, 3))
        net:forward(torch.ones(2, 3))
        net:backward(torch.ones(2, 3), output)
        local counter = torch.class('Counter')
        function counter:__init(n) self.n = n end
        print(arg[1], Counter(5).n, torch.typename(_G.Counter(1)))
        print({ t = torch.ones(2), {} })
        a_global = 1
        return require('neighbour').three, 'text', output, nil, a_global
    """
    outcome, printed = sandboxed(tmp_path, code)
    assert (outcome.exit_code, outcome.message) == (0, "")
    assert printed == "an argument\t5\tCounter\n{\n  1 : {}\n  t : DoubleTensor - size: 2\n}\n"
    three, text, output, nothing, one = outcome.values
    assert (three, text, nothing, one) == (3, "text", None, 1)
    assert output.numpy().shape == (2, 4) and np.abs(output.numpy()).max() < 1


# Runs every case of cases_tensor.lua and cases_nn.lua and a training, after replacing every function of Lua's
# and of Torch's that a script can, those of metatables among them. Returns what the sandbox refused (so it
# would refuse to compile text of ours), how much was tried, how often each of Lua's functions was called, how
# many were replaced, and which of Torch's were passed what a script must not have: pointers, or the records
# that hold them.
EVERYTHING = """
local pcall, pairs, ipairs, tostring, next, select = pcall, pairs, ipairs, tostring, next, select
local assert, loadstring, require, rawget, getmetatable = assert, loadstring, require, rawget, getmetatable
local type, called, replaced = type, {}, {}
local function replace(where, prefix)
   for name, f in pairs(where) do
      if type(f) == 'function' then replaced[#replaced + 1] = { where, name, prefix .. name, f } end
   end
end
replace(_G, '')
for _, name in ipairs{ 'string', 'table', 'math', 'bit', 'coroutine', 'io', 'os' } do
   replace(_G[name], name .. '.')
end
local seen, of_torch, leaked = { [_G] = true }, {}, {}
for _, name in ipairs{ 'string', 'table', 'math', 'bit', 'coroutine', 'io', 'os', 'package', 'debug' } do
   seen[_G[name]] = true
end
local function watch(where, path)
   if type(where) ~= 'table' or seen[where] then return end
   seen[where] = true
   for name, value in next, where do
      if type(value) == 'function' then of_torch[#of_torch + 1] = { where, name, path, value } end
      watch(value, path .. '.' .. tostring(name))
   end
   watch(getmetatable(where), path .. '<metatable>')
end
for _, name in ipairs{ 'torch', 'nn', 'optim', 'graph', 'nngraph', 'paths', 'sys', 'xlua' } do
   watch(require(name), name)
end
-- The metatables of userdata are shown as stand-ins that list nothing.
local of_userdata = 0
for _, element in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long', 'Half', 'Float', 'Double' } do
   for _, kind in ipairs{ 'Tensor', 'Storage' } do
      local shown = getmetatable(torch[element .. kind]())
      for _, name in ipairs(METHODS) do
         local f = shown[name]
         if type(f) == 'function' then
            of_userdata = of_userdata + 1
            of_torch[#of_torch + 1] = { shown, name, element .. kind, f }
         end
      end
   end
end
local typename = torch.typename
local function look(path, ...)
   for k = 1, select('#', ...) do
      local value = (select(k, ...))
      local secret = type(value) == 'cdata'
      if type(value) == 'table' then
         secret = rawget(value, 'T') and (rawget(value, 'nd') or rawget(value, 'capacity'))
         secret = secret or rawget(value, 'code') -- a type
      elseif type(value) == 'userdata' then
         secret = not typename(value) and getmetatable(value) ~= getmetatable(io.stdout)
      end
      if secret then leaked[path] = true end
   end
end
for _, each in ipairs(of_torch) do
   local where, name, path, f = each[1], each[2], each[3], each[4]
   local place = path .. '.' .. tostring(name)
   where[name] = function(...)
      look(place, ...)
      return f(...)
   end
end
for _, each in ipairs(replaced) do
   local where, field, name, f = each[1], each[2], each[3], each[4]
   where[field] = function(...)
      called[name] = (called[name] or 0) + 1
      return f(...)
   end
end
local refused, tried = {}, 0
local function try(what, f)
   tried = tried + 1
   local ok, problem = pcall(f)
   problem = tostring(problem)
   if not ok and (problem:find('the sandbox', 1, true) or problem:find('Errno', 1, true)
                  or problem:find('not permitted', 1, true) or problem:find('No module named', 1, true)) then
      refused[#refused + 1] = what
   end
end
for _, expression in ipairs(require 'cases_tensor') do
   a, b, v, w = torch.randn(3, 4), torch.randn(3, 4), torch.randn(4), torch.randn(3)
   sq, l, m = torch.randn(3, 3), torch.LongTensor{ 2, 1, 4, 3 }, torch.gt(a, 0)
   spd, f = sq * sq:t() + torch.eye(3), torch.FloatTensor{ { 1, 2, 3 }, { 4, 5, 6 } }
   try(expression, assert(loadstring('return ' .. expression) or loadstring(expression)))
end
for _, case in ipairs(require 'cases_nn') do
   local options = case[3] or {}
   try(case[1], function()
      local module = assert(loadstring('return ' .. case[1]))()
      local input = {}
      for i, shape in ipairs(case[2]) do
         input[i] = torch.rand(torch.LongStorage(shape))
         if options.labels then input[i]:mul(options.labels):ceil() end
      end
      if #input == 1 and not options.table then input = input[1] end
      local target = options.target and assert(loadstring('return ' .. options.target))()
      local output = module:forward(input, target)
      if not options.forward_only then module:backward(input, target or output) end
      tostring(module:clone())
   end)
end
local x, y = torch.rand(5, 3), torch.LongTensor{ 1, 2, 1, 2, 1 }
for name in pairs(optim) do
   if name:match('^%l+$') and name ~= 'checkgrad' then
      try('optim.' .. name, function()
         local input = - nn.Identity()
         local net = nn.gModule({ input }, { input - nn.Linear(3, 2) - nn.LogSoftMax() })
         nngraph.annotateNodes()
         local criterion, confusion = nn.ClassNLLCriterion(), optim.ConfusionMatrix(2)
         local parameters, gradients = net:getParameters()
         optim[name](function()
            gradients:zero()
            local loss = criterion:forward(net:forward(x), y)
            net:backward(x, criterion:backward(net.output, y))
            return loss, gradients
         end, parameters, { maxIter = 2, maxEval = 10, maxFEs = 50, verb_disp = 0 })
         confusion:batchAdd(net.output, y)
         tostring(confusion)
         net:float():clearState()
         torch.deserialize(torch.serialize(net))
      end)
   end
end
local leaks = {}
for path in pairs(leaked) do leaks[#leaks + 1] = path end
return refused, tried, called, #replaced, #of_torch - of_userdata, of_userdata, leaks
"""


def test_nothing_of_ours_is_refused_or_goes_through_a_scripts_functions(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for cases in ("cases_tensor.lua", "cases_nn.lua"):
        shutil.copy(GOLDEN / cases, tmp_path)
    Runtime().run_string(
        "for _, kind in ipairs{ 'FloatTensor', 'FloatStorage' } do\n"
        "   for name in pairs(torch.getmetatable('torch.' .. kind)) do print(name) end\nend"
    )
    names = sorted(set(capfd.readouterr().out.split()) - {"__gc", "__index", "__newindex", "__metatable"})
    methods = "local METHODS = { " + ", ".join(f"'{name}'" for name in names) + " }\n"
    outcome, _ = sandboxed(tmp_path, methods + EVERYTHING)
    assert (outcome.exit_code, outcome.message) == (0, "")
    refused, tried, called, replaced, of_torch, of_userdata, leaks = outcome.values
    assert sorted(refused.values()) == ["a:data() ~= nil", "torch.data(a)[1]"]  # raw pointers
    assert tried > 328 + 190
    # by the cases themselves, type(a) and tostring(torch.LongStorage{3,4}): by our code, none
    assert dict(called.items()) == {"type": 1, "tostring": 1} and replaced > 100
    assert list(leaks.values()) == [] and of_torch > 1500 and of_userdata > 1500


FORBIDDEN = {
    "io.open('/etc/passwd')": "io.open",
    "io.popen('ls')": "io.popen",
    "io.lines('/etc/passwd')": "io.lines",
    "os.execute('ls')": "os.execute",
    "os.getenv('HOME')": "os.getenv",
    "os.remove('x')": "os.remove",
    "require('ffi')": "ffi",
    "require('./script')": "./script",
    "require('torch.core.memory')": "torch.core.memory",
    "require('th.python')": "th.python",
    "package.loadlib('x', 'y')": "package.loadlib",
    "debug.getinfo(1)": "debug.getinfo",
    "debug.getregistry()": "debug.getregistry",
    "getfenv(1)": "getfenv",
    "dofile('/etc/passwd')": "dofile",
    "loadfile('/etc/passwd')": "loadfile",
    "string.dump(print)": "string.dump",
    "assert(loadstring('\\27LJ'))": "bytecode",
    "assert(load(coroutine.wrap(function() coroutine.yield('\\27') coroutine.yield('LJ') end)))": "bytecode",
    "jit.off()": "jit.off",
    "python.eval('1')": "python.eval",
    "torch.load('x')": "torch.load",
    "torch.save('x', 1)": "torch.save",
    "torch.DiskFile('x', 'w')": "torch.DiskFile",
    "torch.PipeFile('ls')": "torch.PipeFile",
    "torch.FloatStorage('/etc/passwd')": "mapping a file",
    "torch.ones(2):data()": "data",
    "torch.ones(2):storage():data()": "data",
    "torch.data(torch.ones(2))": "torch.data",
    "torch.getenv(print)": "torch.getenv",
    "paths.mkdir('x')": "paths.mkdir",
    "paths.cwd()": "paths.cwd",
    "sys.execute('ls')": "sys.execute",
    "xlua.log('x')": "xlua.log",
    "torch.CmdLine():log('x')": "torch.CmdLine.log",
    "include('x.lua')": "include",
    "getmetatable(torch.ones(1)).__gc(1)": "nil value",
    "torch.ones(1).__gc(1)": "nil value",
    "torch.FloatTensor.__gc(1)": "nil value",
    "torch.getmetatable('torch.FloatStorage').__gc(1)": "nil value",
}


def test_what_reaches_outside_is_refused_by_name(tmp_path: Path) -> None:
    tries = "\n".join(f"try(function() return {code} end)" for code in FORBIDDEN)
    code = f"local function try(f) local ok, e = pcall(f) print(ok and 'DONE' or tostring(e)) end\n{tries}"
    outcome, printed = sandboxed(tmp_path, code)
    assert (outcome.exit_code, outcome.message) == (0, "")
    answers = printed.splitlines()
    assert len(answers) == len(FORBIDDEN)
    for (tried, named), answer in zip(FORBIDDEN.items(), answers, strict=True):
        assert named in answer, f"{tried}: {answer}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.lua"]


TABLES = [
    "torch", "string", "table", "math", "coroutine", "paths", "sys", "xlua", "os", "debug",
    "torch.getmetatable('torch.FloatTensor')", "torch.getmetatable('torch.CmdLine')",
]  # fmt: skip


@pytest.fixture(scope="module")
def with_new_functions() -> Runtime:
    """A sandbox with a function in each table that nobody has allowed."""
    state = Runtime(sandboxed=True)
    for table in TABLES:
        assert state.run_string(f"rawset({table}, 'brand_new', function() return 1 end)") == 0
    state.lock_down(PACKAGES, {})
    return state


@pytest.mark.parametrize("table", TABLES)
def test_a_function_that_nobody_has_allowed_is_refused(with_new_functions: Runtime, table: str) -> None:
    with pytest.raises(LuaError, match="brand_new is not available in the sandbox"):
        with_new_functions.run_string(f"return {table}.brand_new()")


def test_a_global_that_nobody_has_allowed_is_gone() -> None:
    state = Runtime(sandboxed=True)
    assert state.run_string("function brand_new() return 1 end") == 0
    state.lock_down(PACKAGES, {})
    assert state.run_string("assert(brand_new == nil)") == 0


REFUSED = """
for _, name in ipairs(arg) do
   local _, problem = pcall(OBJECT[name])
   if tostring(problem):find('not available in the sandbox', 1, true) then print(name) end
end
"""
TORCH_OUTSIDE = [
    "DiskFile", "PipeFile", "cdata", "data", "include", "load", "loadobj", "packageLuaPath", "save",
    "saveobj",
]  # fmt: skip


@pytest.mark.parametrize(
    ("where_names_are", "use", "reaching_outside"),
    [
        ("torch", "torch", TORCH_OUTSIDE),
        ("torch.getmetatable('torch.FloatTensor')", "torch.FloatTensor()", ["cdata", "data"]),
        ("torch.getmetatable('torch.LongStorage')", "torch.LongStorage()", ["cdata", "data"]),
    ],
)
def test_nothing_else_of_torch_is_refused(
    where_names_are: str, use: str, reaching_outside: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    Runtime().run_string(f"for name in pairs({where_names_are}) do print(name) end")
    names = [name for name in capfd.readouterr().out.split() if not name.startswith("__")]
    assert len(names) > 10
    state = Runtime("th", names, sandboxed=True)
    state.lock_down(PACKAGES, {})
    assert state.run_string(REFUSED.replace("OBJECT", use)) == 0
    assert sorted(capfd.readouterr().out.split()) == reaching_outside


def test_nothing_that_is_reachable_is_forbidden(tmp_path: Path) -> None:
    """Walks every table and metatable a script can reach, looking for pointers, Python and finalisers."""
    code = """
        local seen, count, bad = {}, 0, {}
        local function walk(value, path)
           if type(value) == 'cdata' then bad[#bad + 1] = path .. ' is cdata' end
           if type(value) == 'userdata' and tostring(value):match('^<') then bad[#bad + 1] = path end
           if type(value) ~= 'table' and type(value) ~= 'userdata' or seen[value] then return end
           seen[value] = true
           count = count + 1
           local metatable = getmetatable(value)
           if metatable then walk(metatable, path .. '<metatable>') end
           if type(value) == 'table' then
              for key, inner in next, value do
                 if key == '__gc' then bad[#bad + 1] = path .. '.__gc' end
                 walk(key, path .. '<key>')
                 walk(inner, path .. '.' .. tostring(key))
              end
           end
        end
        walk(_G, '_G')
        for name in pairs(package.loaded) do walk(require(name), name) end
        for _, name in ipairs{'ffi', 'jit', 'debug', 'package', 'io', 'os', 'python'} do
           walk(_G[name], name)
        end
        return count, table.concat(bad, '; ')
    """
    outcome, _ = sandboxed(tmp_path, code)
    assert outcome.message == ""
    count, bad = outcome.values
    assert count > 100
    assert bad == ""


@pytest.mark.parametrize(
    ("code", "limits", "named"),
    [
        ("while true do end", {"seconds": 1}, "longer than 1 s"),
        slow("while true do pcall(function() while true do end end) end", {"seconds": 1}, "longer than 1 s"),
        slow(
            "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end",
            {"memory_mb": 256},
            "256 MB of memory",
        ),
        ("local t = {} for i = 1, 1e9 do t[i] = torch.ones(1e6) end", {"memory_mb": 256}, "256 MB of memory"),
        slow("return ('x'):rep(1e9)", {"memory_mb": 256}, "256 MB of memory"),
        ("while true do print(('x'):rep(1000)) end", {"output_mb": 1}, "more than 1 MB"),
        slow("return ('x'):rep(3e6)", {"output_mb": 1}, "more than 1 MB"),
    ],
)
def test_limits_stop_a_script(tmp_path: Path, code: str, limits: dict[str, float], named: str) -> None:
    outcome, _ = sandboxed(tmp_path, code, **{"seconds": 60, **limits})
    assert outcome.exit_code == STOPPED
    assert outcome.message.startswith("stopped: ") and named in outcome.message


def test_deep_recursion_is_an_error(tmp_path: Path) -> None:
    outcome, _ = sandboxed(tmp_path, "local function f() return 1 + f() end f()")
    assert outcome.exit_code == 1 and "stack overflow" in outcome.message


def test_objects_have_numbers_in_place_of_addresses(tmp_path: Path) -> None:
    outcome, printed = sandboxed(
        tmp_path,
        """
        local t, u = {}, {}
        local text = tostring(t)
        assert(text:match('^table: 0x%x%x%x%x%x%x%x%x$') and text == tostring(t) and text ~= tostring(u))
        assert(tostring(print):match('^function: 0x%x+$') and tostring(table.sort):match('^function: '))
        assert(tostring(coroutine.create(print)):match('^thread: 0x%x+$'))
        assert(torch.pointer(t) == tonumber(text:match('0x%x+')))
        assert(('%s|%%|%12p|%d'):format(t, t, 3) == text .. '|%|  ' .. text:match('0x%x+') .. '|3')
        assert(('%p %5.1f'):format(1, 2) == 'NULL   2.0')
        local named = setmetatable({}, { __tostring = function() return 'mine' end })
        assert(tostring(named) == 'mine' and ('<%6s>'):format(named) == '<  mine>')
        local ok, problem = pcall(function() local s = string.format('%d', t) return s end)
        assert(problem:find("bad argument #2 to 'format' (number expected, got table)", 1, true), problem)
        print(t, u == 1, { f = t, [u] = 1 })
        print(text, print)
        """,
    )
    assert outcome.exit_code == 0, outcome.message
    assert "0x" in printed and all(int(number, 16) < 1 << 20 for number in re.findall("0x[0-9a-f]+", printed))


def test_command_line(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"

    script.write_text("print(...) os.exit(tonumber(arg[1]))")
    result = run_th(SANDBOX, str(script), "7")
    assert (result.returncode, result.stdout) == (7, "7\n")
    assert (
        result.stderr.startswith("th: sandbox: enforced by names, limits") and result.stderr.count("\n") == 1
    )
    script.write_text("while true do end")
    result = run_th(SANDBOX, "--time", "1", str(script))
    assert result.returncode == STOPPED
    assert "sandbox" in result.stderr and "longer than 1 s" in result.stderr
    script.write_text("while true do print('more than the reader wants') end")
    reader = f"{sys.executable} -m lua_compat {SANDBOX} {script} | head -1"
    result = subprocess.run(["bash", "-c", reader], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (result.stdout, result.stderr) == ("more than the reader wants\n", "")


def test_an_invalid_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = str(tmp_path / "script.lua")
    Path(script).touch()
    for words, named in (
        (["--sandbox"], "--sandbox"),
        (["--time", "1", script], "--sandbox"),
        (["--sandbox", "--memory", "none", script], "--memory"),
        (["--sandbox", "-e", "1", script], "-e"),
        (["--sandbox=strongest", script], "--sandbox=weaker"),
    ):
        assert main(words) == 2
        printed = capsys.readouterr()
        assert printed.out == "" and named in printed.err and printed.err.count("\n") == 1


def test_the_dialect_and_load_cannot_be_turned_against_the_sandbox(tmp_path: Path) -> None:
    """What a script puts into string and table changes nothing of # and load."""
    code = """
        local bytes = '\\27LJ\\2' .. ('\\0'):rep(20)
        local real = { string.byte, string.find }
        string.byte = function() return 65 end
        string.find, string.match, string.sub = string.byte, string.byte, string.byte
        table.concat = function() return bytes end
        local counted = #setmetatable({}, { __len = function() return 5 end }) + load('return #...')({ 1, 2 })
        local refused = 0
        for _, attempt in ipairs{
           function() return load(bytes) end, function() return loadstring(bytes, 'x', 'b') end,
           function() return load('return 1', 'x', 'b') end, function() return load(bytes, 'x', 'bt') end,
           function()
              local n = 0
              return load(function() n = n + 1 return n == 1 and 'return 1' or nil end)
           end,
        } do
           local chunk, problem = attempt()
           if not chunk and problem == 'bytecode is not available in the sandbox' then
              refused = refused + 1
           end
        end
        local inside = load('return x, _G, os', 'n', 't', { x = 7 })
        local x, globals, os_inside = inside()
        local f = tostring
        local s = f
           (8)
        return counted, refused, x, globals == nil and os_inside == nil, getmetatable(true) == nil, s,
           pcall(function() return true ^ 2 end)
    """
    outcome, _ = sandboxed(tmp_path, code)
    assert (outcome.exit_code, outcome.message) == (0, "")
    assert outcome.values[:6] == (7, 4, 7, True, True, "8")
    assert (
        outcome.values[6] is False and "attempt to perform arithmetic on a boolean value" in outcome.values[7]
    )

"""What a script gives a kernel becomes plain numbers, booleans and texts before Lua or Python computes."""

import io
import re
from pathlib import Path
from typing import Any

import pytest

from lua_compat import t7
from lua_compat.kernels import all_kernels
from lua_compat.runtime.bridge import kernel_signature
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_lua


def values(code: str) -> list[Any]:
    result = Runtime("test.lua").run_for_result(code, "=test")[1]
    assert result is not None
    found = t7.load(io.BytesIO(result))
    assert isinstance(found, t7.LuaTable)
    return [found[k] for k in range(1, int(found["n"]) + 1)]


def test_signatures_in_lua_are_those_of_the_kernels() -> None:
    kept, said, computed = values(
        """
        require 'nn'
        local computed, kept, said = {}, require('torch.core.signatures'), {}
        for _, declaration in ipairs(require('nn.declarations').with_kernels()) do
           for name, letters in pairs(require('nn.shared.declared').signatures(declaration)) do
              said[#said + 1] = { name, letters }
              kept[name] = kept[name]
           end
        end
        for name in pairs(require('torch.core.ways').luajit) do computed[#computed + 1] = name end
        return kept, said, computed
        """
    )
    kernels = all_kernels()
    of_classes = [(row[1], row[2]) for row in said.array()]  # several classes may call the same
    for name, letters in [*dict(kept).items(), *of_classes]:
        signature = kernel_signature(kernels[name])
        # what Python may be called without, Lua always gives where a field has a default
        assert letters in (signature, re.sub("[IDS]", lambda m: m[0].lower(), signature)), name
    assert set(computed.array()) <= dict(kept).keys()
    assert len(of_classes) > 110


def test_every_kernel_has_a_signature() -> None:
    for name, kernel in all_kernels().items():
        assert set(kernel_signature(kernel)) <= set("toidnbsIDS*#+$"), name


# What LuaJIT's FFI makes of a value for C: so Torch7's nn gives THNN its fields.
CONVERTED = [
    ("whole(2.7)", 2), ("whole(-2.7)", -2), ("whole(-0.5)", 0), ("whole(2LL)", 2), ("whole(-3LL)", -3),
    ("whole(true)", 1), ("whole(false)", 0), ("whole(2147483647)", 2**31 - 1),
    ("whole(-2147483648)", -(2**31)),
    ("number(2LL)", 2), ("number(true)", 1), ("number(0.1)", 0.1), ("number(1/0)", float("inf")),
    ("flag(nil)", False), ("flag(0)", False), ("flag(2.5)", True), ("flag(0LL)", False),
    ("flag(0/0)", True),
    ("scalar('0x10')", 16), ("scalar('2')", 2), ("text('2')", "2"),
]  # fmt: skip


def test_values_are_converted_as_for_c() -> None:
    calls = ", ".join(f"a.{call}" for call, _ in CONVERTED)
    state = "local a = require 'torch.core.arguments'"
    assert values(f"{state} return {calls}") == [value for _, value in CONVERTED]


REFUSED = {
    "whole('2')": "cannot convert 'string' to 'int'",
    "whole(nil)": "cannot convert 'nil' to 'int'",
    "whole(number_like)": "cannot convert 'table' to 'int'",
    "whole(torch.ones(1))": "cannot convert 'void *' to 'int'",
    "whole(0/0)": "cannot convert nan to 'int'",
    "whole(1/0)": "cannot convert inf to 'int'",
    "whole(2147483648)": "cannot convert 2147483648 to 'int'",
    "whole(0xAAAAAAAAAAAAAAABULL)": "cannot convert 'cdata' to 'int'",
    "whole(require('ffi').new('int[2]'))": "cannot convert 'cdata' to 'int'",
    "number('2')": "cannot convert 'string' to 'double'",
    "number(number_like)": "cannot convert 'table' to 'double'",
    "flag('x')": "cannot convert 'string' to 'bool'",
    "scalar(2LL)": "number expected, got cdata",
    "scalar('x')": "number expected, got string",
    "scalar(true)": "number expected, got boolean",
    "text(2)": "string expected, got number",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_no_number_is_refused(call: str) -> None:
    code = f"""
        local function never() error('a metamethod was called') end
        local number_like = setmetatable({{}}, {{ __add = never, __sub = never, __mul = never, __div = never,
           __mod = never, __unm = never, __lt = never, __le = never, __tostring = never, __index = never }})
        return pcall(function() return require('torch.core.arguments').{call} end)
    """
    assert values(code) == [False, REFUSED[call]]


def test_a_table_in_place_of_a_tensor_is_refused(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        local fake = { nd = 1, 100, 1, off = 0, T = {}, S = { p = 0, n = 100 } }
        for _, value in ipairs{ fake, torch.LongStorage(2), 5, 'x', torch.Generator() } do
           local m = nn.Tanh()
           m.output = value
           local ok, problem = pcall(m.forward, m, torch.ones(3))
           assert(not ok and problem:find('tensor expected, got'), problem)
        end
        """,
    )


# By Torch7: a layer's field, what is put there, and what it computes or says.
FIELDS = """
    { nn.SpatialMaxPooling(2, 2), 'kW', 2LL, 9 }, { nn.SpatialMaxPooling(2, 2), 'kW', 2.7, 9 },
    { nn.SpatialMaxPooling(2, 2), 'kW', '2', "cannot convert 'string' to 'int'" },
    { nn.SpatialMaxPooling(2, 2), 'ceil_mode', 0, 9 },
    { nn.SpatialMaxPooling(2, 2), 'ceil_mode', 'x', "cannot convert 'string' to 'bool'" },
    { nn.SpatialMaxPooling(2, 2), 'kW', nil, "cannot convert 'nil' to 'int'" },
    { nn.Normalize(2), 'p', '2', 3 }, { nn.Normalize(2), 'p', 2LL, 'expected' },
    { nn.SpatialCrossMapLRN(1, 0), 'alpha', '0', 36 },
    { nn.SpatialCrossMapLRN(1, 0), 'alpha', false, 'expected' },
    { nn.Power(2), 'pow', '3', 36 }, { nn.Power(2), 'pow', 2LL, 'expected' },
    { nn.SoftShrink(), 'lambda', false, 36 }, { nn.SoftShrink(), 'lambda', true, 0 },
    { nn.SoftShrink(), 'lambda', '0', "cannot convert 'string' to 'double'" },
    { nn.SpatialAveragePooling(6, 6, 1, 1, 1, 1), 'count_include_pad', 0, 9 },
    { nn.SpatialAveragePooling(6, 6, 1, 1, 1, 1), 'count_include_pad', 1, 256 / 36 },
    { nn.LeakyReLU(), 'inplace', 'x', "cannot convert 'string' to 'bool'" },
    { nn.Tanh(), 'inplace', 'x', 36 * math.tanh(1) },
    { nn.RReLU(), 'train', 'x', "cannot convert 'string' to 'bool'" },
    { nn.RReLU(), 'lower', '0.1', "cannot convert 'string' to 'double'" }, { nn.RReLU(), 'lower', 0LL, 36 },
"""


def test_fields_are_what_torch7_makes_of_them(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        f"""
        require 'nn'
        for k, row in ipairs{{ {FIELDS} }} do
           local module, name, value, expected = row[1], row[2], row[3], row[4]
           local x = torch.ones(1, 6, 6)
           if name == 'p' then x = torch.ones(3, 4):div(4) end
           module[name] = value
           local ok, result = pcall(function() return module:forward(x):sum() end)
           if name == 'p' and ok then result = result / 2 end
           local text = k .. ' ' .. tostring(result)
           if type(expected) == 'number' then assert(ok and math.abs(result - expected) < 1e-9, text)
           else assert(not ok and result:find(expected, 1, true), text) end
        end
        """,
    )


# By Torch7: a layer, its input, a field out of its range, and what is said.
RANGES = """
    { nn.SpatialMaxPooling(2, 2), image, 'kW', 0, 5, 'kernel size', 'kH: 2 kW: 0' },
    { nn.SpatialDilatedMaxPooling(2, 2), image, 'dH', -1, 8, 'stride', 'dH: -1 dW: 2' },
    { nn.SpatialDilatedMaxPooling(2, 2), image, 'dilationW', 0, 12, 'dilation', 'dilationH: 1 dilationW: 0' },
    { nn.SpatialAveragePooling(2, 2), image, 'kH', -1, 5, 'kernel size', 'kH: -1 kW: 2' },
    { nn.SpatialConvolutionMM(2, 2, 2, 2), image, 'kW', 0, 9, 'kernel size', 'kH: 2 kW: 0' },
    { nn.SpatialConvolution(2, 2, 2, 2), image, 'dW', -1, 11, 'stride', 'dH: 1 dW: -1' },
    { nn.SpatialDilatedConvolution(2, 2, 2, 2), image, 'dilationW', 0, 15, 'dilation',
       'dilationH: 1, dilationW: 0' },
    { nn.TemporalMaxPooling(2, 2), frames, 'kW', 0, 5, 'kernel size', 'kW: 0' },
    { nn.TemporalMaxPooling(2, 2), frames, 'dW', -1, 6, 'stride', 'dW: -1' },
    { nn.TemporalConvolution(8, 2, 2), frames, 'dW', 0, 11, 'stride', 'dW: 0' },
    { nn.VolumetricMaxPooling(2, 2, 2), volume, 'kT', -1, 5, 'kernel size', 'kT: -1 kH: 2 kW: 2' },
    { nn.VolumetricAveragePooling(2, 2, 2), volume, 'dW', 0, 8, 'stride', 'dT: 2 dH: 2 dW: 0' },
"""


def test_numbers_out_of_range_are_refused_in_torch7_s_words(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        f"""
        require 'nn'
        local image, frames, volume = torch.ones(1, 2, 8, 8), torch.ones(8, 8), torch.ones(2, 8, 8, 8)
        for _, row in ipairs{{ {RANGES} }} do
           local module, x, name, value, place, what, numbers = unpack(row)
           local expected = "bad argument #%d to 'v' (%s should be greater than zero, but got %s)"
           expected = expected:format(place, what, numbers)
           local y = module:forward(x):clone()
           module[name] = value
           for _, call in ipairs{{ 'updateOutput', 'updateGradInput' }} do
              local ok, problem = pcall(module[call], module, x, y)
              assert(not ok and problem:find(expected, 1, true), problem)
           end
        end
        local module = nn.SpatialMaxPooling(2, 2, 2, 2, 9, 0)
        local ok, problem = pcall(module.forward, module, image)
        assert(not ok and problem:find("bad argument #2 to 'v' (pad should be smaller than half of kernel "
           .. 'size, but got padW = 9, padH = 0, kW = 2, kH = 2)', 1, true), problem)
        """,
    )


def test_a_step_backwards_is_refused(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nn'
        for _, step in ipairs{ -1, -2 ^ 31 } do
           local m, x = nn.TemporalMaxPooling(2, 2), torch.rand(4, 6, 4)
           local y = m:forward(x):clone()
           m.dW = step
           assert(not pcall(m.updateGradInput, m, x, y))
        end
        """,
    )


def test_recursion_through_gsub_ends_after_a_hook_that_raised_anywhere(tmp_path: Path) -> None:
    """Also in the coroutine that finds out how much of C's stack is used, which that ends."""
    run_lua(
        tmp_path,
        """
        local raised
        debug.sethook(function()
            if not select(2, coroutine.running()) then debug.sethook() raised = true error('from a hook') end
        end, '', 1)
        pcall(string.gsub, 'a', 'a', function() end)
        debug.sethook()
        assert(raised)
        local function again() return (('a'):gsub('a', again)) end
        local ok, problem = pcall(again)
        assert(not ok and problem:find('C stack overflow'), problem)
        """,
    )


def test_coroutines_within_coroutines_come_to_an_end(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local function wrapped(n) return coroutine.wrap(function() return wrapped(n + 1) end)() end
        local ok, problem = pcall(wrapped, 1)
        assert(not ok and problem:find('C stack overflow'), problem)
        local deepest, last
        local function resumed(n)
           deepest = n
           local results = { coroutine.resume(coroutine.create(function() return resumed(n + 1) end)) }
           if not results[1] then last = results[2] end
        end
        resumed(1)
        assert(deepest > 1000 and last == 'C stack overflow', last)
        local numbers = coroutine.wrap(function() for k = 1, 20000 do coroutine.yield(k) end end)
        for k = 1, 20000 do assert(numbers() == k) end
        """,
    )


def test_callbacks_within_callbacks_come_to_an_end(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local deepest
        local function check(least, again)
           deepest = 0
           local ok, problem = pcall(again)
           assert(not ok and tostring(problem):find('stack overflow'), problem)
           assert(deepest > least, deepest)
        end
        local function recursive(call)
           return function()
              local again
              again = function()
                 deepest = deepest + 1
                 local _ = call(again)
                 return false
              end
              return again()
           end
        end
        check(200, recursive(function(again) return (('a'):gsub('a', again)) end))
        check(200, recursive(function(again)
           return (('a'):gsub('a', setmetatable({}, { __index = again })))
        end))
        check(200, recursive(function(again)
           local ok, problem = pcall(string.gsub, 'a', 'a', again)
           if not ok then error(problem, 0) end
        end))
        check(100, recursive(function(again)
           return coroutine.wrap(function() return (('a'):gsub('a', again)) end)()
        end))
        check(1000, recursive(function(again) table.sort({ 1, 2 }, again) end))
        check(1000, recursive(function(again)
           return ('%s'):format(setmetatable({}, { __tostring = function() again() return 'x' end }))
        end))
        assert(('abc'):gsub('%w', { a = 'x' }) == 'xbc')
        assert(('abc'):gsub('b', function() return 'y' end) == 'ayc')
        assert(not pcall(string.gsub, 'a', 'b') and select(2, ('aa'):gsub('a', function() end, 1)) == 1)

        local threads = require 'threads'
        local pool = threads.Threads(1)
        pool:addjob(function()
           local function again() return (('a'):gsub('a', again)) end
           return select(2, pcall(again))
        end, function(problem) assert(problem:find('C stack overflow'), problem) deepest = 'there' end)
        pool:synchronize()
        pool:terminate()
        assert(deepest == 'there')
        """,
    )


def test_every_kernel_refuses_what_is_no_number_before_it_runs(tmp_path: Path) -> None:
    rows = ", ".join(f"{name} = '{kernel_signature(kernel)}'" for name, kernel in all_kernels().items())
    run_lua(
        tmp_path,
        f"""
        local called, tried = 0, 0
        local function call() called = called + 1 return 1 end
        local metatable = {{}}
        for name in ('add sub mul div mod pow unm index len lt le eq call tostring concat'):gmatch('%S+') do
           metatable['__' .. name] = call
        end
        local x = torch.ones(1)
        local plain = {{ t = x, o = x, i = 1, d = 1, n = 1, b = true, s = 'x', I = 1, D = 1, S = 'x',
           ['*'] = x, ['#'] = 1, ['+'] = 1, ['$'] = 'x' }}
        for name, letters in pairs{{ {rows} }} do
           for place = 1, #letters do
              local values = {{}}
              for k = 1, #letters do values[k] = plain[letters:sub(k, k)] end
              values[place] = setmetatable({{}}, metatable)
              local kernel = require('torch.core.kernels').of_tensors[name]
              local ok, problem = pcall(kernel, unpack(values, 1, #letters))
              local told = problem:find('cannot convert') or problem:find('expected, got table')
              assert(not ok and told, name .. ': ' .. problem)
              tried = tried + 1
           end
        end
        assert(called == 0 and tried > 1000)
        """,
    )

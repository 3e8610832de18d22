"""The package torch under our th: recorded facts of tensors, random streams, printing, CmdLine."""

from pathlib import Path

import numpy as np
import pytest

from lua_compat import run, t7
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_lua, run_th
from tests.helpers.lua_golden import differences, message, same_up_to_sign_of_columns
from tests.helpers.places import GOLDEN

CASES = t7.load(GOLDEN / "tensor.t7").array()


@pytest.fixture(scope="module")
def tensor_results(tmp_path_factory: pytest.TempPathFactory) -> list[t7.LuaTable]:
    out = tmp_path_factory.mktemp("lua") / "tensor.t7"
    assert run(GOLDEN / "probe_tensor.lua", [str(GOLDEN / "cases_tensor.lua"), str(out)]) == 0
    return t7.load(out).array()


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: CASES[i]["expr"])
def test_expression(tensor_results: list[t7.LuaTable], index: int) -> None:
    expected, got = CASES[index], tensor_results[index]
    assert got["expr"] == expected["expr"]
    assert got["ok"] == expected["ok"], got.get("error")
    if not expected["ok"]:
        assert message(got["error"]) == message(expected["error"])
        return
    assert got["n"] == expected["n"]
    if expected["expr"] == "torch.svd(a)":
        for place in (1, 2, 3):
            a, b = (np.atleast_2d(r["values"][place]["data"].numpy()) for r in (expected, got))
            assert same_up_to_sign_of_columns(a, b, tolerance=1e-12)
        return
    if expected["expr"] == "torch.symeig(spd)":
        # Without 'V' the second result is what LAPACK's work left in it; ours is zero.
        assert not list(differences(expected["values"][1], got["values"][1], 1e-12))
        return
    assert not list(differences(expected["values"], got["values"], 1e-12))


def test_random_streams_are_the_same_to_the_last_bit(tmp_path: Path) -> None:
    out = tmp_path / "random.t7"
    assert run(GOLDEN / "probe_random.lua", [str(out)]) == 0
    assert not list(differences(t7.load(GOLDEN / "random.t7"), t7.load(out), 0))


def _printed_by(script: Path, *args: str) -> str:
    done = run_th(script, *args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_probabilities_in_single_precision_are_used_as_they_are(tmp_path: Path) -> None:
    """They are converted: a view of what was converted must keep it."""
    script = tmp_path / "draw.lua"
    script.write_text("""
        local p = torch.rand(3, 20000):float()
        for _, draw in ipairs{ function(p) return torch.multinomial(p, 50, true) end,
              function(p) return torch.ByteTensor(60000):bernoulli(p) end } do
           torch.manualSeed(2)
           local single = draw(p)
           torch.manualSeed(2)
           assert(single:equal(draw(p:double())))
        end
    """)
    assert run(script) == 0


def test_command_line_parsing_and_help_are_byte_for_byte() -> None:
    assert _printed_by(GOLDEN / "probe_cmdline.lua") == (GOLDEN / "cmdline.txt").read_text()


def test_printed_tensors_are_byte_for_byte(tmp_path: Path) -> None:
    source = (GOLDEN / "probe_print.lua").read_text()
    tensors_only = source[: source.index("for _, line in ipairs{")].replace("require 'nn'\n", "")
    script = tmp_path / "print.lua"
    script.write_text("setprintlevel(0)\n" + tensors_only)  # recorded without trepl
    expected = (GOLDEN / "print.txt").read_text().split("## nn.Linear(10, 5)")[0].splitlines()
    got = _printed_by(script).splitlines()
    differing = [(e, g) for e, g in zip(expected, got, strict=True) if e != g]
    assert len(differing) == 1, "only the address of a table"
    assert all(line.startswith("table: 0x") for line in differing[0])


def test_arguments_that_do_not_fit_give_torch7s_messages() -> None:
    """Also nils at the end, texts that read as numbers, and what was not given."""
    assert _printed_by(GOLDEN / "probe_arguments.lua") == (GOLDEN / "arguments.txt").read_text()


@pytest.mark.parametrize("name", sorted(p.name for p in (GOLDEN / "t7").iterdir()))
def test_files_of_torch7_are_read_and_written_back(name: str, tmp_path: Path) -> None:
    mode = "ascii" if ".ascii." in name else "binary"
    script = tmp_path / "copy.lua"
    script.write_text(
        "require 'nn'\n"
        "local from, to, mode, long = unpack(arg)\n"
        "local file = torch.DiskFile(from, 'r') file[mode](file)\n"
        "if long == '4' then file:longSize(4) end\n"
        "local object = file:readObject() file:close()\n"
        "torch.save(to, object, mode)\n"
    )
    out = tmp_path / name
    long_size = "4" if ".long4." in name else "8"
    assert run(script, [str(GOLDEN / "t7" / name), str(out), mode, long_size]) == 0
    assert not list(
        differences(_functions_as_bytes(t7.load(GOLDEN / "t7" / name)), _functions_as_bytes(t7.load(out)), 0)
    )


def _functions_as_bytes(value: object) -> object:
    return "a function" if isinstance(value, t7.LuaFunction) else value


# What few elements are computed with (lua/torch/luajit/elementwise.lua) against what many are, on views of
# all kinds: the few lie in the corner of a tensor of many.
FEW_AND_MANY = """
local function views(T)
   torch.manualSeed(5)
   local many = torch.randn(20, 9, 11, 13):type(T)
   return many, {
      many, many:transpose(1, 4), many:transpose(2, 3), many:select(2, 4), many:select(4, 1):t3(),
      many:narrow(3, 2, 9):narrow(1, 3, 15),
   }
end
getmetatable(torch.DoubleTensor).t3 = function(t) return t:transpose(1, 3) end
getmetatable(torch.FloatTensor).t3 = getmetatable(torch.DoubleTensor).t3
local function corner(t)
   for d = 1, t:dim() do t = t:narrow(d, 1, math.min(t:size(d), 4)) end
   return t
end
local function same(what, a, b, tolerance)
   local difference = type(a) == 'number' and math.abs(a - b) or (a - b):abs():max()
   assert(difference <= tolerance, what .. ' ' .. difference)
end
for T, tolerance in pairs{ ['torch.DoubleTensor'] = 1e-12, ['torch.FloatTensor'] = 1e-5 } do
   local _, all = views(T)
   for k, view in ipairs(all) do
      local other = view:clone():mul(0.5):add(1)
      local operations = {
         add = function(t) return t:add(2) end, mul = function(t) return t:mul(3) end,
         div = function(t) return t:div(3) end, fill = function(t) return t:fill(0.5) end,
         zero = function(t) return t:zero() end, abs = function(t) return t:abs() end,
         sqrt = function(t) return t:abs():sqrt() end, neg = function(t) return t:neg() end,
         cinv = function(t) return t:cinv() end, floor = function(t) return t:floor() end,
         ceil = function(t) return t:ceil() end, cadd = function(t, o) return t:add(2, o) end,
         csub = function(t, o) return t:csub(o) end, cmul = function(t, o) return t:cmul(o) end,
         cdiv = function(t, o) return t:cdiv(o) end, copy = function(t, o) return t:copy(o) end,
      }
      for name, f in pairs(operations) do
         local kept = view:clone()
         local expected = f(kept:clone(), other) -- many elements, one after the other
         f(corner(view), corner(other))
         same(T .. name .. k, corner(view), corner(expected), tolerance)
         corner(view):copy(corner(kept))
         same(T .. name .. k .. ' elsewhere', view, kept, 0)
      end
      local few = corner(view)
      local values, total, squares, largest = few:clone():view(-1), 0, 0, -math.huge
      for i = 1, values:size(1) do
         total, squares, largest = total + values[i], squares + values[i] ^ 2, math.max(largest, values[i])
      end
      same('sum', few:sum(), total, 1e-9) same('mean', few:mean(), total / values:size(1), 1e-9)
      same('norm', few:norm(), math.sqrt(squares), 1e-9)
      same('dot', few:dot(few), squares, tolerance * squares)
      assert(few:max() == largest and -(-few):min() == largest)
   end
   -- products: rows and columns of matrices in either order
   for _, a in ipairs{ torch.randn(5, 7):type(T), torch.randn(7, 5):type(T):t() } do
      for _, b in ipairs{ torch.randn(7, 6):type(T), torch.randn(6, 7):type(T):t() } do
         local wide = torch.zeros(5, 700):type(T)
         wide:narrow(2, 1, 7):copy(a)
         local tall = torch.zeros(700, 6):type(T)
         tall:narrow(1, 1, 7):copy(b)
         same('mm', torch.mm(a, b), torch.mm(wide, tall), tolerance)
         same('mv', torch.mv(a, b:select(2, 3)), torch.mv(wide, tall:select(2, 3)), tolerance)
         local t = torch.ones(6, 5):type(T):t()
         same('addmm', t:clone():addmm(2, 3, a, b), torch.mm(wide, tall):mul(3):add(2), tolerance)
         local outer = torch.ger(a:select(2, 1), b:select(1, 2))
         for i = 1, 5 do
            for j = 1, 6 do same('ger', outer[i][j], a[i][1] * b[2][j], tolerance) end
         end
         local missing = torch.Tensor(5, 6):type(T):fill(0 / 0)
         same('beta 0', missing:addmm(0, 1, a, b), torch.mm(wide, tall), tolerance)
      end
   end
end
local nan = torch.ones(6)
nan[3] = 0 / 0
assert(nan:max() ~= nan:max() and nan:min() ~= nan:min() and nan:sum() ~= nan:sum())
for _, n in ipairs{ 10, 5000 } do -- the source is read before it is written over
   local function numbers() return torch.range(1, n), torch.range(1, n) end
   local a, before = numbers()
   a:narrow(1, 1, n - 1):copy(a:narrow(1, 2, n - 1))
   assert(a[1] == 2 and a[n - 1] == n and a[n] == n)
   a = numbers()
   a:narrow(1, 2, n - 1):copy(a:narrow(1, 1, n - 1))
   assert(a[1] == 1 and a[2] == 1 and a[n] == n - 1)
   a = numbers()
   a:narrow(1, 2, n - 1):add(a:narrow(1, 1, n - 1))
   assert(a[1] == 1 and a[2] == 3 and a[n] == 2 * n - 1)
   local square = before:clone():view(-1, 5)
   square:narrow(2, 2, 3):copy(square:narrow(2, 1, 3))
   assert(square[2][1] == 6 and square[2][2] == 6 and square[2][4] == 8 and square[2][5] == 10)
end
local expanded = torch.zeros(1, 3):expand(4, 3)
expanded:add(torch.ones(4, 3)) -- each element four times
assert(expanded[1][1] == 4)
for _, T in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long', 'Half' } do
   local t = torch.range(1, 12):view(3, 4)
   local whole = t:type('torch.' .. T .. 'Tensor')
   local copy = torch['' .. T .. 'Tensor'](4, 3):copy(whole:t())
   assert((copy:double() - t:t()):abs():max() == 0 and (whole:t():float():double() - t:t()):abs():max() == 0)
end
local large = torch.LongTensor(2, 3):fill(2 ^ 53)
large:storage()[2] = 2 ^ 53 - 1
assert(torch.LongTensor(3, 2):copy(large:t())[2][1] == 2 ^ 53 - 1)
"""


def test_few_elements_are_computed_as_many_are() -> None:
    assert Runtime().run_string(FEW_AND_MANY) == 0


WORKED_OUT_BY_HAND = """
local a = torch.DoubleTensor{ { 0, 0 }, { 1, 2 } }
local b = torch.DoubleTensor{ { 1, 0 }, { 0, 2 }, { 1, 2 } }
assert(torch.match(a, b, 2):equal(torch.DoubleTensor{ { 2, 8, 10 }, { 8, 2, 0 } }))
local r = torch.ByteTensor()
r:match(torch.ByteTensor{ 1, 20 }, torch.ByteTensor{ 0, 2 }) -- 400 and 324 in a byte
assert(r:equal(torch.ByteTensor{ { 1, 1 }, { 144, 68 } }))
assert(not pcall(torch.match, a, torch.ones(3, 3)))
-- of a matrix with more columns than rows, too
local wide = torch.randn(3, 5)
local packed, tau = torch.geqrf(wide)
local q = torch.orgqr(packed, tau)
assert(q:size(1) == 3 and q:size(2) == 5 and tau:size(1) == 3)
assert((q:narrow(2, 1, 3) * packed:triu() - wide):abs():max() < 1e-12)
-- a function that refers to torch cannot be written: the message says where
local torch = torch
local tree = { leaf = function() return torch.version end }
local ok, message = pcall(torch.serialize, function() return tree end)
assert(not ok and message:find('^Unwritable object <%a+> at <%?>%.tree%.leaf%.torch%.'), message)
"""


def test_a_factory_put_in_place_of_torchs_own_is_asked_when_a_file_is_read() -> None:
    code = """
        torch.class('Known')
        function Known:__init() self.x = 5 end
        local bytes = torch.serialize{ Known(), torch.ones(2) }:gsub('Known', 'Gone!')
        local ok, problem = pcall(torch.deserialize, bytes)
        assert(not ok and problem:match('unknown Torch class <Gone!>'))
        local original = torch.factory
        function torch.factory(name)
           return original(name) or function() return setmetatable({}, torch.getmetatable('Known')) end
        end
        local loaded = torch.deserialize(bytes)
        assert(torch.typename(loaded[1]) == 'Known' and loaded[1].x == 5 and loaded[2]:sum() == 2)
    """
    assert Runtime().run_string(code) == 0


def test_cases_worked_out_by_hand() -> None:
    assert Runtime().run_string(WORKED_OUT_BY_HAND) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [  # what Torch7 says, but for the folder of its source file
        ("torch.mm(torch.Tensor(3), a, b)", "matrix expected, got 1D tensor for t at THTensorMath.c:1297"),
        (
            "torch.Tensor(5, 5):mm(a, b)",
            "size mismatch, t: [5 x 5], m1: [2 x 3], m2: [3 x 4] at THTensorMath.c:1303",
        ),
        ("torch.mv(torch.Tensor(), a, v)", "vector expected, got t: 0D at THTensorMath.c:1199"),
        ("torch.Tensor(5):mv(a, v)", "size mismatch, t: [5], mat: [2 x 3] at THTensorMath.c:1204"),
        ("torch.ger(torch.Tensor(), v, v)", "expected matrix, got 0D tensor for t at THTensorMath.c:1412"),
        (
            "torch.ger(torch.Tensor(5, 5), v, v)",
            "size mismatch, t: [5 x 5], vec1: [3], vec2: [3] at THTensorMath.c:1418",
        ),
        ("torch.bmm(torch.Tensor(5), c, c)", "output tensor of incorrect size at THTensorMath.c:1518"),
    ],
)
def test_the_result_of_a_product_must_have_its_size(call: str, message: str) -> None:
    runtime = Runtime()
    code = f"""
        local a, b, c, v = torch.ones(2, 3), torch.ones(3, 4), torch.ones(2, 3, 3), torch.ones(3)
        local ok, problem = pcall(function() return {call} end)
        assert(not ok)
        local expected = {message!r}
        assert(tostring(problem):find(expected, 1, true), problem)
    """
    assert runtime.run_string(code) == 0


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ("0, 2", "calling 'unfold' on bad self (cannot unfold an empty tensor"),
        ("-1", "calling 'unfold' on bad self (cannot unfold an empty tensor"),
        ("2, 0", "bad argument #2 to 'unfold' (out of range"),
        ("torch.LongStorage{2, 0}", "bad argument #2 to 'unfold' (out of range"),
        ("2, 'x'", "bad argument #2 to 'repeatTensor' (number expected, got string)"),
    ],
)
def test_tensors_are_repeated_at_least_once(times: str, message: str) -> None:
    """Messages recorded from Torch7, but for the last."""
    code = f"print(select(2, pcall(function() local t = torch.ones(3):repeatTensor({times}) return t end)))"
    assert message in run_th("-e", code).stdout


def test_the_norm_of_nothing_is_zero() -> None:
    assert (
        Runtime().run_string("assert(torch.Tensor():norm() == 0 and torch.FloatTensor():norm(1) == 0)") == 0
    )


NUMBERS_AS_TEXT = """
    local function read(text, kind, n)
        local file = torch.MemoryFile()
        file:writeString(text)
        file:seek(1)
        file:quiet()
        return file['read' .. kind](file, n), file:hasError(), file:readString('*a')
    end
"""


@pytest.mark.parametrize(
    "check",
    [
        "local s, e = read(' 1.5\\t-2e-3\\n+7\\n', 'Double', 3) "
        "assert(not e and s[1] == 1.5 and s[2] == -2e-3 and s[3] == 7)",
        "local s = read('inf -inf nan 0x10', 'Float', 4) "
        "assert(s[1] == 1 / 0 and s[2] == -1 / 0 and s[3] ~= s[3] and s[4] == 16)",
        "local s, e, rest = read('12 -3 1e3', 'Int', 3) "
        "assert(s[1] == 12 and s[2] == -3 and s[3] == 1 and rest == 'e3')",
        "local s = read('9007199254740993 -9007199254740993 2.5', 'Long', 3) local p = s:data() "
        "assert(p[0] == 9007199254740993LL and p[1] == -9007199254740993LL and p[2] == 2)",
        "local s, e, rest = read('1 2 x 4', 'Double', 4) assert(e and s:size() == 2 and rest == 'x 4')",
        "local s, e = read('1', 'Double', 2) assert(e and s:size() == 1)",
        "local s, e = read(('1'):rep(600) .. ' 2', 'Double', 2) assert(e and s:size() == 0)",
    ],
)
def test_numbers_are_read_from_text(check: str) -> None:
    assert Runtime().run_string(NUMBERS_AS_TEXT + check) == 0


def test_the_registry_names_the_metatables_of_classes(tmp_path: Path) -> None:
    """torchnet tells classes apart by it."""
    code = """
        local metatable = torch.class('Thing')
        local names = debug.getregistry()
        assert(names[metatable] == 'Thing')
        assert(names[torch.getmetatable('torch.FloatTensor')] == 'torch.FloatTensor')
    """
    run_lua(tmp_path, code)


def test_more_than_eight_sizes(tmp_path: Path) -> None:
    """A tensor's constructor and resize read eight of them, as in Torch7; the other functions read all."""
    code = """
        local sizes = { 1, 2, 1, 2, 1, 2, 1, 2, 3, 2 }
        for _, name in ipairs{ 'randn', 'rand', 'zeros', 'ones' } do
           assert(torch[name](unpack(sizes)):dim() == 10)
        end
        assert(torch.Tensor(unpack(sizes)):dim() == 8 and torch.Tensor(96):resize(unpack(sizes)):dim() == 8)
        local x = torch.Tensor(96):fill(1):reshape(unpack(sizes))
        assert(x:dim() == 10 and x:cross(x, 9):norm() == 0)
    """
    run_lua(tmp_path, code)


def test_a_function_of_another_luajit_says_so_when_it_is_called(tmp_path: Path) -> None:
    """It has values from the file around it: they are not those of the function that says so."""
    code = """
        local bytecode = string.dump(function() end)
        local other = function() return bytecode end
        local text = torch.serialize(other, 'ascii')
        local broken = text:gsub('\\27LJ.', '\\27LJ\\1')
        local f = torch.deserialize(broken, 'ascii')
        local ok, problem = pcall(f)
        assert(not ok and problem:find('saved by another Lua and could not be loaded', 1, true), problem)
    """
    run_lua(tmp_path, code)


@pytest.mark.parametrize("way", ["any", "pytorch"])
def test_lapack_keeps_the_layout_of_an_argument_that_it_replaces(way: str) -> None:
    """It fills others column by column, except for the right matrices of svd and qr: Torch7's layouts."""
    code = """
        local function matrix() return torch.Tensor{ { 4, 1 }, { 1, 3 } } end
        local function is_by_rows(t) return t:stride(1) == 2 and t:stride(2) == 1 end
        local function same(name, a, b) assert((a - b):abs():max() < 1e-12, name) end
        for _, name in ipairs{ 'inverse', 'potrf', 'potri', 'pstrf', 'geqrf' } do
           local a = matrix()
           local other = name == 'pstrf' and torch.IntTensor() or name == 'geqrf' and torch.Tensor() or nil
           local new = torch[name](a)
           if other then torch[name](a, other, a) else torch[name](a, a) end
           assert(is_by_rows(a) and new:stride(1) == 1, name)
           same(name, a, new)
        end
        for _, name in ipairs{ 'gesv', 'gels', 'trtrs' } do
           local a, b = matrix(), torch.Tensor{ { 2, 1 }, { 1, 3 } }
           local x, factors = torch[name](b, a)
           torch[name](b, a, b, a)
           assert(is_by_rows(b) and is_by_rows(a) and x:stride(1) == 1, name)
           same(name, b, x)
           same(name, a, factors)
        end
        local a, packed, tau = matrix(), torch.geqrf(matrix())
        local vectors, c = matrix(), matrix()
        torch.symeig(torch.Tensor(), vectors, vectors, 'V')
        torch.ormqr(c, packed, tau, c)
        local q = packed:clone()
        torch.orgqr(q, q, tau)
        local u, _, v = torch.svd(a)
        local _, r = torch.qr(a)
        for k, t in ipairs{ vectors, c, q, v, r } do assert(is_by_rows(t), k) end
        assert(u:stride(1) == 1)
    """
    assert Runtime(way=way).run_string(code) == 0


@pytest.mark.parametrize("way", ["any", "pytorch"])
def test_gather_resizes_only_a_new_result(way: str) -> None:
    """A longer one keeps what lies behind; another size is refused. Torch7 writes behind a shorter one."""
    code = """
        local x, index = torch.range(1, 16):view(4, 4), torch.LongTensor{ { 1, 2, 3, 4 }, { 2, 2, 2, 2 } }
        local found = torch.gather(x, 1, index)
        assert(found:equal(torch.Tensor{ { 1, 6, 11, 16 }, { 5, 6, 7, 8 } }))
        for _, r in ipairs{ torch.zeros(4, 4), torch.zeros(4, 4):t(), torch.zeros(5, 6):sub(2, 5, 2, 5) } do
           assert(torch.gather(r, x, 1, index):size(1) == 4)
           assert(r:narrow(1, 1, 2):equal(found) and r:narrow(1, 3, 2):eq(0):all())
        end
        local function refuse(words, ...)
           local fine, text = pcall(torch.gather, ...)
           assert(not fine and text:find(words, 1, true), text)
        end
        local sizes = ', src [4 x 4] and index [2 x 4] to have the same size in dimension 0'
        refuse('Expected tensor [2 x 3]' .. sizes, torch.zeros(2, 3), x, 1, index)
        refuse('Expected tensor [1 x 4]' .. sizes, torch.zeros(1, 4), x, 1, index)
        refuse('Input tensor must have same dimensions as output tensor', torch.zeros(8), x, 1, index)
        refuse('Index tensor must have same dimensions as input tensor', x:clone(), x, 1, index[1])
    """
    assert Runtime(way=way).run_string(code) == 0

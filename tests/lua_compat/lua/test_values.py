"""Values that scripts depend on; those in tests/golden/programs are recorded from Torch7."""

from pathlib import Path

import pytest

from lua_compat import run
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_lua
from tests.helpers.places import GOLDEN

HERE = Path(__file__).parent


def test_values_are_those_of_torch7(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(GOLDEN / "programs" / "values.lua") == 0
    recorded = (GOLDEN / "programs" / "values.txt").read_text()
    assert capfd.readouterr().out.splitlines() == recorded.splitlines()


@pytest.mark.parametrize("way", ["any", "pytorch"])
@pytest.mark.parametrize("name", ["edges", "numbers"])
def test_last_bits_equal_numbers_nans_and_zeros_with_signs_are_as_in_torch7(
    name: str, way: str, capfd: pytest.CaptureFixture[str]
) -> None:
    program = GOLDEN / "programs" / f"{name}.lua"
    assert Runtime(str(program), way=way).run_file(str(program)) == 0
    assert capfd.readouterr().out.splitlines() == program.with_suffix(".txt").read_text().splitlines()


def test_modules_train_on_after_clear_state(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(HERE / "cleared.lua", [str(GOLDEN / "cases_nn.lua")]) == 0
    assert capfd.readouterr().out.splitlines() == ["164 compared"]


def test_calls_that_are_ended_in_the_middle_leave_nothing_half_done(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert Runtime(way="any").run_file(str(HERE / "interrupted.lua")) == 0
    assert int(capfd.readouterr().out) > 300


def test_tensors_that_kernels_have_read_or_written_may_grow() -> None:
    assert Runtime(way="any").run_file(str(HERE / "grown.lua")) == 0


def test_results_and_indices_may_share_memory_with_what_is_read() -> None:
    assert run(HERE / "shared_results.lua") == 0


SORTED = """
torch.manualSeed(3)
for _, kind in ipairs{ 'Double', 'Float', 'Long', 'Byte' } do
   for _, descending in ipairs{ false, true } do
      local x = torch[kind .. 'Tensor'](50000):random(0, 100)
      local v, p = x:sort(1, descending)
      local a, b = v:narrow(1, 1, 49999), v:narrow(1, 2, 49999)
      assert((descending and a:lt(b) or a:gt(b)):sum() == 0)
      assert(x:index(1, p):equal(v))
      assert(p:sort():equal(torch.range(1, 50000):long()))
      local k = torch.random(50000)
      assert(x:kthvalue(k)[1] == x:sort()[k])
   end
end
require 'nn'
local index, select = nn.Index(1), nn.MaskedSelect() -- tensors return something else here
assert(index:forward{ torch.Tensor{ 1, 2, 3 }, torch.LongTensor{ 3 } }[1] == 3)
assert(select:forward{ torch.Tensor{ 1, 2, 3 }, torch.ByteTensor{ 0, 1, 0 } }[1] == 2)
local ok, message = pcall(function() local x = torch.IntTensor{ 1 }:cdiv(torch.IntTensor{ 0 }) end)
assert(not ok and message:find('division by zero'), message) -- where Torch7 ends with a signal
"""


def test_a_large_sort_is_one_and_its_positions_belong_to_it(tmp_path: Path) -> None:
    script = tmp_path / "sorted.lua"
    script.write_text(SORTED)
    assert run(script) == 0


# What Torch7 gives for NaN, infinity, -infinity, 0.25 and -3: the output, and the gradient from 2.
NOT_NUMBERS = """
local nan, inf = 0 / 0, 1 / 0
local transfers = {
   ['ReLU()'] = { { 0, inf, 0, 0.25, 0 }, { 0, 2, 0, 2, 0 } },
   ['ReLU(true)'] = { { nan, inf, 0, 0.25, 0 }, { 2, 2, 0, 2, 0 } },
   ['Threshold(0.1,7)'] = { { 7, inf, 7, 0.25, 7 }, { 0, 2, 0, 2, 0 } },
   ['Threshold(0.1,0.05,true)'] = { { nan, inf, 0.05, 0.25, 0.05 }, { 2, 2, 0, 2, 0 } },
   ['ReLU6()'] = { { 6, 6, 0, 0.25, 0 }, { 2, 0, 0, 2, 0 } },
   ['ReLU6(true)'] = { { nan, 6, 0, 0.25, 0 }, { 2, 0, 0, 2, 0 } },
   ['HardTanh()'] = { { 1, 1, -1, 0.25, -1 }, { 2, 0, 0, 2, 0 } },
   ['HardTanh(-1,1,true)'] = { { nan, 1, -1, 0.25, -1 }, { 2, 0, 0, 2, 0 } },
   ['Clamp(-1,1)'] = { { 1, 1, -1, 0.25, -1 }, { 2, 0, 0, 2, 0 } },
   ['HardShrink()'] = { { 0, inf, -inf, 0, -3 }, { 0, 2, 2, 0, 2 } },
   ['SoftShrink()'] = { { 0, inf, -inf, 0, -2.5 }, { 0, 2, 2, 0, 2 } },
   ['LeakyReLU(0.2)'] = { { nan, inf, -inf, 0.25, -0.6 }, { 0.4, 2, 0.4, 2, 0.4 } },
   ['LeakyReLU(0.2,true)'] = { { nan, inf, -inf, 0.25, -0.6 }, { 2, 2, 0.4, 2, 0.4 } },
   ['LogSigmoid()'] = { { nan, 0, nan, -0.5759394, -3.048587 }, { nan, 0, nan, 0.875647, 1.905148 } },
}
local least_float = -3.4028234663852886e38
local least = { ['torch.DoubleTensor'] = -1.7976931348623157e308, ['torch.FloatTensor'] = least_float }

local function check(name, values, wanted)
   values = values:double():contiguous():view(-1)
   for i = 1, values:nElement() do
      local v, w = values[i], wanted[(i - 1) % #wanted + 1]
      if not (v ~= v and w ~= w or v == w or math.abs(v - w) < 1e-6) then
         error(('%s, %d: %g, not %g'):format(name, i, v, w))
      end
   end
end

for type, low in pairs(least) do
   for _, rows in ipairs{ 1, 30, 4000 } do
      for name, wanted in pairs(transfers) do
         local m = loadstring('return nn.' .. name)():type(type)
         local x = torch.Tensor{ { nan, inf, -inf, 0.25, -3 } }:expand(rows, 5):clone():type(type)
         check(name, m:forward(x), wanted[1])
         check(name .. ' backward', m:backward(x, x:clone():fill(2)), wanted[2])
      end
   end
   -- a vector is limited once more, as if it were not in place
   check('vector', nn.HardTanh(-1, 1, true):type(type):forward(torch.Tensor{ nan, 3 }:type(type)), { 1, 1 })
   local sides = torch.Tensor{ { { nan, 1, 2, nan, nan, nan, -inf, nan, 3, -inf, nan, 5 } } }:type(type)
   local maxima, slopes = { 1, 2, low, low, 3, 5 }, { 0, 2, 2, 0, 0, 0, 0, 0, 2, 0, 0, 2 }
   for _, rows in ipairs{ 1, 300 } do
      local x = sides:expand(rows, 1, 12):contiguous()
      local function pooled(m, shape, result)
         m:type(type)
         local input = x:view(unpack(shape))
         local name = torch.type(m)
         check(name, m:forward(input), result or maxima)
         check(name .. ' backward', m:backward(input, m.output:clone():fill(2)), slopes)
      end
      pooled(nn.SpatialMaxPooling(2, 1), { rows, 1, 1, 12 })
      pooled(nn.SpatialMaxPooling(1, 2), { rows, 1, 12, 1 })
      pooled(nn.SpatialAdaptiveMaxPooling(6, 1), { rows, 1, 1, 12 }, { 1, 2, least_float, least_float, 3, 5 })
      pooled(nn.VolumetricMaxPooling(1, 2, 1), { rows, 1, 1, 1, 12 })
      pooled(nn.TemporalMaxPooling(2, 2), { rows, 12, 1 })
   end
   for _, n in ipairs{ 2, 9000 } do
      local x, y = torch.Tensor{ nan, 0.5 }:repeatTensor(n / 2):type(type), torch.ones(n):type(type)
      local margin = nn.MarginCriterion():type(type)
      assert(margin:forward(x, y) == 0.25)
      check('MarginCriterion', margin:backward(x, y), { 0, -1 / n })
      local ok, problem = pcall(nn.BCECriterion().forward, nn.BCECriterion():type(type), x, y)
      assert(not ok and problem:find('input value should be between 0~1, but got %-?nan'), problem)
      -- of a NaN among its neighbours
      local image = torch.zeros(1, 1, 8, n):type(type)
      image[1][1][4][1] = nan
      local up = nn.SpatialUpSamplingBilinear(2):type(type)
      local larger = up:forward(image)
      assert(larger:ne(larger):sum() == 12)
      local maximum = nn.CMaxTable():type(type)
      maximum:forward{ y, y * 2 }
      check('CMaxTable', maximum:backward({ y, y * 2 }, x)[1], { 0 })
   end
end
"""


def test_what_is_not_a_number_is_compared_as_in_torch7(tmp_path: Path) -> None:
    run_lua(tmp_path, f"require 'nn'\n{NOT_NUMBERS}")


MIXED = """
local words = "bad argument #3 to 'v' (cannot convert 'struct TH%sTensor *' to 'struct TH%sTensor *')"
local function refused(f, ...)
   local ok, problem = pcall(f)
   assert(not ok and problem:find(words:format(...), 1, true), tostring(problem))
end
for _, rows in ipairs{ 2, 4000 } do
   local floats, doubles = torch.rand(rows, 5):float(), torch.rand(rows, 5)
   for _, name in ipairs{ 'Tanh', 'ReLU', 'Sigmoid', 'HardTanh', 'LogSoftMax', 'PReLU', 'Square' } do
      local m = nn[name]():float()
      refused(function() m:forward(doubles) end, 'Float', 'Double')
      m:forward(floats)
      refused(function() m:backward(floats, doubles) end, 'Double', 'Float')
   end
   for _, name in ipairs{ 'MSE', 'Abs', 'SmoothL1', 'BCE', 'Margin', 'SoftMargin' } do
      local criterion = nn[name .. 'Criterion']():float()
      refused(function() criterion:forward(floats, doubles) end, 'Double', 'Float')
      refused(function() criterion:forward(doubles, floats) end, 'Float', 'Double')
   end
   local image = torch.rand(rows, 5):view(1, 1, rows, 5)
   refused(function() nn.SpatialConvolution(1, 2, 2, 2):float():forward(image) end, 'Float', 'Double')
   refused(function() nn.SpatialAveragePooling(2, 2):float():forward(image) end, 'Float', 'Double')
   assert(torch.type(nn.SpatialZeroPadding(1, 1):float():forward(image)) == 'torch.FloatTensor')
   -- classes may be of any type
   local classes = torch.ones(rows)
   assert(nn.ClassNLLCriterion():float():forward(floats, classes) ~= 0)
   assert(nn.MultiMarginCriterion():float():forward(floats, classes) ~= 0)
end
local ok, problem = pcall(function() return nn.PReLU(1):forward(torch.randn(2, 5, 3)) end)
assert(not ok and problem:find('Wrong number of input planes. Expected 1 but got 5', 1, true), problem)
"""


def test_layers_refuse_numbers_of_another_type(tmp_path: Path) -> None:
    run_lua(tmp_path, f"require 'nn'\n{MIXED}")


SLICES = """
local function is(values, t)
   assert(table.concat(t:view(-1):totable(), ' ') == values, table.concat(t:view(-1):totable(), ' '))
end
local at, source = torch.LongTensor{ 1, 3 }, torch.range(1, 12)
for _, name in ipairs{ 'indexCopy', 'indexAdd' } do
   for _, sizes in ipairs{ { 2, 6 }, { 2, 3, 2 }, { 2, 2, 3 } } do
      local t = torch.zeros(4, 2, 3)
      t[name](t, 1, at, source:view(unpack(sizes)))
      is('1 2 3 4 5 6 0 0 0 0 0 0 7 8 9 10 11 12 0 0 0 0 0 0', t)
   end
   local t = torch.zeros(4, 2, 1)
   t[name](t, 2, torch.LongTensor{ 2 }, torch.range(1, 4):view(4, 1))
   is('0 1 0 2 0 3 0 4', t)
   local function raises(words, t, ...)
      local arguments = { ... }
      local ok, problem = pcall(function()
         t[name](t, unpack(arguments))
         return t
      end)
      assert(not ok and problem:find(words, 1, true), problem)
   end
   raises('[2 x 3] and src [3] to have the same number of elements, but got 6', torch.zeros(4, 2, 3), 1, at,
      torch.range(1, 6):view(2, 3))
   raises('tensor must have one dimension', torch.zeros(4), 1, at, torch.zeros(2, 2))
   raises('cannot select on a vector', torch.zeros(4, 2), 1, at, torch.zeros(2))
   raises('Number of indices should be equal to', torch.zeros(4, 2), 1, at, torch.zeros(3, 2))
   raises('out of range', torch.zeros(2, 2), 1, at, torch.zeros(2, 2))
end
local ok, problem = pcall(function() return torch.zeros(4, 3):index(2, torch.LongTensor{ 1, 9 }) end)
assert(not ok and problem:find('bad argument #3', 1, true) and problem:find('out of range', 1, true), problem)
"""


def test_slices_of_as_many_elements_are_taken_whatever_their_shape(tmp_path: Path) -> None:
    run_lua(tmp_path, SLICES)


def test_what_counts_as_a_number() -> None:
    """Numbers in text do. LuaJIT's 64-bit integers do not; a table of indices ends there."""
    code = """
        local t = torch.Tensor{ { 1, 2 }, { 3, 4 } }
        assert(not pcall(function() return t / 1LL end) and not pcall(function() return t % 1LL end))
        assert((t / '2'):equal(t * 0.5))
        for _, indices in ipairs{ { 1LL, 1 }, { { 1LL, 1ULL } }, { {}, 2LL } } do
           assert(t[indices]:dim() == 2)
        end
        local file = torch.MemoryFile()
        assert(file:writeInt('7') == nil and file:writeInt(8) == nil)
        file:seek(1)
        assert(table.concat(file:readInt('2'):totable(), ' ') == '7 8')
        torch.setnumthreads('1.5')
        assert(torch.getnumthreads() == 1)
    """
    assert Runtime().run_string(code) == 0

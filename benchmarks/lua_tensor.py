"""Measures what tensors cost in Lua: element access, apply, small operations, also under real Torch7.

    python -m benchmarks.lua_tensor [--torch7 COMMAND] [--before COMMAND] [--rounds 9]

The commands run a Lua script under real Torch7 ('th', or 'luajit' with its paths set) and an older th, which
take turns with th; the output shows the medians over the rounds, in nanoseconds of processor time, and the
ratios of the medians.
"""

from benchmarks import performance
from benchmarks.helpers.lua_in_turns import in_turns, medians, options

SCRIPT = """
require 'torch'
local function measure(name, n, f)
    f(math.ceil(n / 10)) -- warm-up
    local start = os.clock()
    f(n)
    print(('%s\\t%.2f'):format(name, (os.clock() - start) / n * 1e9))
end
local v, m = torch.DoubleTensor(1000):fill(1), torch.DoubleTensor(30, 30):fill(1)
local small, other = torch.DoubleTensor(3, 4):fill(1), torch.DoubleTensor(3, 4):fill(1)
local large = torch.FloatTensor(1000000):fill(1)
measure('v:size(1)', 1e6, function(n) local s = 0 for i = 1, n do s = s + v:size(1) end return s end)
measure('v[i]', 1e6, function(n) local s = 0 for i = 1, n do s = s + v[i % 1000 + 1] end return s end)
measure('v[i] = x', 1e6, function(n) for i = 1, n do v[i % 1000 + 1] = i end end)
measure('m[{i, j}]', 1e6, function(n) local s = 0 for i = 1, n do s = s + m[{i % 30 + 1, 3}] end return s end)
measure('m[i][j]', 1e6, function(n) local s = 0 for i = 1, n do s = s + m[i % 30 + 1][3] end return s end)
measure('apply, per element', 1e6, function(n)
    for i = 1, n / 1000 do v:apply(function(x) return x + 1 end) end
end)
measure('torch.data, per element', 1e6, function(n)
    local p = torch.data(v)
    for i = 1, n / 1000 do for j = 0, 999 do p[j] = p[j] + 1 end end
end)
measure('small:add(1)', 2e5, function(n) for i = 1, n do small:add(1) end end)
measure('small:add(other)', 2e5, function(n) for i = 1, n do small:add(other) end end)
measure('small + other', 1e5, function(n) for i = 1, n do local t = small + other end end)
measure('small:narrow(1, 1, 2)', 2e5, function(n) for i = 1, n do local t = small:narrow(1, 1, 2) end end)
measure('small:sum()', 1e5, function(n) for i = 1, n do local s = small:sum() end end)
measure('small * small:t()', 5e4, function(n) for i = 1, n do local t = small * other:t() end end)
for i = 1, 1000 do large:add(1) end -- loads what computes large tensors in the long run
measure('large:add(1), per 1000 elements', 2e6, function(n) for i = 1, n / 1000 do large:add(1) end end)
"""


def main() -> None:
    given = options("lua_tensor", __doc__, rounds=9)
    found = medians(SCRIPT, given)
    performance.report("lua_tensor", in_turns("ns", found), given)


if __name__ == "__main__":
    main()

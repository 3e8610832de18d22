-- Layers of which a call was ended in the middle, as Ctrl-C ends it, compute what they did before: what is kept from
-- one call to the next is kept once all of it is there. Prints how many calls were ended.
require 'nn'
local ways = require 'torch.core.ways'
jit.off() -- hooks are called by what is interpreted
jit.flush() -- LuaJIT may crash where a hook's error meets traces of before

local LAYERS = {
   function(k) return nn.SpatialAdaptiveAveragePooling(k, k + 1) end,
   function(k) return nn.SpatialAdaptiveMaxPooling(k, k + 1) end,
   function(k) return nn.SpatialAveragePooling(k, k, 1, 1, 1, 1):setCountExcludePad() end,
   function(k) return nn.SpatialSubSampling(2, k, k) end,
   function(k) return nn.SpatialConvolution(2, 3, 3, 3, k, k, 1, 1) end,
}

-- Calls f, and ends it after so many instructions; whether it came to its end.
local function ended_after(instructions, f)
   local ok, problem = pcall(function()
      debug.sethook(function()
         debug.sethook()
         error 'interrupted'
      end, '', instructions)
      f()
      debug.sethook()
   end)
   debug.sethook()
   assert(ok or tostring(problem):find 'interrupted', problem)
   return ok
end

local calls = 0

-- Ones, which sums of many are products with, are made when the first are added up.
for _, f in ipairs{ function() return torch.ones(3000):sum() end,
   function() return torch.zeros(3000):add(1):mean() * 3000 end } do
   local instructions = 100
   repeat
      local ended = ended_after(instructions, f)
      calls, instructions = calls + 1, math.floor(1.05 * instructions) + 1
   until ended
   assert(f() == 3000)
end

local function results(layer, x)
   local output = layer:forward(x):clone()
   layer:zeroGradParameters()
   return torch.cat(output:view(-1), layer:backward(x, output):clone():view(-1))
end

for number, make in ipairs(LAYERS) do
   local x = torch.range(1, 2 * 6 * 7):view(2, 6, 7):mul(0.7):sin()
   local function check(layer)
      local found = results(layer, x)
      ways.only 'pytorch'
      local wanted = results(layer, x)
      ways.only()
      assert((found - wanted):abs():max() < 1e-9, ('layer %d, call %d'):format(number, calls))
   end
   local instructions, other = 100, make(2)
   repeat
      results(other, x) -- what is kept is this one's
      local layer = make(3)
      local ended = ended_after(instructions, function() layer:forward(x) end)
      for _, checked in ipairs(calls % 2 == 0 and { layer, other } or { other, layer }) do check(checked) end
      calls, instructions = calls + 1, math.floor(1.1 * instructions) + 1
   until ended
end

-- Columns that were marked as found are found again.
local layer, list = nn.SparseLinear(40, 2), torch.Tensor(30, 2):fill(1)
for i = 1, 30 do list[i][1] = i end
local instructions = 100
repeat
   local ended = ended_after(instructions, function()
      layer:zeroGradParameters()
      layer:forward(list)
      layer:backward(list, torch.ones(2))
   end)
   layer:zeroGradParameters()
   layer:forward(list)
   layer:backward(list, torch.ones(2))
   local before = layer.weight:clone()
   layer:updateParameters(1)
   assert(math.abs((before - layer.weight):sum() - 60) < 1e-9, ('columns after call %d'):format(calls))
   calls, instructions = calls + 1, math.floor(1.02 * instructions) + 1
until ended
print(calls)

-- LookupTable.
local h = require 'harness'
local whole_numbers, both_ways, random = h.whole_numbers, h.both_ways, h.random

local function lookup(T)
   local rows, columns = random(2, 6), random(1, 4) == 1 and 300 or random(1, 5) -- long rows are left to BLAS
   local index = whole_numbers(random(1, 6)):random(rows)
   local padding, scale = random(0, rows), torch.uniform(-2, 2)
   local gradient = torch.randn(index:size(1), columns):type(T)
   local wrong = index:clone()
   wrong[random(1, wrong:size(1))] = ({ 0, rows + 1, -3 })[random(1, 3)]
   local longest, power = random(1, 2) == 1 and 0.5 or nil, random(1, 3)
   local by_frequency = random(1, 2) == 1
   for _, given in ipairs{ index, wrong } do
      both_ways(T .. ' LookupTable', function()
         local module = nn.LookupTable(rows, columns, padding, longest, power):type(T)
         if by_frequency then module:scaleGradByFreq() end
         module.gradWeight:fill(0.25)
         module:accGradParameters(given, gradient, scale)
         return module.gradWeight, module:forward(given), module.weight
      end)
   end
end

return {
   { name = 'lookup', types = h.REALS, run = lookup },
}

-- Every nn module computes the same after clearState in the middle of training, as where a model is saved between two
-- steps.
-- usage: th cleared.lua CASES.lua   (a list of { constructor, input shapes, options }, as tests/golden/cases_nn.lua)
-- Prints a line for each case that differs, then how many were compared.
require 'nn'
local cases = require './module_cases'
local map, copy, draw = cases.map, cases.copy, cases.draw
torch.setdefaulttensortype('torch.DoubleTensor')

local function equal(a, b)
   if torch.isTensor(a) then return a:isSameSizeAs(b) and (a:nElement() == 0 or (a - b):abs():max() < 1e-12) end
   if type(a) ~= 'table' then return a == b end
   for k, v in pairs(a) do
      if not equal(v, b[k]) then return false end
   end
   return true
end

local function step(module, input, gradOutput)
   torch.manualSeed(7)
   local output = copy(module:forward(input))
   gradOutput = gradOutput or map(output, function(t) return torch.randn(t:size()) end)
   torch.manualSeed(8)
   return { output, copy(module:backward(input, gradOutput)) }, gradOutput
end

local compared = 0
local function compare(case)
   local constructor, shapes, options = case[1], case[2], case[3] or {}
   if options.target then return end -- criterions have no clearState
   torch.manualSeed(1)
   local module = assert(loadstring('return ' .. constructor))()
   local input = draw(shapes, options)
   local ok, message = pcall(function()
      if options.evaluate then module:evaluate() end
      local gradients = select(2, module:parameters())
      if gradients then module:zeroGradParameters() end
      -- what a module computes in place it computes on copies
      local first, gradOutput = step(module, copy(input))
      local of_parameters = copy(gradients or {})
      for _ = 1, 2 do
         module:clearState()
         if gradients then module:zeroGradParameters() end
         local again = step(module, copy(input), copy(gradOutput))
         assert(equal(first, again), 'other results after clearState')
         assert(equal(of_parameters, gradients or {}), 'other gradients of parameters after clearState')
      end
      module:clearState()
      local saved = torch.deserialize(torch.serialize(module))
      assert(equal(first, step(saved, copy(input), copy(gradOutput))), 'other results after it was saved')
   end)
   compared = compared + 1
   if not ok then print(constructor, message) end
end

for _, case in ipairs(dofile(arg[1])) do compare(case) end
print(compared .. ' compared')

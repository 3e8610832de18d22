-- Runs modules in Torch7 and compares with what is recorded beside them: outputs in both modes, and gradients.
-- usage: th check_models.lua FILE.t7    (made by export_models.py)
require 'torch'
require 'nn'
require 'nngraph'
torch.setdefaulttensortype('torch.DoubleTensor')

local function copy(x)
   if torch.isTensor(x) then return x:clone() end
   local list = {}
   for k, v in pairs(x) do list[k] = copy(v) end
   return list
end

-- The largest error over the largest value; infinite where types, sizes or tables differ.
local function difference(a, b)
   if type(a) == 'table' then
      if type(b) ~= 'table' or #a ~= #b then return math.huge end
      local worst = 0
      for i = 1, #a do worst = math.max(worst, difference(a[i], b[i])) end
      return worst
   end
   if a:type() ~= b:type() or not a:isSameSizeAs(b) then return math.huge end
   if a:nElement() == 0 then return 0 end
   a, b = a:double(), b:double()
   local largest = torch.abs(a):max()
   return torch.abs(a - b):max() / (largest > 0 and largest or 1)
end

local function check(what, expected, got)
   local found = difference(expected, got)
   assert(found <= 1e-6, string.format('%s differs by %g', what, found))
end

local cases, failed = torch.load(arg[1]), 0
for _, case in ipairs(cases) do
   local ok, message = pcall(function()
      local module = case.module
      module:evaluate() -- first: training changes running averages
      check('evaluated', case.evaluated, module:forward(copy(case.input)))
      if not case.random then
         module:training()
         local input = copy(case.input)
         check('output', case.output, module:forward(input))
         if case.gradInput then
            module:zeroGradParameters()
            check('gradInput', case.gradInput, module:backward(input, copy(case.gradOutput)))
         end
      end
      module:clearState()
      module:float()
   end)
   if not ok then
      failed = failed + 1
      print(case.expr, message)
   end
end
print(string.format('%d modules, %d failed', #cases, failed))
os.exit(failed == 0 and 0 or 1)

-- Runs the recorded cases of nn again, in another tensor type or with modules that were saved.
-- usage: th replay_nn.lua CASES.t7 TYPE MODULES.t7 OUT.t7
-- MODULES.t7 is written if it does not exist: the modules as constructed. OUT.t7: outputs and gradients as doubles.
require 'nn'

local cases, type_name = torch.load(arg[1]), arg[2]
local saved = paths.filep(arg[3]) and torch.load(arg[3]) or nil

local function map(value, f)
   if torch.isTensor(value) then return f(value) end
   if type(value) ~= 'table' then return value end
   local mapped = {}
   for key, inner in pairs(value) do mapped[key] = map(inner, f) end
   return mapped
end
local function to_type(t) return t:type(type_name) end
local function to_double(t) return t:double() end

-- What the recording drew for the input: the generator has to be where it was.
local function draw_again(input, expression)
   if expression:find('LookupTable') then
      for _ = 1, input:nElement() do torch.random() end
   else
      map(input, function(t) return torch.randn(t:size()) end)
   end
end

local modules, results = {}, {}
for i, case in ipairs(cases) do
   torch.manualSeed(case.seed)
   modules[i] = assert(loadstring('return ' .. case.expr))()
   local module = saved and saved[i] or modules[i]:clone()
   if case.evaluate then module:evaluate() end
   module:type(type_name)
   draw_again(case.input, case.expr)
   local input = map(case.input, to_type)
   local result = { type = torch.type(module), string = tostring(module) }
   if case.gradOutput == nil then -- a criterion
      local target = map(case.target, to_type)
      result.output = module:forward(input, target)
      result.gradInput = map(module:backward(input, target), to_double)
   else
      local _, gradients = module:parameters()
      if gradients then module:zeroGradParameters() end
      result.output = map(module:forward(input), to_double)
      result.gradInput = map(module:backward(input, map(case.gradOutput, to_type)), to_double)
      result.gradParams = gradients and map(gradients, to_double)
   end
   results[i] = result
end
if not saved then torch.save(arg[3], modules) end
torch.save(arg[4], results)

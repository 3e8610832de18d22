-- Probe of models: builds each case's module, saves it with what it computed in training and evaluate mode.
-- usage: th probe_models.lua OUT.t7 CASES.lua [CASES.lua ...]   (any Torch7 runtime)
-- The cases are written as for probe_nn.lua; criterions are left out, and nn.Copy, which holds functions.
require 'torch'
require 'nn'
require 'nngraph'
torch.setdefaulttensortype('torch.DoubleTensor')

local function make_input(shapes, opt)
   local function one(shape)
      if opt.labels then
         return torch.Tensor(torch.LongStorage(shape)):apply(function() return torch.random(1, opt.labels) end)
      end
      local t = torch.randn(torch.LongStorage(shape))
      if opt.positive then t:abs():add(0.1) end
      if opt.unit then t = torch.sigmoid(t) end
      return t
   end
   if #shapes == 1 and not opt.table then return one(shapes[1]) end
   local list = {}
   for i, shape in ipairs(shapes) do list[i] = one(shape) end
   return list
end

local function randn_like(x)
   if torch.isTensor(x) then return torch.randn(x:size()) end
   local list = {}
   for i, v in ipairs(x) do list[i] = randn_like(v) end
   return list
end

local function snapshot(x)
   if torch.isTensor(x) then return x:clone() end
   if type(x) == 'table' then
      local copy = {}
      for k, v in pairs(x) do copy[k] = snapshot(v) end
      return copy
   end
   return x
end

-- nngraph notes where a node was declared: nothing of this machine belongs into the file.
local function forget_paths(module)
   module:apply(function(m)
      for _, list in ipairs{'forwardnodes', 'backwardnodes'} do
         for _, node in ipairs(m[list] or {}) do node.data.annotations._debugLabel = nil end
      end
   end)
end

-- Buffers that clearState leaves behind, in modules held under names of their own.
local function empty_buffers(x, seen)
   if type(x) ~= 'table' or seen[x] then return end
   seen[x] = true
   for key, value in pairs(x) do
      if torch.isTensor(value) and (key == 'finput' or key == 'fgradInput') then value:set() end
      empty_buffers(value, seen)
   end
end

local random_classes = { 'Dropout', 'WhiteNoise', 'RReLU' }
local function is_random(expr)
   for _, name in ipairs(random_classes) do
      if expr:find(name) then return true end
   end
   return false
end

local function run(seed, case)
   local expr, shapes, opt = case[1], case[2], case[3] or {}
   torch.manualSeed(seed)
   local module = assert(loadstring('return ' .. expr))()
   if type(module) == 'function' then module = module() end
   local input = opt.input and opt.input() or make_input(shapes, opt)
   local result = { expr = expr, random = is_random(expr), input = snapshot(input) }
   module:training()
   result.output = snapshot(module:forward(input))
   if not opt.forward_only and not result.random then
      result.gradOutput = randn_like(result.output)
      result.gradInput = snapshot(module:backward(input, snapshot(result.gradOutput)))
   end
   module:evaluate()
   local input = snapshot(result.input) -- an in-place module has changed the first one
   result.evaluated = snapshot(module:forward(input))
   module:training()
   module:clearState()
   forget_paths(module)
   empty_buffers(module, {})
   result.module = module
   return result
end

local results, seed = {}, 3000
for i = 2, #arg do
   for _, case in ipairs(dofile(arg[i])) do
      seed = seed + 1
      if not (case[3] and case[3].target) and not case[1]:find('nn.Copy%(\'torch.Double.*torch.Double') then
         local ok, result = pcall(run, seed, case)
         if not ok then error(case[1] .. ': ' .. tostring(result)) end
         results[#results + 1] = result
      end
   end
end
torch.save(arg[1], results)
print(#results .. ' modules')

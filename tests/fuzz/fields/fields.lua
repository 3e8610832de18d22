-- Puts what is no number, or no sensible one, into each field of nn's modules and criterions that is a number or
-- boolean or is looked for in vain, into the scale of the gradients, and into each argument of torch's functions.
-- Whatever that raises is caught; no function of a script may run while a kernel does, and the process must live.
-- CASES: tests/golden/cases_nn.lua. Leaves the globals last_case and run(case, values), which puts `values` of the
-- hostile values in each place; it gives how many runs were made, how many raised, and the kernels in which a function
-- ran.
require 'nn'
local luajit = require('torch.core.ways').luajit

local inside -- the kernel of Lua's that runs, or nil
local disturbed = {} -- kernels in which a function of the script ran

local function left(ok, ...)
   inside = nil
   if not ok then error((...), 0) end
   return ...
end
for name, f in pairs(luajit) do
   luajit[name] = function(...)
      inside = name
      return left(pcall(f, ...))
   end
end

-- Numbers in all but name: what a metamethod gives is as good as any.
local function answer(value)
   return function()
      if inside then disturbed[inside] = true end
      collectgarbage('step')
      return value
   end
end
local function number_like(value)
   local metatable = { __index = answer(value), __len = answer(value), __tostring = answer('x'), __call = answer(value),
      __lt = answer(true), __le = answer(true), __eq = answer(true), __concat = answer('x') }
   for _, operation in ipairs{ 'add', 'sub', 'mul', 'div', 'mod', 'pow', 'unm' } do
      metatable['__' .. operation] = answer(value)
   end
   return setmetatable({}, metatable)
end

local HOSTILE = { number_like(2), number_like(-100), number_like(2 ^ 40), '2', 'x', '', {}, math.abs, torch.ones(2),
   torch.LongStorage(2),
   2LL, -1LL, 0xAAAAAAAAAAAAAAABULL, 1i, true, false, 0 / 0, 1 / 0, -1 / 0, 2 ^ 31 - 1, 2 ^ 31, -2 ^ 31, 2 ^ 32 + 1,
      2 ^ 53, 2 ^ 63,
   1e300, -1, 0, 2.7, -0.5, 1e-300, 40, 1000 }

local function map(x, f)
   if torch.isTensor(x) then return f(x) end
   if type(x) ~= 'table' then return x end
   local mapped = {}
   for k, v in pairs(x) do mapped[k] = map(v, f) end
   return mapped
end

-- Layers that the recorded cases lack.
for _, case in ipairs{
   { 'nn.VolumetricConvolution(2, 3, 2, 2, 2)', { { 2, 4, 4, 4 } } },
      { 'nn.VolumetricFullConvolution(2, 3, 2, 2, 2)', { { 2, 4, 4, 4 } } },
   { 'nn.VolumetricDilatedConvolution(2, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0, 2, 2, 2)', { { 2, 4, 4, 4 } } },
   { 'nn.VolumetricMaxPooling(2, 2, 2)', { { 2, 4, 4, 4 } } },
      { 'nn.VolumetricAveragePooling(2, 2, 2)', { { 2, 4, 4, 4 } } },
   { 'nn.VolumetricDilatedMaxPooling(2, 2, 2, 1, 1, 1, 0, 0, 0, 2, 2, 2)', { { 2, 4, 4, 4 } } },
   { 'nn.VolumetricReplicationPadding(1, 1, 1, 1, 1, 1)', { { 2, 4, 4, 4 } } },
      { 'nn.VolumetricBatchNormalization(2)', { { 3, 2, 4, 4, 4 } } },
   { 'nn.SpatialFractionalMaxPooling(2, 2, 2, 2)', { { 2, 5, 5 } } },
      { 'nn.SpatialFullConvolutionMap(nn.tables.random(3, 4, 2), 3, 3)', { { 3, 6, 6 } } },
   { 'nn.TemporalDynamicKMaxPooling(2)', { { 6, 4 } } }, { 'nn.FeatureLPPooling(2, 2, 2)', { { 3, 8 } } },
   { 'nn.Sequential():add(nn.SpatialMaxPooling(2, 2)):add(nn.SpatialDropout())', { { 2, 6, 6 } } },
      { 'nn.WeightedEuclidean(5, 3)', { { 5 } } },
   { 'nn.SparseLinear(10, 3)', { input = '{ torch.Tensor{ { 1, 0.5 }, { 7, 2 } }, torch.Tensor{ { 3, 1 } } }' } },
   { 'nn.IndexLinear(10, 3)', { input = '{ torch.LongTensor{ 1, 2, 7 }, torch.rand(3), torch.LongTensor{ 1, 2 } }' } },
   { 'nn.SpatialMaxUnpooling(POOLING)', { { 2, 3, 3 } } },
      { 'nn.LookupTable(10, 4, 2, 1)', { input = 'torch.LongTensor{ 1, 2, 9 }' } },
   { 'nn.MultiMarginCriterion(2, torch.rand(5), 0.5)', { { 4, 5 } }, { target = 'torch.Tensor{ 1, 3, 5, 2 }' } },
} do CASES[#CASES + 1] = case end
POOLING = nn.SpatialMaxPooling(2, 2)
POOLING:forward(torch.rand(2, 6, 6))

local function draw(shapes, options)
   if shapes.input then return assert(loadstring('return ' .. shapes.input))() end
   local list = {}
   for i, shape in ipairs(shapes) do
      local t = torch.randn(torch.LongStorage(shape))
      if options.positive then t:abs():add(0.1) end
      if options.unit then t = torch.sigmoid(t) end
      if options.labels then t:apply(function() return torch.random(1, options.labels) end) end
      list[i] = t
   end
   return #list == 1 and list[1] or list
end

local runs, raised = 0, 0
local function try(f, ...)
   runs = runs + 1
   local ok = pcall(f, ...)
   inside = nil
   if not ok then raised = raised + 1 end
end

local function value_of(text) return assert(loadstring('return ' .. text))() end

-- The names of a module's fields that are numbers or booleans, and of those that it looks for but has not.
local function fields_of(make)
   local module, use = make()
   local class, names, found = debug.getmetatable(module), {}, {}
   for name, value in pairs(module) do
      if type(value) == 'number' or type(value) == 'boolean' then found[name] = true end
   end
   local watching = {}
   for name, value in pairs(class) do watching[name] = value end
   function watching.__index(_, name)
      local value = class[name]
      if value == nil then found[name] = true end
      return value
   end
   debug.setmetatable(module, watching)
   pcall(use)
   for name in pairs(found) do
      if type(name) == 'string' then names[#names + 1] = name end
   end
   table.sort(names)
   return names
end

local function run_case(case, values, turn)
   local constructor, options = case[1], case[3] or {}
   local target = options.target and value_of(options.target)
   local function fresh()
      torch.manualSeed(1)
      return value_of(constructor), draw(case[2], options)
   end
   local function forward(module, input)
      if target ~= nil then return module:forward(input, target) end
      return map(module:forward(input), function(t) return t:clone() end)
   end
   local function backward(module, input, output, scale)
      if target ~= nil then return module:backward(input, target) end
      module:updateGradInput(input, output)
      module:accGradParameters(input, output, scale)
   end

   local names = fields_of(function()
      local module, input = fresh()
      return module, function() backward(module, input, forward(module, input), 1) end
   end)
   for _, name in ipairs(names) do
      for k = 1, values do
         turn = turn % #HOSTILE + 1
         local value = HOSTILE[turn]
         try(function()
            local module, input = fresh()
            module[name] = value
            local output = forward(module, input)
            backward(module, input, output, 1)
         end)
         try(function()
            local module, input = fresh()
            local output = forward(module, input)
            module[name] = value
            backward(module, input, output, 1)
         end)
      end
   end
   for k = 1, values do
      turn = turn % #HOSTILE + 1
      try(function()
         local module, input = fresh()
         backward(module, input, forward(module, input), HOSTILE[turn])
      end)
   end
end

-- Functions of torch and methods of tensors and storages, with arguments that fit some of them.
local allowed, methods = require 'th.allowed', {}
for kind, class in pairs{ tensor = 'torch.DoubleTensor', storage = 'torch.DoubleStorage' } do
   for name in pairs(allowed[kind]) do
      local f = torch.getmetatable(class)[name]
      if type(f) == 'function' and not (name == 'retain' or name == 'free') then
         methods[#methods + 1] = kind .. ':' .. name
      end
   end
end
table.sort(methods)
local LISTS = { { 1 }, { 1, 1 }, { 2, 1, 2 }, { 't' }, { 't', 1 }, { 1, 't' }, { 't', 't' }, { 1, 't', 't' },
   { 1, 'index' }, { 1, 'index', 't' },
   { 1, 'index', 1 }, { 'sizes' }, { 'sizes', 'sizes' }, { 't', 'sizes' }, { 'storage', 1, 'sizes', 'sizes' },
      { 'storage', 1, 2, 2 }, { 'mask' }, { 'mask', 1 },
   { 'mask', 't' }, { 'f' }, { 't', 'f' } }
local function of_word(word)
   if word == 't' then return torch.rand(3, 3) end
   if word == 'index' then return torch.LongTensor{ 1, 2 } end
   if word == 'sizes' then return torch.LongStorage{ 3, 3 } end
   if word == 'storage' then return torch.rand(3, 3):storage() end
   if word == 'mask' then return torch.ByteTensor(3, 3):fill(1) end
   if word == 'f' then return function(x) return x end end
   return word
end

local function run_method(method, values, turn)
   local kind, name = method:match('(.*):(.*)')
   for _, list in ipairs(LISTS) do
      for place = 0, #list do
         for _ = 1, values do
            turn = turn % #HOSTILE + 1
            local arguments = {}
            for k, word in ipairs(list) do arguments[k] = of_word(word) end
            local object = kind == 'tensor' and torch.rand(3, 3) or torch.rand(3, 3):storage()
            local f = object[name]
            if place > 0 then arguments[place] = HOSTILE[turn] else object = HOSTILE[turn] end
            try(f, object, unpack(arguments, 1, #list))
         end
      end
   end
end

last_case = #CASES + #methods

function run(case, values)
   runs, raised = 0, 0
   if case <= #CASES then
      run_case(CASES[case], values, 7 * case)
   else
      run_method(methods[case - #CASES], values, 7 * case)
   end
   local names = {}
   for name in pairs(disturbed) do names[#names + 1] = name end
   table.sort(names)
   return runs, raised, table.concat(names, ' ')
end

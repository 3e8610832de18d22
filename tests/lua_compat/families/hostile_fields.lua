-- Puts a random value, mostly a hostile one, into a field of a module, and computes by LuaJIT and by PyTorch alone:
-- both raise an error or both give the same. Prints how many were compared, and how many raised.
-- usage: th hostile_fields.lua SEED ROUNDS
require 'nn'
local ways = require 'torch.core.ways'
local seed, rounds = tonumber(arg[1]), tonumber(arg[2])

local function rand(...)
   local sizes = torch.LongStorage{ ... }
   return function() return torch.rand(sizes) end
end
local function pooled(pooling, x)
   pooling:forward(x)
   return pooling
end

-- What makes a module, what makes its input, and the fields.
local CASES = {
   { function() return nn.SpatialFractionalMaxPooling(2, 2, 3, 3) end, rand(2, 2, 7, 8),
      'poolSizeW poolSizeH outW outH' },
   { function() return nn.SpatialFractionalMaxPooling(2, 2, 0.5, 0.6) end, rand(2, 7, 8), 'ratioW ratioH poolSizeW' },
   { function() return nn.VolumetricFractionalMaxPooling(2, 2, 2, 3, 3, 3) end, rand(2, 6, 7, 8),
      'poolSizeT poolSizeW outT outH' },
   { function() return nn.SpatialMaxUnpooling(pooled(nn.SpatialMaxPooling(2, 2), torch.rand(2, 6, 8))) end,
      rand(2, 3, 4),
      'pooling.iheight pooling.iwidth pooling.kW pooling.dW' },
   { function() return nn.VolumetricMaxUnpooling(pooled(nn.VolumetricMaxPooling(2, 2, 2), torch.rand(2, 4, 6, 8))) end,
      rand(2, 2, 3, 4), 'pooling.itime pooling.iwidth pooling.dW pooling.kT pooling.padW' },
   { function() return nn.SpatialUpSamplingNearest(2) end, rand(2, 2, 3, 4), 'scale_factor' },
   { function() return nn.SpatialUpSamplingBilinear(2) end, rand(2, 3, 4), 'scale_factor oheight' },
   { function() return nn.SpatialUpSamplingBilinear{ owidth = 7, oheight = 5 } end, rand(2, 3, 4),
      'oheight owidth scale_factor' },
   { function() return nn.UpSampling(2) end, rand(1, 2, 3, 4, 2), 'scale_factor mode' },
   { function() return nn.UpSampling({ odepth = 4, oheight = 5, owidth = 6 }, 'linear') end, rand(1, 2, 3, 4, 3),
      'odepth oheight owidth mode' },
   { function() return nn.GatedLinearUnit() end, rand(2, 6, 4), 'dim' },
   { function() return nn.FeatureLPPooling(2, 2, 2, true) end, rand(3, 8), 'width stride power batch_mode' },
   { function() return nn.SparseLinear(6, 3) end, function() return torch.Tensor{ { 1, 0.5 }, { 4, 2 } } end,
      'weightDecay doGradInput' },
   { function() return nn.IndexLinear(6, 3) end,
      function() return { torch.LongTensor{ 1, 3, 2 }, torch.rand(3), torch.LongTensor{ 1, 2 } } end,
      'offset weightDecay train' },
   { function() return nn.LookupTable(6, 3, 2, 1) end, function() return torch.LongTensor{ 1, 4, 2, 1 } end,
      'paddingValue maxNorm normType shouldScaleGradByFreq' },
   { function() return nn.PairwiseDistance(2) end, function() return { torch.rand(3, 4), torch.rand(3, 4) } end,
      'norm' },
   { function() return nn.BatchNormalization(3) end, rand(4, 3), 'eps momentum train' },
   { function() return nn.SpatialMaxPooling(2, 2) end, rand(2, 6, 6), 'kW dH padW ceil_mode dilationW' },
   { function() return nn.SpatialAdaptiveMaxPooling(3, 2) end, rand(2, 5, 6), 'W H' },
   { function() return nn.SpatialFullConvolution(2, 3, 3, 3, 2, 2, 1, 1, 1, 1) end, rand(1, 2, 4, 4),
      'kW dW padH adjW' },
   { function() return nn.SpatialConvolutionMap(nn.tables.random(3, 4, 2), 3, 3) end, rand(3, 6, 6), 'dW dH' },
}

local VALUES = { 0 / 0, 1 / 0, -1 / 0, 2 ^ 31, 2 ^ 31 - 1, -2 ^ 31, 2 ^ 32 + 1, 2 ^ 53, 1e300, -1, -100, 0, 0.5, 2.7,
   -0.5,
   '', '2', 'x', {}, torch.ones(2), torch.LongStorage(2), math.abs, true, false, 2LL, -1LL, 0xAAAAAAAAAAAAAAABULL }
-- Half of the values may be right ones: small whole numbers.
local function value()
   local k = torch.random(2 * #VALUES)
   if k > #VALUES then return torch.random(7) - 1 end
   return VALUES[k]
end

local function numbers_of(found, x)
   if torch.isTensor(x) then
      for d = 1, x:dim() do found[#found + 1] = x:size(d) end
      for _, element in ipairs(x:nElement() > 0 and x:double():contiguous():view(-1):totable() or {}) do
         found[#found + 1] = element
      end
   elseif type(x) == 'table' then
      for _, part in ipairs(x) do numbers_of(found, part) end
   end
   return found
end
local function ones_like(x)
   if torch.isTensor(x) then return x:clone():fill(1) end
   local list = {}
   for k, part in ipairs(x) do list[k] = ones_like(part) end
   return list
end

-- The numbers that a spoilt module gives; late: it is spoilt between the forward and the backward pass.
local function computed(case, field, hostile, draws, late, way)
   torch.manualSeed(draws)
   local module, x, found = case[1](), case[2](), {}
   local owner, name = module, field
   if field:find '^pooling%.' then owner, name = module.pooling, field:sub(9) end
   local gradient = late and ones_like(module:forward(x))
   ways.only(way)
   local ok, problem = pcall(function()
      owner[name] = hostile
      if not late then
         local y = module:forward(x)
         numbers_of(found, y)
         gradient = ones_like(y)
      end
      numbers_of(found, module:updateGradInput(x, gradient))
      module:zeroGradParameters()
      module:accGradParameters(x, gradient, 0.5)
      numbers_of(found, { module.gradWeight or 0, module.gradBias or 0 })
   end)
   ways.only(nil)
   return ok and found, problem
end

local function equal(a, b)
   if #a ~= #b then return false end
   for k = 1, #a do
      local near = a[k] == b[k] or math.abs(a[k] - b[k]) < 1e-6 * math.max(1, math.abs(a[k]))
      if not near and (a[k] == a[k] or b[k] == b[k]) then return false end
   end
   return true
end

torch.manualSeed(seed)
local compared, raised = 0, 0
for _ = 1, rounds do
   for _, case in ipairs(CASES) do
      for field in case[3]:gmatch '%S+' do
         local hostile, late, draws = value(), torch.random(2) == 1, torch.random(2 ^ 30)
         local state = torch.getRNGState()
         local either, problem = computed(case, field, hostile, draws, late, nil)
         local pytorch, other_problem = computed(case, field, hostile, draws, late, 'pytorch')
         torch.setRNGState(state)
         compared, raised = compared + 1, raised + (either and 0 or 1)
         local alike = (either and pytorch) and equal(either, pytorch) or not either and not pytorch
         assert(alike, ('%s, %s = %s, %s: %s | %s'):format(torch.type(case[1]()), field, tostring(hostile),
            late and 'late' or 'early', tostring(problem), tostring(other_problem)))
      end
   end
end
print(compared, raised)

-- What numbers, booleans and strings mean in a module's fields and in constructors, recorded with Torch7: what makes a
-- module, the input's sizes (none: a table of three tensors), a field and the value put into it (both nil where the
-- constructor has the value), and weighted sums of the output and of the gradient; or 'error' where Torch7 raises one.
require 'nn'

local CASES = {
   { 'nn.Abs()', { 2, 3 }, 'inplace', 'true', 20.25, -2 },
   { 'nn.Sigmoid()', { 2, 3 }, 'inplace', '"x"', 15.33996, 11.5072 },
   { 'nn.Mul()', { 2, 3 }, 'inplace', 'true', -1.36914, -8.62971 },
   { 'nn.CMul(3)', { 2, 3 }, 'inplace', '1', -0.60727, 16.95778 },
   { 'nn.ELU()', { 2, 3 }, 'inplace', '"x"', 'error' },
   { 'nn.LeakyReLU(0.2)', { 2, 3 }, 'inplace', '1', 13.05, 30.4 },
   { 'nn.LeakyReLU(0.2, 3)', { 2, 3 }, nil, nil, 13.05, 30.4 },
   { 'nn.HardTanh(-1, 1, 3)', { 2, 3 }, nil, nil, 'error' },
   { 'nn.ReLU(false)', { 2, 3 }, 'threshold', 'true', 5, 4 },
   { 'nn.ReLU(true)', { 2, 3 }, 'val', '2', 'error' },
   { 'nn.Sqrt()', { 2, 3 }, 'eps', '{}', 'error' },
   { 'nn.Sqrt(-1)', { 2, 3 }, nil, nil, 0 / 0, 0 / 0 },
   { 'nn.SoftShrink(-0.5)', { 2, 3 }, nil, nil, 12.75, 52 },
   { 'nn.L1Penalty(0.1)', { 2, 3 }, 'sizeAverage', '1', 8.25, 52.9 },
   { 'nn.L1Penalty(0.1)', { 2, 3 }, 'provideOutput', '1', 8.25, 0.9 },
   { 'nn.SpatialMaxPooling(2, 2)', { 1, 5, 5 }, 'dilationW', '2', 16, 32 },
   { 'nn.SpatialDilatedMaxPooling(2, 2)', { 1, 5, 5 }, 'dilationW', '2', 10, 39 },
   { 'nn.SpatialDilatedMaxPooling(2, 2)', { 1, 5, 5 }, 'dilationW', '0', 'error' },
   { 'nn.VolumetricMaxPooling(2, 2, 2)', { 1, 4, 5, 5 }, 'dilationH', '{}', 32.5, 59 },
   { 'nn.Transpose({1, 2}):setNumInputDims(2)', { 1, 2, 3, 2 }, nil, nil, 3.25, 88 },
   { 'nn.Replicate(2, 1, 1)', { 2, 3, 2 }, nil, nil, 3.5, 184 },
   { 'nn.Replicate(2, 2, 1)', { 2, 3, 2 }, nil, nil, 12.5, 188 },
   { 'nn.NarrowTable(2, 2)', {}, 'offset', '"2"', 'error' },
   { 'nn.NarrowTable(1, 2)', {}, 'length', '1', 5, 13 },
   { 'nn.SelectTable(2)', {}, 'index', '9', 'error' },
   { 'nn.SpatialReplicationPadding(1, 1, 2, 1)', { 2, 3, 4 }, 'pad_r', '1.5', 'error' },
   { 'nn.SpatialReflectionPadding(1, 1, 2, 1)', { 2, 3, 4 }, 'pad_t', 'true', 'error' },
   { 'nn.VolumetricReplicationPadding(1, 1, 2, 1, 1, 1)', { 2, 3, 4, 3 }, 'pfront', 'true', 'error' },
   { 'nn.SpatialZeroPadding(-1.5, 0, 0, 0)', { 1, 3, 6 }, nil, nil, 3.5, 85 },
   { 'nn.SpatialZeroPadding(0, -0.5, 1, -1)', { 2, 1, 3, 6 }, nil, nil, 7.5, 136 },
   { 'nn.SpatialZeroPadding(1.5, 0, 0, 0)', { 1, 3, 6 }, nil, nil, 'error' },
   { 'nn.SpatialZeroPadding(1, 1, 1, 1)', { 1, 3, 6 }, 'pad_t', 'true', 'error' },
   { 'nn.SpatialZeroPadding(1, 1, 1, 1)', { 1, 3, 6 }, 'pad_t', '"1"', 'error' },
   { 'nn.PixelShuffle(2)', { 8, 2, 2 }, 'upscaleFactorSquared', '1/0', 'error' },
   { 'nn.PixelShuffle(2.7)', { 8, 2, 2 }, nil, nil, 'error' },
   { 'nn.Bottle(nn.Linear(3, 2))', { 2, 2, 3 }, 'dimDelta', '1', 'error' },
   { 'nn.PReLU()', { 2, 3 }, 'bias', '3', 12.75, 31.75 },
   { 'nn.Euclidean(3, 2)', { 2, 3 }, 'diagCov', '3', 27.23279, 15.98838 },
   { 'nn.TemporalSubSampling(3, 2)', { 4, 3 }, 'inputFrameSize', '2', 'error' },
   { 'nn.CMul(1)', { 2, 3 }, nil, nil, 'error' },
   { 'nn.CMul(1, 1)', { 2, 3 }, nil, nil, -1.36914, -8.62971 },
   { 'nn.CMul(1, 1, nil)', { 2, 3 }, nil, nil, -1.36914, -8.62971 },
   { 'nn.LookupTable(6, 3, 0, false)', { 1 }, nil, nil, -2.99157, 0 },
   { 'nn.LookupTable(6, 3)', { 1 }, 'paddingValue', '2^40', -2.99157, 0 },
   { 'nn.Padding(1, 2, 2, 0, 1)', { 2, 3 }, 'index', '0.5', 'error' },
   { 'nn.Min(2, 2)', { 2, 3 }, 'dimension', '1.5', 'error' },
   { 'nn.SpatialUpSamplingBilinear{ oheight = 3, owidth = 5 }', { 1, 2, 3 }, 'oheight', 'true', 'error' },
   { 'nn.SpatialUpSamplingBilinear(2)', { 1, 2, 3 }, 'scale_factor', '2LL', 'error' },
   { 'nn.SpatialConvolutionMap(nn.tables.full(1, 2), 2, 2)', { 1, 3, 3 }, 'nOutputPlane', '"2"', 'error' },
   { 'nn.SpatialFullConvolutionMap(nn.tables.full(1, 2), 2, 2)', { 1, 3, 3 }, 'nInputPlane', '{}', 'error' },
   { 'nn.SpatialDepthWiseConvolution(1, 2, 2, 2)', { 1, 3, 3 }, 'kW', '1.5', 'error' },
   { 'nn.TemporalConvolution(3, 2, 2)', { 4, 3 }, 'outputFrameSize', 'false', 'error' },
   { 'nn.Reshape(3, 2.5)', { 2, 3 }, nil, nil, 8.25, 52 },
   { 'nn.Reshape(torch.LongStorage{ 3, 2 }, 1)', { 2, 3 }, nil, nil, 'error' },
   { 'nn.Convert("bchw", "bf")', { 1, 2, 2, 2 }, 'transposition', '"x"', 'error' },
   { 'nn.Select(2LL, 1)', { 2, 3 }, nil, nil, 'error' },
   { 'nn.JoinTable(1)', {}, 'dimension', '1LL', 'error' },
   { 'nn.HingeEmbeddingCriterion()', { 4 }, 'sizeAverage', '1', 4, -2 },
   { 'nn.HingeEmbeddingCriterion()', { 4 }, 'weights', '1', 1, -0.5 },
   { 'nn.HingeEmbeddingCriterion()', { 4 }, 'margin', '"0.5"', 0.75, -0.5 },
   { 'nn.MarginCriterion()', { 4 }, 'weights', '1', 0.5625, 1.5 },
   { 'nn.MultiLabelSoftMarginCriterion()', { 4 }, 'sizeAverage', '"x"', 0.50651, 0.57441 },
   { 'nn.MultiLabelSoftMarginCriterion()', { 4 }, 'sizeAverage', 'nil', 2.02602, 2.29762 },
   { 'nn.SoftMarginCriterion(false)', { 4 }, nil, nil, 0.50651, 0.57441 },
   { 'nn.ClassNLLCriterion(false)', { 1, 4 }, nil, nil, 0.5, -3 },
   { 'nn.ClassNLLCriterion()', { 1, 4 }, 'ignoreIndex', '2^40', 0.5, -3 },
   { 'nn.ClassSimplexCriterion(4)', { 1, 4 }, 'nClasses', '3', 'error' },
}

local function value(text) return assert(loadstring('return ' .. text))() end

-- A sum of all elements with weights, which tells most arrangements apart
local function sum_of(x)
   local sum = 0
   if torch.isTensor(x) then
      for k, element in ipairs(x:nElement() > 0 and x:contiguous():view(-1):totable() or {}) do
         sum = sum + element * (k % 7 + 1)
      end
   elseif type(x) == 'table' then
      for k, part in ipairs(x) do sum = sum + k * sum_of(part) end
   else
      sum = x
   end
   return sum
end
local function gradient_for(y)
   if not torch.isTensor(y) then
      local parts = {}
      for k, part in ipairs(y) do parts[k] = gradient_for(part) end
      return parts
   end
   local k = 0
   return y:clone():apply(function()
      k = k + 1
      return k % 3 + 1
   end)
end
local function input_for(make, sizes)
   if #sizes == 0 then return { torch.ones(2), torch.ones(2) * 2, torch.ones(2) * 3 } end
   local k = 0
   return torch.Tensor(unpack(sizes)):apply(function()
      k = k + 1
      return make:find 'Lookup' and 2 or (k * 7 % 11 - 5) / 4
   end)
end
local function target_for(make)
   if make:find 'ClassNLL' or make:find 'Simplex' then return torch.Tensor{ 2 } end
   return make:find 'MultiLabel' and torch.Tensor{ 1, 0, 1, 0 } or torch.Tensor{ 1, -1, 1, -1 }
end

local function computed(make, sizes, field, text)
   torch.manualSeed(1)
   local module, x = value(make), input_for(make, sizes)
   if field then module[field] = value(text) end
   if torch.isTypeOf(module, 'nn.Criterion') then
      local target = target_for(make)
      return module:forward(x, target), module:backward(x, target)
   end
   local y = module:forward(x)
   module:zeroGradParameters()
   return y, module:backward(x, gradient_for(y))
end

-- Fields that a script changes between the two passes
for _, case in ipairs{
   { nn.VolumetricMaxPooling(2, 2, 2), { 1, 4, 4, 4 }, 'kT', 3 },
   { nn.VolumetricMaxPooling(2, 2, 2), { 1, 4, 4, 4 }, 'dT', 1.5 },
   { nn.VolumetricDilatedMaxPooling(2, 2, 2, 1, 1, 1, 0, 0, 0, 2, 2, 2), { 1, 4, 4, 4 }, 'kH', 1 },
} do
   local module, sizes, field, new = unpack(case)
   local x = torch.ones(torch.LongStorage(sizes))
   local y = module:forward(x):clone()
   module[field] = new
   assert(not pcall(module.backward, module, x, y), torch.type(module) .. ': no error')
end
local distance, two_rows = nn.PairwiseDistance(2), { torch.ones(2), torch.zeros(2) }
distance:forward(two_rows)
distance.norm = '2'
assert(not pcall(distance.backward, distance, two_rows, torch.ones(1)), 'a norm as a string has a gradient')

local function same(a, b) return a ~= a and b ~= b or math.abs(a - b) < 2e-5 end

for _, case in ipairs(CASES) do
   local make, sizes, field, text, output, gradient = unpack(case, 1, 6)
   local ok, y, of_x = pcall(computed, make, sizes, field, text)
   local what = ('%s, %s = %s: '):format(make, field, text)
   if output == 'error' then
      assert(not ok, what .. 'no error')
   else
      assert(ok, what .. tostring(y))
      assert(same(sum_of(y), output) and same(sum_of(of_x), gradient),
         ('%s%.5f and %.5f, not %.5f and %.5f'):format(what, sum_of(y), sum_of(of_x), output, gradient))
   end
end

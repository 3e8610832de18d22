-- Random modules and criterions of nn: the same numbers for the same seed in every Torch7.
-- usage: th modules.lua SEED COUNT [FIRST]
-- Prints for each its printed form, output, gradients and fields, or the error.
require 'nn'
local draws = dofile((arg[0]:match('^(.*/)') or './') .. 'draws.lua')
local whole, pick, chance, tell = draws.whole, draws.pick, draws.chance, draws.tell
local T -- the type of this program's tensors

local RANGES = { plain = { -3, 3 }, positive = { 0.1, 3 }, unit = { 0.01, 0.99 } }
local function value(_, range)
   local low, high = unpack(RANGES[range or 'plain'])
   return low + math.floor(draws.draw() * 1000) / 1000 * (high - low)
end
-- No strides of 0 in vectors and matrices: BLAS, and so Torch7, refuses them.
local function tensor(sizes, range) return draws.tensor(T, sizes, value, range, #sizes <= 2) end
local function classes(sizes, n) return draws.tensor(T, sizes, function() return whole(1, n) end, nil, true) end
local function signs(sizes) return draws.tensor(T, sizes, function() return pick{ -1, 1 } end, nil, true) end

-- sizes with a batch in front, or not
local function batched(...)
   if chance(0.5) then return { whole(1, 3), ... } end
   return { ... }
end
-- a size that is now and then wrong
local function about(n) return chance(0.04) and n + 1 or n end

-- nn[name](...), told
local function made(name, ...)
   local texts = {}
   for i = 1, select('#', ...) do
      local x = select(i, ...)
      texts[i] = type(x) == 'table' and torch.type(x) or torch.isTensor(x) and 'tensor' or tostring(x)
   end
   tell(('%s(%s)'):format(name, table.concat(texts, ',')))
   return nn[name](...)
end
local function also(module, method, ...)
   tell(':' .. method)
   return module[method](module, ...)
end

local families = {}
local function family(weight, names, f)
   for _, name in ipairs(names) do
      for _ = 1, weight do families[#families + 1] = function() return f(name) end end
   end
end

-- f returns the module and its input
family(1, { 'Abs', 'Sigmoid', 'Tanh', 'TanhShrink', 'SoftSign', 'LogSigmoid', 'Square', 'Exp', 'Identity', 'SoftMin',
   'SoftMax', 'LogSoftMax', 'ReLU6', 'Contiguous', 'Mul', 'PrintSize', 'ZeroGrad' }, function(name)
   if name == 'PrintSize' then name = 'Abs' end
   local n = whole(1, 4)
   return made(name), tensor(draws.sizes(n))
end)
family(1, { 'Sqrt', 'Log', 'Power' }, function(name)
   return made(name, name == 'Power' and pick{ 2, 0.5, 3 } or nil), tensor(draws.sizes(whole(1, 4)), 'positive')
end)
family(1, { 'HardTanh', 'HardShrink', 'SoftShrink', 'SoftPlus', 'ELU', 'LeakyReLU', 'Threshold', 'Clamp', 'AddConstant',
   'MulConstant', 'ReLU', 'GradientReversal', 'L1Penalty', 'PReLU', 'RReLU', 'Dropout', 'Normalize', 'WhiteNoise' }, function(name)
   local module
   if name == 'HardTanh' or name == 'Clamp' then module = made(name, -whole(1, 3) / 2, whole(1, 3) / 2)
   elseif name == 'Threshold' then module = made(name, value(), value())
   elseif name == 'ReLU' then module = made(name, chance(0.5))
   elseif name == 'PReLU' then
      local planes = whole(1, 3)
      if chance(0.5) then return made(name), tensor(draws.sizes(whole(1, 4))) end
      return made(name, planes), tensor{ whole(1, 3), about(planes), whole(1, 4) }
   elseif name == 'RReLU' then module = made(name, 0.125, 0.25, chance(0.3))
   elseif name == 'Dropout' then module = made(name, pick{ 0, 0.3, 0.5 }, chance(0.2), chance(0.3))
   elseif name == 'Normalize' then return made(name, pick{ 1, 2, 3, 1.5, math.huge }), tensor(draws.sizes(whole(1, 2)))
   else module = made(name, pick{ 0.2, 0.5, 1, 2 }) end
   return module, tensor(draws.sizes(whole(1, 4)))
end)
family(1, { 'SpatialSoftMax', 'SpatialLogSoftMax', 'SpatialDropout', 'VolumetricDropout', 'CReLU', 'PixelShuffle',
   'GatedLinearUnit' }, function(name)
   if name == 'CReLU' then
      local dims = whole(1, 3)
      return made(name, dims), tensor(draws.sizes(dims + whole(0, 1)))
   elseif name == 'PixelShuffle' then
      local r = whole(1, 2)
      return made(name, r), tensor(batched(about(whole(1, 2) * r * r), whole(1, 3), whole(1, 3)))
   elseif name == 'GatedLinearUnit' then
      local sizes = draws.sizes(whole(1, 3))
      local d = whole(1, #sizes)
      sizes[d] = about(sizes[d] * 2)
      return made(name, d), tensor(sizes)
   end
   return made(name), tensor(draws.sizes(name:find('^Vol') and whole(4, 5) or whole(3, 4)))
end)
family(2, { 'Linear', 'LinearWeightNorm', 'PartialLinear', 'Euclidean', 'WeightedEuclidean', 'Cosine', 'Add', 'CMul', 'CAdd',
   'Maxout', 'Highway' }, function(name)
   local n, m = whole(1, 5), whole(1, 4)
   if name == 'Highway' then return made('Bottle', nn.Linear(n, m)), tensor{ whole(1, 2), whole(1, 3), about(n) } end
   if name == 'CMul' or name == 'CAdd' then
      local sizes = draws.sizes(whole(1, 3))
      local module = made(name, unpack(sizes))
      if chance(0.4) then table.insert(sizes, 1, whole(1, 3)) end
      return module, tensor(sizes)
   end
   if name == 'Add' then return made(name, n, chance(0.3)), tensor(batched(about(n))) end
   if name == 'PartialLinear' then return made(name, n, m), tensor{ whole(1, 3), about(n) } end
   if name == 'Maxout' then return made(name, n, m, whole(1, 3)), tensor(batched(about(n))) end
   if name == 'Linear' then return made(name, n, m, chance(0.7)), tensor(batched(about(n))) end
   return made(name, n, m), tensor(batched(about(n)))
end)
family(2, { 'Bilinear' }, function(name)
   local a, b, batch = whole(1, 4), whole(1, 4), whole(1, 3)
   return made(name, a, b, whole(1, 3), chance(0.7)), { tensor{ batch, about(a) }, tensor{ batch, about(b) } }
end)
family(1, { 'Max', 'Min', 'Mean', 'Sum', 'Select', 'Narrow', 'Replicate', 'Padding', 'Unsqueeze', 'Squeeze', 'Transpose',
   'Reshape', 'View', 'Collapse', 'SplitTable', 'Constant', 'LayerNormalization' }, function(name)
   local sizes = draws.sizes(name == 'Select' and whole(2, 4) or whole(1, 4))
   local n, d = #sizes, whole(1, #sizes)
   local inner = d < n and chance(0.3) and n - 1 or nil
   if name == 'Max' or name == 'Min' then return made(name, chance(0.2) and -1 or d, inner), tensor(sizes) end
   if name == 'Mean' then return made(name, d, inner), tensor(sizes) end
   if name == 'Sum' then return made(name, d, inner, chance(0.3), chance(0.7)), tensor(sizes) end
   if name == 'Select' then return made(name, d, chance(0.3) and -whole(1, sizes[d]) or about(whole(1, sizes[d]))), tensor(sizes) end
   if name == 'Narrow' then
      local from = whole(1, sizes[d])
      return made(name, d, from, about(whole(1, sizes[d] - from + 1))), tensor(sizes)
   end
   if name == 'Replicate' then return made(name, whole(1, 3), whole(1, n + 1), chance(0.3) and n or nil), tensor(sizes) end
   if name == 'Padding' then return made(name, d, whole(-2, 2), inner or n, value(), chance(0.3) and 1 or nil), tensor(sizes) end
   if name == 'Unsqueeze' then return made(name, whole(1, n + 1), inner), tensor(sizes) end
   if name == 'Squeeze' then
      sizes[d] = 1
      if n == 1 then sizes[2] = 2 end
      return made(name, chance(0.5) and d or nil, inner), tensor(sizes)
   end
   if name == 'Transpose' then return made(name, { d, whole(1, n) }, { whole(1, n), whole(1, n) }), tensor(sizes) end
   local count = 1
   for _, size in ipairs(sizes) do count = count * size end
   if name == 'Reshape' then
      if chance(0.5) then return made(name, about(count)), tensor(sizes) end
      return made(name, 1, count / sizes[1], pick{ true, false, nil }), tensor(sizes)
   end
   if name == 'View' then
      if chance(0.3) then return also(made(name, -1), 'setNumInputDims', whole(1, n)), tensor(sizes) end
      return made(name, pick{ -1, count, sizes[1] }, pick{ -1, 1, count / sizes[1] }), tensor(sizes)
   end
   if name == 'Collapse' then return made(name, whole(2, 3)), tensor(draws.sizes(whole(2, 4))) end
   if name == 'SplitTable' then return made(name, chance(0.2) and -1 or d, inner), tensor(sizes) end
   if name == 'LayerNormalization' then
      local planes = whole(2, 5)
      return made(name, planes), tensor{ whole(1, 3), planes }
   end
   return made(name, torch[T .. 'Tensor'](2, 3):fill(0.5), chance(0.5) and 1 or nil), tensor(sizes)
end)
family(2, { 'BatchNormalization', 'SpatialBatchNormalization', 'VolumetricBatchNormalization' }, function(name)
   local planes = whole(1, 3)
   local sizes = { whole(2, 4), about(planes) }
   for _ = 1, ({ B = 0, S = 2, V = 3 })[name:sub(1, 1)] do sizes[#sizes + 1] = whole(1, 3) end
   return made(name, planes, pick{ nil, 1e-3 }, pick{ nil, 0.3 }, pick{ true, false }), tensor(sizes)
end)
family(1, { 'SpatialCrossMapLRN', 'SpatialSubtractiveNormalization', 'SpatialDivisiveNormalization',
   'SpatialContrastiveNormalization' }, function(name)
   if name == 'SpatialCrossMapLRN' then
      return made(name, pick{ 3, 5 }, pick{ nil, 0.01 }, pick{ nil, 0.5 }, pick{ nil, 2 }), tensor(batched(whole(5, 6), 3, 3))
   end
   local planes = whole(1, 3)
   return made(name, planes, torch.Tensor(pick{ 3, 5 }):fill(1)), tensor(batched(about(planes), whole(5, 8), whole(5, 8)))
end)

local function size_for(k, d, n, pad)
   if chance(0.02) and k - 2 * pad > d then return k - 2 * pad - d end -- too few for a window
   return math.max(1, (n - 1) * d + k - 2 * pad + whole(0, 1))
end
family(4, { 'SpatialConvolution', 'SpatialConvolutionMM', 'SpatialDilatedConvolution', 'SpatialConvolutionLocal',
   'SpatialFullConvolution', 'SpatialDepthWiseConvolution', 'SpatialConvolutionMap', 'SpatialFullConvolutionMap',
   'SpatialSubSampling' }, function(name)
   local planes, outputs = whole(1, 3), whole(1, 3)
   local kW, kH, dW, dH, pW, pH = whole(1, 3), whole(1, 3), whole(1, 2), whole(1, 2), whole(0, 1), whole(0, 1)
   local w, h = size_for(kW, dW, whole(1, 4), pW), size_for(kH, dH, whole(1, 4), pH)
   local module
   if name == 'SpatialDilatedConvolution' then
      local lW, lH = whole(1, 2), whole(1, 2)
      w, h = w + (lW - 1) * (kW - 1), h + (lH - 1) * (kH - 1)
      module = made(name, planes, outputs, kW, kH, dW, dH, pW, pH, lW, lH)
   elseif name == 'SpatialConvolutionLocal' then module = made(name, planes, outputs, w, h, kW, kH, dW, dH, pW, pH)
   elseif name == 'SpatialFullConvolution' then
      w, h = whole(1, 4), whole(1, 4)
      module = made(name, planes, outputs, kW, kH, dW, dH, pW, pH, whole(0, dW - 1), whole(0, dH - 1))
   elseif name == 'SpatialDepthWiseConvolution' then module = made(name, planes, outputs, kW, kW, dW, dW, pW, pW)
      h = w
   elseif name == 'SpatialSubSampling' then
      pW, pH = 0, 0
      w, h = w + 2, h + 2
      module = made(name, planes, kW, kH, dW, dH)
   elseif name:find('Map$') then
      -- Torch7 takes each image for one as large as the windows reach
      w, h = (whole(1, 4) - 1) * dW + kW, (whole(1, 4) - 1) * dH + kH
      module = made(name, chance(0.5) and nn.tables.full(planes, outputs) or nn.tables.oneToOne(planes), kW, kH, dW, dH)
   else module = made(name, planes, outputs, kW, kH, dW, dH, pW, pH) end
   if module.noBias and chance(0.2) then also(module, 'noBias') end
   if name:find('Map$') then return module, draws.plain(T, { about(planes), h, w }, value) end
   return module, tensor(batched(about(planes), h, w))
end)
family(4, { 'SpatialMaxPooling', 'SpatialDilatedMaxPooling', 'SpatialAveragePooling', 'SpatialLPPooling' }, function(name)
   local kW, kH, dW, dH = whole(1, 3), whole(1, 3), whole(1, 3), whole(1, 3)
   local pW, pH = whole(0, math.floor(kW / 2)), whole(0, math.floor(kH / 2))
   local planes, w, h = whole(1, 3), size_for(kW, dW, whole(1, 4), pW), size_for(kH, dH, whole(1, 4), pH)
   local module
   if name == 'SpatialDilatedMaxPooling' then
      local lW, lH = whole(1, 2), whole(1, 2)
      w, h = w + (lW - 1) * (kW - 1), h + (lH - 1) * (kH - 1)
      module = made(name, kW, kH, dW, dH, pW, pH, lW, lH)
   elseif name == 'SpatialLPPooling' then return made(name, planes, pick{ 1, 2, 3 }, kW, kH, dW, dH), tensor({ planes, h + 2, w + 2 }, 'positive')
   else module = made(name, kW, kH, dW, dH, pW, pH) end
   if chance(0.5) then also(module, 'ceil') end
   if name == 'SpatialAveragePooling' and chance(0.5) then also(module, 'setCountExcludePad') end
   return module, tensor(batched(planes, h, w))
end)
family(2, { 'SpatialAdaptiveMaxPooling', 'SpatialAdaptiveAveragePooling', 'SpatialFractionalMaxPooling', 'SpatialMaxUnpooling',
   'SpatialAdaptiveMaxPooling' }, function(name)
   local planes = whole(1, 3)
   if name == 'SpatialFractionalMaxPooling' then
      local sizes = { whole(1, 2), planes, whole(5, 8), whole(5, 8) }
      if chance(0.5) then return made(name, 2, 2, whole(1, 3), whole(1, 3)), tensor(sizes) end
      return made(name, 2, 2, 0.5, 0.6), tensor(sizes)
   elseif name == 'SpatialMaxUnpooling' then
      local k = whole(1, 3)
      local pooling = nn.SpatialMaxPooling(k, k, k, k)
      return made('Sequential'):add(pooling):add(nn.SpatialMaxUnpooling(pooling)), tensor(batched(planes, k * whole(1, 3), k * whole(1, 3)))
   end
   return made(name, whole(1, 13), whole(1, 4)), tensor(batched(planes, whole(1, 6), whole(1, 26)))
end)
family(1, { 'SpatialZeroPadding', 'SpatialReflectionPadding', 'SpatialReplicationPadding', 'SpatialUpSamplingNearest',
   'SpatialUpSamplingBilinear', 'UpSampling' }, function(name)
   local sizes = batched(whole(1, 3), whole(3, 5), whole(3, 5))
   if name == 'SpatialUpSamplingNearest' then return made(name, whole(1, 3)), tensor(sizes) end
   if name == 'SpatialUpSamplingBilinear' then
      if chance(0.5) then return made(name, whole(1, 3)), tensor(sizes) end
      return made(name, { oheight = whole(1, 6), owidth = whole(1, 6) }), tensor(sizes)
   end
   if name == 'UpSampling' then return made(name, whole(2, 3), pick{ 'nearest', 'linear' }), tensor(sizes) end
   local low = name == 'SpatialReflectionPadding' and 0 or -1
   return made(name, whole(low, 2), whole(low, 2), whole(low, 2), whole(low, 2)), tensor(sizes)
end)
family(2, { 'TemporalConvolution', 'TemporalMaxPooling', 'TemporalSubSampling', 'TemporalRowConvolution',
   'TemporalDynamicKMaxPooling' }, function(name)
   local features, k, d = whole(1, 4), whole(1, 3), whole(1, 2)
   local frames = about(size_for(k, d, whole(1, 4), 0))
   local sizes = batched(frames, about(features))
   if name == 'TemporalConvolution' then return made(name, features, whole(1, 3), k, d), tensor(sizes) end
   if name == 'TemporalMaxPooling' then return made(name, k, d), tensor(sizes) end
   if name == 'TemporalSubSampling' then return made(name, features, k, d), tensor{ frames, features } end
   if name == 'TemporalRowConvolution' then return made(name, features, k, d), tensor(sizes) end
   return made(name, whole(1, 2), pick{ nil, 0.5 }), tensor(sizes)
end)
family(3, { 'VolumetricConvolution', 'VolumetricFullConvolution', 'VolumetricDilatedConvolution', 'VolumetricMaxPooling',
   'VolumetricDilatedMaxPooling', 'VolumetricAveragePooling', 'VolumetricReplicationPadding', 'VolumetricMaxUnpooling' }, function(name)
   local planes, outputs = whole(1, 2), whole(1, 2)
   local k, d, p, size = {}, {}, {}, {} -- time, width, height
   for i = 1, 3 do
      k[i], d[i] = whole(1, 2), whole(1, 2)
      p[i] = whole(0, math.floor(k[i] / 2))
      size[i] = size_for(k[i], d[i], whole(1, 3), p[i])
   end
   local function input(...) return tensor(batched(about(planes), ...)) end
   if name:find('MaxUnpooling') then
      local pooling = nn.VolumetricMaxPooling(k[1], k[2], k[3], k[1], k[2], k[3])
      return made('Sequential'):add(pooling):add(nn.VolumetricMaxUnpooling(pooling)), input(2 * k[1], 2 * k[3], k[2])
   elseif name == 'VolumetricReplicationPadding' then
      return made(name, whole(0, 1), whole(0, 1), whole(0, 1), whole(0, 1), whole(0, 1), whole(0, 1)), input(2, 3, 2)
   elseif name == 'VolumetricFullConvolution' then
      return made(name, planes, outputs, k[1], k[2], k[3], d[1], d[2], d[3], p[1], p[2], p[3]), input(whole(1, 3), whole(1, 3), whole(1, 3))
   elseif name == 'VolumetricConvolution' then
      return made(name, planes, outputs, k[1], k[2], k[3], d[1], d[2], d[3], p[1], p[2], p[3]), input(size[1], size[3], size[2])
   elseif name == 'VolumetricAveragePooling' then
      return made(name, k[1], k[2], k[3], d[1], d[2], d[3]), input(size[1] + 1, size[3] + 1, size[2] + 1)
   end
   local l = draws.sizes(3, 2)
   for i = 1, 3 do size[i] = size[i] + (l[i] - 1) * (k[i] - 1) end
   local window = { k[1], k[2], k[3], d[1], d[2], d[3], p[1], p[2], p[3] }
   if name ~= 'VolumetricMaxPooling' then
      for i = 1, 3 do window[9 + i] = l[i] end
   end
   local module
   if name == 'VolumetricDilatedConvolution' then module = made(name, planes, outputs, unpack(window))
   else module = made(name, unpack(window)) end
   if module.ceil and chance(0.5) then also(module, 'ceil') end
   return module, input(size[1], size[3], size[2])
end)
family(2, { 'LookupTable', 'OneHot', 'Index', 'MaskedSelect' }, function(name)
   local n, m = whole(2, 6), whole(1, 4)
   if name == 'OneHot' then return made(name, n), classes(draws.sizes(whole(1, 2)), n) end
   if name == 'LookupTable' then
      return made(name, n, m, pick{ nil, 1 }, pick{ nil, 1 }, pick{ nil, 2 }), classes(draws.sizes(whole(1, 2)), n)
   end
   local sizes = draws.sizes(whole(1, 3))
   if name == 'Index' then
      local d = whole(1, #sizes)
      local index = torch.LongTensor(whole(1, 4)):apply(function() return whole(1, sizes[d]) end)
      return made(name, d), { tensor(sizes), index }
   end
   local mask = torch.ByteTensor(torch.LongStorage(sizes)):apply(function() return whole(0, 1) end)
   mask:storage()[1] = 1
   return made(name), { tensor(sizes), mask }
end)
family(2, { 'CAddTable', 'CSubTable', 'CMulTable', 'CDivTable', 'CMaxTable', 'CMinTable', 'JoinTable', 'SelectTable',
   'NarrowTable', 'FlattenTable', 'ZipTable', 'ZipTableOneToMany', 'DotProduct', 'CosineDistance', 'PairwiseDistance', 'MM',
   'MV', 'MixtureTable', 'CAddTensorTable' }, function(name)
   local sizes = draws.sizes(whole(1, 3))
   local function input(count, range)
      local list = {}
      for i = 1, count do list[i] = tensor(sizes, range) end
      return list
   end
   if name == 'CDivTable' then return made(name), input(2, 'positive') end
   if name == 'CSubTable' then return made(name), input(2) end
   if name == 'CAddTable' then return made(name, chance(0.3)), input(whole(1, 3)) end
   if name == 'CMulTable' or name == 'CMaxTable' or name == 'CMinTable' then return made(name), input(whole(2, 3)) end
   if name == 'DotProduct' or name == 'CosineDistance' or name == 'PairwiseDistance' then
      sizes = draws.sizes(whole(1, 2))
      return made(name, name == 'PairwiseDistance' and pick{ 1, 2, 3 } or nil), input(2)
   end
   if name == 'JoinTable' then
      local d = whole(1, #sizes)
      local first = tensor(sizes)
      sizes = draws.changed(sizes, d, whole(1, 3))
      return made(name, d, chance(0.2) and #sizes or nil), { first, tensor(sizes) }
   end
   if name == 'SelectTable' then return made(name, pick{ 1, 2, -1, 3, 4 }), input(3) end
   if name == 'NarrowTable' then return made(name, whole(1, 2), pick{ nil, 2 }), input(3) end
   if name == 'FlattenTable' then return made(name), { input(2), { input(1) } } end
   if name == 'ZipTable' then return made(name), { input(2), input(2) } end
   if name == 'ZipTableOneToMany' then return made(name), { tensor(sizes), input(2) } end
   if name == 'CAddTensorTable' then return made(name), { tensor(sizes), input(2) } end
   if name == 'MixtureTable' then
      local batch, experts, m = whole(1, 3), whole(2, 3), whole(1, 3)
      local gater = tensor({ batch, experts }, 'unit')
      if chance(0.5) then return made(name), { gater, tensor{ batch, experts, m } } end
      sizes = { batch, m }
      return made(name), { gater, input(experts) }
   end
   local batch, a, b, c = whole(1, 3), whole(1, 3), whole(1, 3), whole(1, 3)
   local left, right = chance(0.3), chance(0.3)
   local one = left and { b, a } or { a, b }
   if name == 'MV' then
      if chance(0.5) then return made(name, left), { tensor{ batch, one[1], one[2] }, tensor{ batch, about(b) } } end
      return made(name, left), { tensor(one), tensor{ about(b) } }
   end
   local two = right and { c, about(b) } or { about(b), c }
   if chance(0.5) then return made(name, left, right), { tensor{ batch, one[1], one[2] }, tensor{ batch, two[1], two[2] } } end
   return made(name, left, right), { tensor(one), tensor(two) }
end)
family(2, { 'Sequential', 'Concat', 'Parallel', 'ConcatTable', 'ParallelTable', 'MapTable', 'DepthConcat', 'WeightNorm',
   'Decorator', 'Profile', 'NaN' }, function(name)
   local n = whole(1, 4)
   if name == 'Sequential' then
      return made(name):add(nn.Linear(n, 3)):add(nn.Tanh()):add(nn.Linear(3, 2)):add(nn.LogSoftMax()), tensor(batched(about(n)))
   elseif name == 'Concat' then return made(name, 2):add(nn.Linear(n, 3)):add(nn.Linear(n, 2)), tensor{ whole(1, 3), about(n) }
   elseif name == 'Parallel' then return made(name, 1, 1):add(nn.Linear(n, 3)):add(nn.Linear(n, 2)), tensor{ 2, about(n) }
   elseif name == 'ConcatTable' then return made(name):add(nn.Linear(n, 3)):add(nn.Tanh()), tensor{ whole(1, 3), about(n) }
   elseif name == 'ParallelTable' then return made(name):add(nn.Linear(n, 3)):add(nn.Tanh()), { tensor{ 2, about(n) }, tensor{ 3 } }
   elseif name == 'MapTable' then return made(name):add(nn.Linear(n, 3)), { tensor{ 2, n }, tensor{ 2, n } }
   elseif name == 'DepthConcat' then
      return made(name, 1):add(nn.SpatialConvolution(2, 1, 1, 1)):add(nn.SpatialConvolution(2, 2, 3, 3)), tensor{ about(2), 5, 4 }
   elseif name == 'WeightNorm' then return made(name, nn.Linear(n, 3)), tensor{ 2, n }
   elseif name == 'NaN' then return made(name, nn.Linear(n, 3), 'id'), tensor{ 2, n } end
   if name == 'Profile' then name = 'Decorator' end
   return made(name, nn.Linear(n, 3)), tensor{ 2, n }
end)

-- f returns the criterion, its input and its target
local criterions = {}
local function criterion(names, f)
   for _, name in ipairs(names) do
      criterions[#criterions + 1] = function() return f(name) end
   end
end
criterion({ 'AbsCriterion', 'MSECriterion', 'SmoothL1Criterion' }, function(name)
   local sizes = draws.sizes(whole(1, 4))
   return made(name, chance(0.7)), tensor(sizes), tensor(chance(0.05) and draws.sizes(2) or sizes)
end)
criterion({ 'SpatialAutoCropMSECriterion' }, function(name)
   return made(name, chance(0.7)), tensor{ 2, 1, 4, 5 }, tensor{ 2, 1, 6, 5 }
end)
criterion({ 'BCECriterion', 'DistKLDivCriterion', 'MultiLabelSoftMarginCriterion' }, function(name)
   local sizes = draws.sizes(whole(1, 3))
   if name == 'MultiLabelSoftMarginCriterion' then sizes = draws.sizes(whole(1, 2)) end
   return made(name), tensor(sizes, 'unit'), tensor(sizes, 'unit')
end)
criterion({ 'ClassNLLCriterion', 'CrossEntropyCriterion', 'MultiMarginCriterion', 'ClassSimplexCriterion' }, function(name)
   local n = whole(2, 5)
   local module
   if name == 'ClassSimplexCriterion' then module = made(name, n)
   elseif name == 'MultiMarginCriterion' then module = made(name, whole(1, 2), nil, pick{ nil, 0.5 })
   else module = made(name, chance(0.3) and torch[T .. 'Tensor'](n):fill(0.5) or nil, chance(0.7)) end
   if chance(0.6) then
      local batch = whole(1, 3)
      return module, tensor{ batch, n }, classes({ batch }, about(n))
   end
   return module, tensor{ n }, chance(0.5) and whole(1, about(n)) or classes({ 1 }, n)
end)
criterion({ 'SpatialClassNLLCriterion' }, function(name)
   local n = whole(2, 4)
   return made(name, nil, chance(0.7)), tensor{ 2, n, 2, 3 }, classes({ 2, 2, 3 }, n)
end)
criterion({ 'SoftMarginCriterion', 'MarginCriterion', 'HingeEmbeddingCriterion' }, function(name)
   local sizes = draws.sizes(whole(1, 2))
   return made(name, name ~= 'SoftMarginCriterion' and pick{ nil, 0.5, 2 } or nil), tensor(sizes), signs(sizes)
end)
criterion({ 'MultiLabelMarginCriterion' }, function(name)
   local n = whole(2, 4)
   local target = torch[T .. 'Tensor'](n):zero()
   target[1] = whole(1, n)
   return made(name), tensor{ n }, target
end)
criterion({ 'CosineEmbeddingCriterion', 'L1HingeEmbeddingCriterion', 'MarginRankingCriterion' }, function(name)
   if name == 'L1HingeEmbeddingCriterion' then
      local n = whole(1, 4)
      return made(name, pick{ nil, 2, 8 }), { tensor{ n }, tensor{ n } }, pick{ -1, 1 }
   end
   local batch, n = whole(1, 3), whole(1, 4)
   if name == 'MarginRankingCriterion' then return made(name, pick{ nil, 0.5 }), { tensor{ n }, tensor{ n } }, signs{ n } end
   return made(name, pick{ nil, 0.2 }), { tensor{ batch, n }, tensor{ batch, n } }, signs{ batch }
end)
criterion({ 'L1Cost' }, function(name) return made(name), tensor(draws.sizes(whole(1, 3))) end)
criterion({ 'WeightedMSECriterion' }, function(name)
   local sizes = draws.sizes(2)
   return made(name, tensor(sizes, 'unit')), tensor(sizes), tensor(sizes)
end)
criterion({ 'ParallelCriterion', 'MultiCriterion' }, function(name)
   local module = made(name):add(nn.MSECriterion(), 0.5):add(nn.AbsCriterion(), 2)
   if name == 'MultiCriterion' then return module, tensor{ 3, 2 }, tensor{ 3, 2 } end
   return module, { tensor{ 3 }, tensor{ 2, 2 } }, { tensor{ 3 }, tensor{ 2, 2 } }
end)

-- Tensors like x, with other numbers
local function like(x, contiguous)
   if torch.isTensor(x) then
      return contiguous and draws.plain(T, x:size():totable(), value) or tensor(x:size():totable())
   end
   local list = {}
   for i, entry in ipairs(x) do list[i] = like(entry) end
   return list
end

-- The fields that are no buffers
local function fields(module)
   local names = {}
   for name, x in pairs(module) do
      if not torch.isTensor(x) and not tostring(name):find('^_') then
         names[#names + 1] = ('%s:%s'):format(tostring(name), torch.type(x))
      end
   end
   table.sort(names)
   return table.concat(names, ' ')
end
local function shown(x) return draws.shown(x, 20) end
local function printed(module) return (tostring(module):gsub('\n%s*', ' ')) end

-- Of these Torch7's clearState returns nothing, or leaves what makes them fail.
local UNCLEARABLE = { WhiteNoise = true, MapTable = true, Collapse = true, WeightNorm = true, MV = true, OneHot = true }
-- Torch7 reads their gradOutput as if it were contiguous.
local CONTIGUOUS = { SpatialDepthWiseConvolution = true, PReLU = true }

local function module_program(case)
   torch.manualSeed(case)
   local module, input = pick(families)()
   module:type('torch.' .. T .. 'Tensor')
   local class = torch.type(module):match('%a+$')
   if class ~= 'WeightNorm' and chance(0.2) then also(module, 'evaluate') end
   module:zeroGradParameters()
   local text = printed(module)
   local output = module:forward(input)
   local results = { text, shown(output) }
   local function also_shown(x) results[#results + 1] = shown(x) end
   also_shown(module:backward(input, like(output, CONTIGUOUS[class]), pick{ 1, 1, 0.5 }))
   local _, gradients = module:parameters()
   also_shown(gradients or {})
   also_shown(not torch.type(module):find('Volumetric') and module.indices or 'no indices')
   also_shown(fields(module))
   if not UNCLEARABLE[class] and chance(0.3) then
      also_shown(fields(module:clearState()))
      also_shown(module:forward(input))
   end
   return table.concat(results, ' ; ')
end

local function criterion_program(case)
   torch.manualSeed(case)
   local module, input, target = pick(criterions)()
   module:type('torch.' .. T .. 'Tensor')
   local loss = module:forward(input, target)
   return printed(module), loss, module:backward(input, target), fields(module)
end

draws.run(function()
   T = pick{ 'Double', 'Float' }
   return chance(0.15) and criterion_program or module_program
end)

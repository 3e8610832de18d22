-- What values that are no plain numbers mean as elements: strings, what a callback returns, zeros with a sign; and
-- what halves have. Prints what Torch7 makes of each.
local function shown(v)
   if torch.isTensor(v) then
      local list, values = {}, v:type() == 'torch.HalfTensor' and v:float() or v
      if values:dim() > 0 then
         values:clone():apply(function(e) list[#list + 1] = e == 0 and (1 / e < 0 and '-0' or '0')
            or ('%.17g'):format(e) end)
      end
      return v:type():match('%.(%u%l+)') .. '{' .. table.concat(list, ' ') .. '}'
   elseif torch.isStorage(v) then
      return shown(torch[torch.type(v):match('%.(%u%l+)') .. 'Tensor'](v))
   end
   return type(v) == 'table' and 'table' or tostring(v)
end
local function try(name, f)
   local ok, result = pcall(f)
   local text = ok and shown(result) or result:gsub(' at %S+%.c:?%d*', ''):gsub('^%S*%.lua:%d+: ', ''):gsub('\n', '|')
   print(name, text)
end

local STRINGS = { '12', '0x10', '010', '1e3', ' 7 ', '7.9', '-3', '+5', '300', '0x1p4', '9007199254740993',
   '-4294967299',
   'inf', '12abc', 'abc', '' }
for _, kind in ipairs{ 'Double', 'Long', 'Int', 'Byte' } do
   local Tensor, Storage = torch[kind .. 'Tensor'], torch[kind .. 'Storage']
   local function two() return Tensor(2):fill(3) end
   local function four() return Tensor(2, 2):fill(3) end
   for _, s in ipairs(STRINGS) do
      local name = kind .. ' ' .. s .. ' '
      try(name .. 'table', function() return Tensor{ s, 1 } end)
      try(name .. 'element', function() local t = two() t[1] = s return t end)
      try(name .. 'row', function() local t = four() t[1] = s return t end)
      try(name .. 'place', function() local t = four() t[{ 1, 2 }] = s return t end)
      try(name .. 'column', function() local t = four() t[{ {}, 1 }] = s return t end)
      try(name .. 'sizes', function() local t = four() t[torch.LongStorage{ 1, 2 }] = s return t end)
      try(name .. 'mask', function() local t = two() t[torch.ByteTensor{ 1, 0 }] = s return t end)
      try(name .. 'maskedFill', function() local t = two() t:maskedFill(torch.ByteTensor{ 1, 0 }, s) return t end)
      try(name .. 'indexFill', function() local t = two() t:indexFill(1, torch.LongTensor{ 1 }, s) return t end)
      try(name .. 'fill', function() return two():fill(s) end)
      try(name .. 'sum', function() return two() + s end)
      try(name .. 'storage', function() return Storage{ s, 2 } end)
      try(name .. 'in storage', function() local st = Storage(2):fill(0) st[1] = s return st end)
      try(name .. 'fill storage', function() return Storage(2):fill(s) end)
      if #s < 10 then
         try(name .. 'difference', function() return two() - s end)
         try(name .. 'product', function() return two() * s end)
      end
   end
   local values = { '3', '1e3', false, true, {}, print, 5LL, 2.7, 0 / 0, 'x', torch.ones(1), '0x20' }
   for k = 1, #values do
      local function value() return values[k] end
      for _, t in ipairs{ two(), four():t() } do
         try(kind .. ' apply ' .. k, function() return t:clone():set(t):apply(value) end)
         try(kind .. ' map ' .. k, function() return t:clone():set(t):map(t, value) end)
         try(kind .. ' map2 ' .. k, function() return t:clone():set(t):map2(t, t, value) end)
      end
   end
end

require 'nn'
local z = -tonumber('0')
for _, kind in ipairs{ 'Double', 'Float', 'Int' } do
   local Tensor = torch[kind .. 'Tensor']
   local function some() return Tensor{ { 0, 1, 3 }, { 7, 2, 5 } } end
   try(kind .. ' fill', function() return some():fill(z) end)
   try(kind .. ' mul', function() return some():mul(z) end)
   try(kind .. ' add', function() return some():fill(z):add(z) end)
   try(kind .. ' add scaled', function() return some():fill(z):add(z, some()) end)
   try(kind .. ' clamp', function() return some():clamp(-3, z) end)
   try(kind .. ' cmax', function() return some():mul(-1):cmax(z) end)
   try(kind .. ' mask', function() local t = some() t[t:gt(2)] = z return t end)
   try(kind .. ' indexFill', function() local t = some() t:indexFill(1, torch.LongTensor{ 1 }, z) return t end)
   try(kind .. ' scatter', function() return some():scatter(1, torch.LongTensor(2, 3):fill(1), z) end)
   try(kind .. ' part', function() local t = some() t[1] = z t[{ {}, 3 }] = z return t end)
   if kind ~= 'Int' then
      try(kind .. ' div', function() return some():div(z) end)
      try(kind .. ' pow', function() return torch.pow(z, some()) end)
      try(kind .. ' addcmul', function() return some():fill(z):addcmul(z, some(), some()) end)
      for _, layer in ipairs{ nn.MulConstant(z), nn.Threshold(4, z), nn.LeakyReLU(z), nn.Padding(2, 1, 2, z) } do
         layer:type(Tensor():type())
         try(kind .. ' ' .. torch.type(layer), function() return layer:forward(some():add(-2)) end)
      end
   end
end

local h = torch.Tensor{ { 1.5, -2 }, { 4, 0 } }:half()
try('abs', function() return h:abs() end)
try('max', function() return h:max() end)
try('mean', function() return h:mean(1) end)
try('add', function() return h:add(2, h) end)
try('reshape', function() return h:reshape(1, 4) end)
try('difference', function() return h - h:abs() end)
try('sum', function() return h + h end)
print('split', pcall(torch.split, torch.range(1, 4), -3) == false)

local x = torch.ones(2, 3)
for _, n in ipairs{ 0 / 0, 1 / 0, -1e20, 1.9, -1.9 } do
   try('sum ' .. n, function() return x:sum(n) end)
   try('cat ' .. n, function() return torch.cat(x, x, n) end)
   try('norm ' .. n, function() return x:norm(1, n) end)
   try('bhistc ' .. n, function() return torch.bhistc(x, n) end)
   try('random ' .. n, function() return torch.random(2, n) end)
   try('randperm ' .. n, function() return torch.randperm(n) end)
   try('manualSeed ' .. n, function() return torch.manualSeed(1, n) end)
end

local narrow = nn.Narrow(1, 2, 2) -- its results have the type of what it gets
try('narrow', function() return narrow:forward(torch.FloatTensor{ 1, 2, 3 }) end)
try('narrow backward', function() return narrow:backward(torch.FloatTensor{ 1, 2, 3 }, torch.Tensor{ 4, 5 }) end)

require 'optim'
local w, calls = torch.Tensor{ 1, 2, 3 }, 0
optim.lbfgs(function(p)
   calls = calls + 1
   local g = p * 2
   if calls == 2 then g[1] = 0 / 0 end -- a curvature that is NaN is not remembered
   return p:dot(p), g
end, w, { maxIter = 3, learningRate = 0.1 }, {})
try('lbfgs', function() return w:mul(1e6):round() end)

-- Inputs of other dimensions than a layer takes. (What else a backward pass says differs.)
for _, layer in ipairs{ nn.SpatialReflectionPadding(1, 1, 1, 1), nn.SpatialReplicationPadding(1, 1, 1, 1),
   nn.SpatialZeroPadding(1), nn.VolumetricReplicationPadding(1), nn.SpatialDropout(), nn.VolumetricDropout(),
   nn.SpatialAdaptiveMaxPooling(2, 2), nn.SpatialAdaptiveAveragePooling(2, 2), nn.SpatialUpSamplingNearest(2),
   nn.SpatialUpSamplingBilinear(2), nn.VolumetricAveragePooling(1, 1, 1), nn.VolumetricMaxPooling(1, 1, 1),
   nn.SpatialMaxPooling(1, 1), nn.SoftMax(), nn.LogSoftMax(), nn.TemporalConvolution(4, 2, 2),
   nn.SpatialConvolution(2, 3, 1, 1), nn.SpatialCrossMapLRN(3), nn.Normalize(2) } do
   for dims = 0, 5 do
      local input = torch.ones(1, 2, 2, 3, 3)
      for _ = dims, 4 do input = input[1] end
      if dims == 0 then input = torch.Tensor() end
      if dims > 0 or torch.type(layer) ~= 'nn.Normalize' then
         try(torch.type(layer) .. ' ' .. dims, function() return layer:forward(input):dim() end)
      end
   end
end
for _, criterion in ipairs{ nn.SpatialClassNLLCriterion(), nn.MultiLabelMarginCriterion() } do
   for dims = 1, 4 do
      local input = torch.ones(2, 2, 2, 2)
      for _ = dims, 3 do input = input[1] end
      try(torch.type(criterion) .. ' ' .. dims, function() return criterion:forward(input, torch.ones(2)) end)
   end
end

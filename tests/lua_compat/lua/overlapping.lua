-- Operations on tensors that overlap in memory: on one storage, and on a storage and one that views it, they give what
-- they give on copies. Prints what differs, and how many results were compared.
require 'nn'

local FIRST = 3 -- where the view begins in its base, from 1
local WAYS = { 'copies', 'one storage', 'the result on the base', 'the result on the view', 'views of both' }

-- Tensors of a case, of which the first is written to: each with the index of its first element in the base and its
-- sizes.
local function tensors(way, name, layout)
   torch.manualSeed(1)
   local base, class = torch.rand(400):type('torch.' .. name .. 'Tensor'):storage(), torch[name .. 'Storage']
   local found = {}
   for k, place in ipairs(layout) do
      local storage, offset = base, place[1]
      if way == 'views of both' or way == 'the result on the base' and k > 1 or way == 'the result on the view'
         and k == 1 then
         storage, offset = class(base, FIRST, 390), offset - FIRST + 1
      end
      found[k] = torch[name .. 'Tensor'](storage, offset, torch.LongStorage(place[2]))
      if way == 'copies' then found[k] = found[k]:clone() end
   end
   return unpack(found)
end

local compared = 0
local function compare(case, layout, run)
   for _, name in ipairs{ 'Double', 'Float' } do
      local expected
      for _, way in ipairs(WAYS) do
         local found = { tensors(way, name, layout) }
         run(unpack(found))
         expected = expected or found[1]
         local off = (found[1] - expected):abs():max()
         if not (off <= 1e-6) then print(case, name, way, off) end -- the last bit is another where Python computes
         compared = compared + 1
      end
   end
end

-- forwards, backwards, in the same place, beside each other
for title, at in pairs{ forwards = { 8, 5 }, backwards = { 5, 8 }, same = { 5, 5 }, apart = { 5, 105 } } do
   local function pair(...) return { { at[1], { ... } }, { at[2], { ... } } } end
   local function pairwise(case, run)
      compare(case .. ' ' .. title, pair(40), run)
      compare(case .. ' of rows ' .. title, pair(8, 10), run)
   end
   pairwise('copy', function(r, t) r:copy(t) end)
   pairwise('copy of a transpose', function(r, t) if r:dim() == 2 then r:narrow(2, 1,
      8):copy(t:narrow(2, 1, 8):t()) end end)
   pairwise('cmul', function(r, t) r:cmul(t) end)
   pairwise('cmul of two', function(r, t) r:cmul(t, t) end)
   pairwise('add', function(r, t) r:add(t) end)
   pairwise('addcmul', function(r, t) r:addcmul(0.5, t, t) end)
   pairwise('exp', function(r, t) r:exp(t) end)
   pairwise('sum', function(r, t) if r:dim() == 2 then torch.sum(r:narrow(2, 1, 1), t, 2) end end)
   pairwise('repeatTensor', function(r, t) r:repeatTensor(t:narrow(1, 1, 2), 4, 1) end)
   pairwise('lerp', function(r, t) r:lerp(t, t * 2, 0.5) end)
   pairwise('gt', function(r, t) torch.gt(r, t, 0.5) end)
   pairwise('gt of two', function(r, t) torch.gt(r, t, t - 0.1) end)
   pairwise('renorm', function(r, t) if r:dim() == 2 then torch.renorm(r, t, 2, 1, 0.5) end end)
   pairwise('gather', function(r, t) torch.gather(r, t, 1, torch.LongTensor():resize(r:size()):fill(3)) end)
   pairwise('scatter', function(r, t)
      if r:dim() == 1 then r:narrow(1, 1, 1):scatter(1, torch.LongTensor{ 1 }, t:narrow(1, 1, 1)) end
   end)
   pairwise('indexCopy', function(r, t) r:indexCopy(1, torch.LongTensor{ 2 }, t:narrow(1, 3, 1)) end)
   pairwise('indexAdd', function(r, t) r:indexAdd(1, torch.LongTensor{ 2 }, t:narrow(1, 2, 1)) end)
   pairwise('index', function(r, t) r:index(t, 1, torch.range(r:size(1), 1, -1):long()) end)
   pairwise('cat', function(r, t) torch.cat(r:narrow(1, 1, 6), t:narrow(1, 1, 2), t:narrow(1, 3, 4), 1) end)
   compare('add of many ' .. title, { { at[1], { 300 } }, { at[2] == 105 and 8 or at[2], { 300 } } },
      function(r, t) r:add(t) end)
   compare('mm ' .. title, { { at[1], { 6, 6 } }, { at[2], { 6, 6 } } }, function(r, t) r:mm(t, t) end)
   compare('large mm ' .. title, { { at[1], { 13, 13 } }, { at[2], { 13, 13 } } }, function(r, t) r:mm(t, t) end)
   compare('addmm ' .. title, { { at[1], { 6, 6 } }, { at[2], { 6, 6 } } },
      function(r, t) torch.addmm(r, 1, t, 1, t, t) end)
   compare('mv ' .. title, { { at[1], { 6 } }, { at[2], { 6, 6 } }, { at[2] + 3, { 6 } } },
      function(r, m, v) r:mv(m, v) end)
   compare('ger ' .. title, { { at[1], { 6, 6 } }, { at[2], { 6 } }, { at[2] + 3, { 6 } } },
      function(r, v, w) r:ger(v, w) end)

   -- layers whose result lies where their input does
   local function layer(case, sizes, module, result)
      compare(case .. ' ' .. title, { { at[1], result or sizes }, { at[2], sizes } }, function(r, x)
         torch.manualSeed(2)
         local m = module():type(r:type())
         m.output = torch.Tensor():type(r:type()):set(r)
         r:copy(m:forward(x):clone())
      end)
   end
   layer('SpatialConvolution', { 2, 6, 6 }, function() return nn.SpatialConvolution(2, 3, 3, 3) end, { 3, 4, 4 })
   layer('TemporalConvolution', { 6, 4 }, function() return nn.TemporalConvolution(4, 3, 2) end, { 5, 3 })
   layer('SpatialZeroPadding', { 2, 6, 6 }, function() return nn.SpatialZeroPadding(1, 1, 1, 1) end, { 2, 8, 8 })
   layer('LogSoftMax', { 6, 6 }, nn.LogSoftMax)
   layer('BatchNormalization', { 6, 6 }, function() return nn.BatchNormalization(6) end)
end
print(compared .. ' compared')

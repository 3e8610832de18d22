-- Element by element: last bits of floats, small whole numbers as C computes with them, and the same results in
-- whatever layout the operands lie. Numbers were recorded from Torch7.
local few = require 'torch.luajit.elementwise'

local function check(what, found, wanted)
   assert(found == wanted or found ~= found and wanted ~= wanted,
      ('%s: %.17g instead of %.17g'):format(what, found, wanted))
end

-- Of floats each step is rounded.
local FACTS = {
   { 'addcmul', 0.8410000205039978, function(r, a, b) return r:addcmul(0.3, a, b) end },
   { 'addcdiv', 0.57894736528396606, function(r, a, b) return r:addcdiv(0.7, a, b) end },
   { 'lerp', 1.4800000190734863, function(r, a, b) return r:lerp(a, b, 0.3) end },
   { 'remainder', 0.099999904632568359, function(r, a) return r:remainder(a, 0.3) end },
   { 'cremainder', 1.2999999523162842, function(r, a, b) return r:cremainder(a, b) end },
   { 'pow', 2.1969997882843018, function(r, a) return r:pow(a, 3) end },
}
for _, n in ipairs{ 1, 600, 3000 } do
   for _, fact in ipairs(FACTS) do
      local name, wanted, f = unpack(fact)
      local r = f(torch.FloatTensor(n):fill(0.1), torch.FloatTensor(n):fill(1.3), torch.FloatTensor(n):fill(1.9))
      check(name .. ' of ' .. n, r[1], wanted)
      check(name .. ' of ' .. n, r[n], wanted)
   end
end

-- Powers that are roots and quotients are so of infinity, zeros and last bits, too.
for _, n in ipairs{ 4, 600, 3000 } do
   for T, wanted in pairs{
      ['torch.DoubleTensor'] = { [-0.5] = 3.1622776601683791, [-2] = 99.999999999999986 },
      ['torch.FloatTensor'] = { [-0.5] = 3.1622776985168457, [-2] = 99.999992370605469 },
   } do
      local t = torch.Tensor(n):fill(0.1)
      t[1], t[2], t[3] = -math.huge, -0.0, math.huge
      t = t:type(T)
      local r = torch.pow(t, -0.5)
      check('root of -inf', r[1], 0 / 0)
      check('root of -0', r[2], -math.huge)
      check('root of inf', r[3], 0)
      check('root', r[n], wanted[-0.5])
      check('square', torch.pow(t, -2)[n], wanted[-2])
   end
end

-- Bytes are multiplied as C's int is. (300,000 are not computed in Lua.)
for _, n in ipairs{ 1, 3000, 300000 } do
   local r = torch.ByteTensor(n):fill(5):addcdiv(249, torch.ByteTensor(n):fill(200), torch.ByteTensor(n):fill(7))
   check('addcdiv of bytes', r[n], 207)
   r = torch.IntTensor(n):fill(1):addcdiv(3, torch.IntTensor(n):fill(2 ^ 30), torch.IntTensor(n):fill(-7))
   check('addcdiv of ints', r[n], 153391690)
end
local ok, problem = pcall(function() return torch.IntTensor(9):addcdiv(1, torch.IntTensor(9):fill(1),
   torch.IntTensor(9):zero()) end)
assert(not ok and tostring(problem):find 'zero', problem)

-- Sums and products of whole numbers have 64 bits.
check('sum', torch.LongTensor{ 2 ^ 62, 2 ^ 62, 5 }:sum(), -2 ^ 63)
check('product', torch.IntTensor{ 2 ^ 31 - 1, 2 ^ 31 - 1, 4 }:prod(), -17179869180)
check('trace', torch.ByteTensor(3, 3):fill(200):trace(), 600)
check('product of floats', torch.FloatTensor(5000):fill(1.001):prod(), 148.07739587879277)

-- Zeros keep the sign of what was rounded.
for _, n in ipairs{ 3, 2000 } do
   for _, T in ipairs{ 'torch.FloatTensor', 'torch.DoubleTensor' } do
      local t = torch.Tensor(n):fill(-0.25):type(T)
      assert(1 / t:clone():trunc()[n] == -math.huge and t:clone():frac()[n] == -0.25)
      assert(1 / t:fill(-0.0):trunc()[1] == -math.huge and t:fill(2.75):trunc()[n] == 2
         and t:fill(-2.75):frac()[n] == -0.75)
   end
end

-- Equal: zeros of both signs, NaNs that are not, elements at the end.
for _, T in ipairs{ 'torch.FloatTensor', 'torch.DoubleTensor', 'torch.LongTensor', 'torch.ByteTensor' } do
   for _, n in ipairs{ 1, 8, 9, 700 } do
      local a = torch.ones(n):type(T)
      local b = a:clone()
      assert(a:equal(b))
      b[n] = 2
      assert(not a:equal(b))
      if T:find 'Float' or T:find 'Double' then
         a[n], b[n] = 0, -0.0
         assert(a:equal(b))
         a[n], b[n] = 0 / 0, 0 / 0
         assert(not a:equal(b) and not a:equal(a))
      end
   end
end

-- Layouts: what is not in one piece gives what its copy gives, and nothing beside it is written.
local ROWS, COLUMNS = 20, 33
local LAYOUTS = {
   transposed = function(t)
      local whole = t.new(COLUMNS, ROWS)
      return whole:t():copy(t), whole
   end,
   part = function(t)
      local whole = t.new(ROWS + 2, COLUMNS + 9):fill(7)
      return whole:narrow(1, 2, ROWS):narrow(2, 5, COLUMNS):copy(t), whole
   end,
   transposed_part = function(t)
      local whole = t.new(COLUMNS + 2, ROWS + 9):fill(7)
      return whole:narrow(1, 2, COLUMNS):narrow(2, 5, ROWS):t():copy(t), whole
   end,
   stepped = function(t)
      local whole = t.new(ROWS, COLUMNS, 2):fill(7)
      return whole:select(3, 2):copy(t), whole
   end,
}
local function same(what, a, b) assert(a:isSameSizeAs(b) and a:equal(b), what) end
for _, limit in ipairs{ few.LIMIT, 0 } do
   few.LIMIT = limit
   for _, T in ipairs{ 'torch.FloatTensor', 'torch.DoubleTensor', 'torch.LongTensor', 'torch.ByteTensor' } do
      local t = torch.Tensor(ROWS, COLUMNS):random(0, 9):type(T)
      local mask = torch.rand(ROWS, COLUMNS):gt(0.5)
      local values = torch.range(1, ROWS * COLUMNS):type(T)
      for name, lay_out in pairs(LAYOUTS) do
         local what = T .. ' ' .. name
         local x, m = lay_out(t), lay_out(mask)
         same(what .. ' selected', x[m], t[mask])
         for _, given in ipairs{ m, mask } do
            for kind, change in pairs{ fill = function(r) r[given] = 3 end,
               copy = function(r) r:maskedCopy(given, values) end } do
               local r, whole = lay_out(t)
               local before, wanted = whole:clone():double():sum() - t:double():sum(), t:clone()
               change(r)
               if kind == 'fill' then wanted[mask] = 3 else wanted:maskedCopy(mask, values) end
               same(what .. ' masked ' .. kind, r, wanted)
               check(what .. ' beside', whole:double():sum() - r:double():sum(), before)
            end
         end
         assert(m:all() == mask:all() and m:any() == mask:any() and m:sum() == mask:sum())
         same(what .. ' cumsum', x:cumsum(1), t:cumsum(1))
         same(what .. ' cumsum', x:cumsum(2), t:cumsum(2))
         same(what .. ' triu', torch.triu(x), torch.triu(t))
         same(what .. ' tril', torch.tril(x, 2), torch.tril(t, 2))
         check(what .. ' prod', x:prod(), t:prod())
         check(what .. ' max', x:max(), t:max())
         check(what .. ' dot', x:dot(t), t:dot(t))
         same(what .. ' match', torch.match(x, x), torch.match(t, t))
         same(what .. ' add', lay_out(t):add(x), t * 2)
         same(what .. ' cmax', lay_out(t):cmax(4), t:clone():cmax(4))
         local filled, whole = lay_out(t)
         local beside = whole:double():sum() - t:double():sum()
         filled:fill(3)
         check(what .. ' fill', filled:ne(3):sum(), 0)
         check(what .. ' beside', whole:double():sum() - 3 * t:nElement(), beside)
         if x.histc then
            same(what .. ' histc', x:histc(7), t:histc(7))
            same(what .. ' bhistc', x:bhistc(7), t:bhistc(7))
            same(what .. ' norm', x:norm(1, 2), t:norm(1, 2))
            same(what .. ' norm', x:norm(1, 2), t:clone():abs():sum(2))
         end
         local places = torch.LongTensor(ROWS, COLUMNS):random(COLUMNS)
         same(what .. ' gather', x:gather(2, places), t:gather(2, places))
         local rows = torch.LongTensor(ROWS, COLUMNS):random(ROWS)
         same(what .. ' gather', x:gather(1, rows), t:gather(1, rows))
         same(what .. ' scatter', lay_out(t):scatter(2, places, x), t:clone():scatter(2, places, t))
         same(what .. ' scatter', lay_out(t):scatter(1, rows, 5), t:clone():scatter(1, rows, 5))
      end
   end
end

-- Of an index out of range nothing is written.
for _, wrong in ipairs{ 0, -1, COLUMNS + 1, 2 ^ 31, -2 ^ 31, 2 ^ 32 + 1 } do
   local places, r = torch.LongTensor(ROWS, COLUMNS):fill(1), torch.zeros(ROWS, COLUMNS)
   places[ROWS][COLUMNS - 1] = wrong
   assert(not pcall(r.scatter, r, 2, places, 1) and r:sum() == 0)
   assert(not pcall(torch.gather, r, 2, places))
end

-- Functions of each element, copies, conversions, draws.
local h = require 'harness'
local few = require 'torch.luajit.elementwise'
local library = require 'torch.core.library'
local tensors_of, DOUBLE, FLOAT, LONG, INT, BYTE = h.tensors_of, h.DOUBLE, h.FLOAT, h.LONG, h.INT, h.BYTE
local FLOATING, whole_numbers, check, both_ways, random, sample = h.FLOATING, h.whole_numbers, h.check, h.both_ways,
   h.random, h.sample
local matrix, same_bits, same_bits_by_blas, TYPES = h.matrix, h.same_bits, h.same_bits_by_blas, h.TYPES
local named = h.named
local saves_pytorch = library.saves_pytorch

local function before_pytorch(T)
   library.saves_pytorch = function() return true end
   local rows, columns = random(60, 90), random(80, 120)
   local x, y, v = matrix(T, rows, columns), matrix(T, rows, columns), torch.uniform(-1, 1)
   local t = torch.randn(rows, columns):type(T)
   if FLOATING[T] and random(1, 4) == 1 then x[rows][columns], t[1][1] = 0 / 0, 1 / 0 end
   same_bits(T .. ' before PyTorch', function()
      local results = { torch.add(x, v), torch.add(x, y), torch.add(t, t), torch.csub(x, y), torch.mul(t, v),
         torch.cmul(x, y), torch.clamp(x, 0, 1),
         torch.gt(x, v), torch.eq(x, y), torch.le(t, x), t:clone():fill(v), t:clone():zero(),
            x:clone():t():contiguous(), x:clone():add(y),
         torch.cmax(t, 1), torch.sign(t), torch.cat(x, y, 1) }
      for _, other in ipairs(TYPES) do results[#results + 1] = t:clone():mul(20):type(other) end
      if FLOATING[T] then
         for _, result in ipairs{ torch.sqrt(t), torch.cinv(t), torch.abs(x), torch.floor(t), torch.cdiv(x, y),
            torch.pow(t, 2), torch.cumsum(t, 2),
            torch.cumsum(t:view(-1)) } do results[#results + 1] = result end
      end
      if T == DOUBLE then results[#results + 1] = torch.addcdiv(t, v, t, torch.rand(rows, columns):add(1):type(T)) end
      return results
   end)
   if FLOATING[T] then
      same_bits_by_blas(T .. ' scaled and added before PyTorch',
         function() return { torch.add(t, v, t), t:clone():add(v, t), torch.add(x, v, y) } end)
   end
   local d, mask = random(1, 2), matrix(T, rows, columns):gt(0)
   local index, places = whole_numbers(3000):random(x:size(d)), matrix(LONG, rows, columns):random(x:size(d))
   local images, channels = torch.randn(9, 40, 20):type(T), whole_numbers(30):random(40)
   same_bits(T .. ' selected before PyTorch', function()
      local filled, copied, scattered = x:clone(), t:clone(), x:clone()
      filled:maskedFill(mask, 3)
      copied:maskedCopy(mask, y:contiguous())
      scattered:scatter(d, places:clone():fill(1), t)
      local added, written = t:clone(), t:clone()
      added:indexAdd(d, index, x:index(d, index))
      written:indexFill(d, index, 2)
      local extremes = torch.Tensor{ x:max(), x:min(), images:max(), images:min(), images:transpose(1, 3):max(),
         t:clone():cmax(0):min() }:type(T)
      return { x:index(d, index), x:t():index(d, index:clone():fill(1)), x:gather(d, places),
         t:gather(d, places:t():clone():t()), images:index(2, channels), images:index(3, channels:clone():fill(20)),
         images:transpose(1, 2):index(1, channels), images:gather(2,
            channels:view(1, 30, 1):expand(9, 30, 20):contiguous()), x[mask], t:maskedSelect(mask:contiguous()), filled,
               copied,
         scattered, added, written, extremes }
   end)
   both_ways(T .. ' wrong indices before PyTorch', function()
      index[2000] = random(0, 1) * (x:size(d) + 1)
      places[rows][columns] = 0
      return pcall(x.index, x, d, index), pcall(x.gather, x, d, places), pcall(t.scatter, t:clone(), d, places, 3),
         pcall(x.maskedSelect, x, mask + 1)
   end)
   both_ways(T .. ' sums of many', function()
      local whole = t:clone():gt(0)
      if not FLOATING[T] then return t:sum(), whole:sum() end
      local line, sum, squares = x:clone():view(-1), 0, 0
      for k = 1, line:size(1) do sum, squares = sum + line[k], squares + line[k] * line[k] end
      if sum == sum and T == FLOAT and few.LIMIT > 0 then -- as doubles, in their order
         assert(line:sum() == sum and line:norm() == math.sqrt(squares) and line:mean() == sum / line:size(1),
            'sums of floats')
      end
      return t:sum(), t:mean(), t:norm(), x:norm(), x:sum(), torch.addcmul(t, v, t, t),
         torch.addcdiv(t, v, t, t:clone():fill(2)), whole:sum()
   end)
   library.saves_pytorch = saves_pytorch
end

local function functions_of_many(T)
   local rows, columns = random(2, 30), random(70, 300)
   local x = matrix(T, rows, columns):mul(3)
   if random(1, 4) == 1 then x[rows][columns] = ({ 0 / 0, 1 / 0, -1 / 0, 0, -0, 1e-310 })[random(1, 6)] end
   for _, name in ipairs{ 'exp', 'log', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'tanh' } do
      same_bits(('%s %s of many'):format(T, name), function()
         local y, z, part = matrix(T, rows, columns), x:clone(), x:clone():narrow(2, 3, 40)
         y[name](y, x)
         part[name](part, x:narrow(2, 5, 40))
         return { torch[name](x), z[name](z), y, part, part[name](part) }
      end)
   end
   both_ways(T .. ' sigmoid of many', function()
      local y = torch.Tensor(rows, columns):type(T):fill(1)
      y:narrow(2, 3, 30):sigmoid(x:narrow(2, 1, 30))
      return torch.sigmoid(x), y, x:clone():narrow(2, 1, 30):sigmoid(),
         x:clone():narrow(1, 1, 1):expand(5, columns):sigmoid()
   end)
end

-- More than few elements, and tensors repeated
local function of_many(T)
   local n = random(2000, 9000)
   local x, y = torch.randn(n):type(T), torch.randn(n):type(T)
   same_bits(T .. ' sums of many', function()
      return { x:clone():add(y), x:clone():add(-1, y), x + y, x - y,
         x:clone():narrow(1, 1, 2500 < n and 2500 or n):add(y:narrow(1, 1, 2500 < n and 2500 or n)),
         x:clone():narrow(1, 2, 1990):add(y:narrow(1, 1, 1990)) }
   end)
   local t = sample(T, random(1, 3))
   local times = torch.LongStorage(t:dim() + random(0, 1))
   for d = 1, #times do times[d] = random(1, 3) end
   both_ways(T .. ' repeatTensor', function() return t:repeatTensor(times),
      torch.Tensor():type(T):repeatTensor(t, times) end)
end

local function element_by_element(T)
   local floating = FLOATING[T]
   local t = sample(T, random(1, 4))
   local s = torch.randn(t:size()):mul(3):type(T)
   if random(1, 2) == 1 and s:dim() > 1 then s = s:transpose(1, 2):clone():transpose(1, 2) end
   s[s:eq(0)] = 1
   local v, w = random(1, 3), random(-3, 3)
   for _, name in ipairs{ 'add', 'csub', 'mul', 'div', 'cmax', 'cmin', 'fill' } do
      both_ways(('%s %s a number'):format(T, name), function() return t:clone()[name](t:clone(), v) end)
   end
   for _, name in ipairs{ 'add', 'csub', 'cmul', 'cdiv', 'cmax', 'cmin' } do
      both_ways(('%s %s'):format(T, name), function()
         return torch[name](t, s), t:clone()[name](t:clone(), s), t[name](t:clone(), t, s)
      end)
   end
   both_ways(T .. ' scaled', function()
      return t:clone():add(w, s), t:clone():addcmul(w, s, t), torch.addcdiv(t, w, t, s), t:clone():clamp(w, v),
         t:clone():clamp(v, w)
   end)
   for _, name in ipairs{ 'lt', 'gt', 'le', 'ge', 'eq', 'ne' } do
      both_ways(('%s %s'):format(T, name), function()
         return torch[name](t, v), torch[name](t, s), t[name](t:clone(), t, v), t[name](t:clone(), t, s), t:equal(s),
            t:equal(t:clone())
      end)
   end
   both_ways(T .. ' truth', function()
      return t:gt(w):all(), t:gt(w):any(), t:ne(t):any(), t:eq(t):all(), t:sum(), t:max(), t:min()
   end)
   local plain = t:ne(t):any() and s or t -- what becomes of a NaN as a whole number depends on the processor
   for _, other in ipairs{ 'Double', 'Float', 'Long', 'Int', 'Short', 'Char', 'Byte' } do
      if other ~= 'Byte' and other ~= 'Char' or not floating then
         both_ways(('%s as %s'):format(T, other), function()
            return plain:type('torch.' .. other .. 'Tensor'), plain:type(tensors_of(other))
         end)
      end
   end
   both_ways(T .. ' copies of other sizes', function()
      local n = t:nElement()
      local column, row = torch.zeros(n, 3):type(T):select(2, 2), torch.zeros(n):type(T)
      return column:copy(t), row:copy(t), t:clone():copy(column), torch.zeros(n, 2):type(LONG):select(2, 1):copy(s)
   end)
   local mask = t:gt(w)
   both_ways(T .. ' masks', function()
      local filled, part = t:clone(), torch.cat(t, t, 1):narrow(1, 2, t:size(1))
      filled:maskedFill(mask, v)
      return filled, t[mask], t:contiguous()[mask:contiguous()], t:maskedSelect(t:ne(t:clone():add(1))),
         part:maskedFill(mask, w), part, pcall(t.maskedFill, t:clone(), mask + 1, v)
   end)
   if not FLOATING[T] then
      local counts = s:clone():random(0, 40)
      both_ways(T .. ' bits', function()
         return t:clone():lshift(t, v), t:clone():rshift(t, v), t:clone():clshift(t, counts),
            t:clone():crshift(t, counts), t:clone():bitand(t, v), t:clone():bitor(t, v),
            t:clone():bitxor(t, v), t:clone():cbitand(t, s), t:clone():cbitor(t, s), t:clone():cbitxor(t, s)
      end)
   end
   if T ~= 'torch.ByteTensor' and T ~= 'torch.CudaByteTensor' then
      both_ways(T .. ' absolutes', function() return t:clone():abs(), torch.abs(s) end)
   end
   both_ways(T .. ' signs', function() return t:clone():sign(), torch.sign(s) end)
   both_ways(T .. ' sequences', function()
      local r = torch.Tensor():type(T)
      return r.range(r, 2, 20, v):clone(), r.eye(r, v, 4):clone(), torch.eye(3):type(T)
   end)
   if floating then
      for _, name in ipairs{ 'exp', 'log', 'log1p', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh',
         'sigmoid', 'sqrt', 'rsqrt', 'abs',
          'floor', 'ceil', 'neg', 'cinv', 'round', 'trunc', 'frac', 'sign' } do
         both_ways(('%s %s'):format(T, name), function() return t:clone()[name](t:clone()) end)
      end
      both_ways(T .. ' pow', function() return torch.pow(t, 2), torch.pow(t, v), torch.pow(t, 0.5), torch.pow(t, -1),
         torch.pow(t, 3) end)
      both_ways(T .. ' powers', function()
         return torch.pow(t, 1.7), torch.pow(v, t), torch.cpow(t, s), torch.atan2(t, s), t:clone():cpow(t),
            t:clone():atan2(s, t)
      end)
      both_ways(T .. ' remainders', function()
         return torch.remainder(t, v), torch.remainder(t, -0.3), t % v, torch.cremainder(t, s), torch.lerp(t, s, 0.3),
            t:clone():cremainder(t, s)
      end)
   end
end

-- As many elements as are computed four at a time; some equal, some not finite.
local function compared_and_bounded(T)
   local n = random(500, 2100)
   local t, s = torch.randn(n):type(T), torch.randn(n):type(T)
   for _ = 1, 30 do
      local k = random(1, n)
      t[k], s[random(1, n)] = s[k], ({ 0, -0.0, 1, -1, 1e-310, -1e-310, 1e30 })[random(1, 7)]
   end
   if random(1, 3) == 1 then t[random(1, n)] = ({ 0 / 0, 1 / 0, -1 / 0 })[random(1, 3)] end
   local v, w = ({ 0, 1, -0.5, 1 / 0, 0 / 0, 1e-310 })[random(1, 6)], random(-1, 2)
   for _, name in ipairs{ 'lt', 'gt', 'le', 'ge', 'eq', 'ne' } do
      both_ways(('%s %s of many'):format(T, name), function() return t[name](t, v), t[name](t, s), s[name](s, s),
         t[name](t:clone(), t, s) end)
   end
   for _, name in ipairs{ 'round', 'trunc', 'frac', 'sign' } do
      both_ways(('%s %s of many'):format(T, name), function() return t[name](t:clone():mul(3)), t[name](s:clone()),
         1 / s:clone()[name](s:clone()) end)
   end
   both_ways(T .. ' bounds of many', function()
      return torch.clamp(s, -1, w), torch.cmax(t, s), torch.cmin(t, s), torch.cmax(s, w), torch.cmin(s, w),
         1 / torch.clamp(s, 0, 1), 1 / s:clone():cmax(0)
   end)
end

-- Numbers as those of other types, up to where each way of converting them gives the same.
local function as_other_types(T)
   local n, large = random(1, 900), ({ 1, 1e3, 2 ^ 30, 2 ^ 52 })[random(1, 4)]
   local t = torch.rand(n):mul(2):add(-1):mul(large):type(T)
   for _, other in ipairs{ DOUBLE, FLOAT, LONG, INT } do
      if large < 2 ^ 31 or other ~= INT and T ~= BYTE then
         both_ways(('%s as %s'):format(T, other), function() return t:type(other),
            torch.zeros(n, 2):type(other):select(2, 1):copy(t) end)
      end
   end
   if FLOATING[T] and large == 1e3 then both_ways(T .. ' as bytes', function() return t:type(BYTE) end) end
end

-- Draws of zeros and ones are those of single numbers, in all layouts.
local function bernoulli_draws(T)
   local p = ({ 0, 1, 0.5, 3 / 2 ^ 32, torch.uniform() })[random(1, 5)]
   local t = sample(T, random(1, 4))
   named(('%s bernoulli %g'):format(T, p))
   local state, drawn = torch.getRNGState(), t:clone():bernoulli(p)
   torch.setRNGState(state)
   check(drawn, t:clone():apply(function() return torch.bernoulli(p) end))
   torch.setRNGState(state)
   check(drawn, t:bernoulli(p))
end

-- The greatest, the least and bounds of whole numbers, also of those that are no doubles; what division leaves.
local function whole_numbers_bounded(T)
   local n, v, w = random(1, 900), random(-9, 9), random(-99, 99)
   local t, s = torch.randn(n):mul(50):type(T), torch.randn(n):mul(50):type(T)
   if T == LONG and random(1, 2) == 1 then t:mul(2 ^ 48):add(s) end
   both_ways(T .. ' bounded', function()
      return torch.cmax(t, s), torch.cmin(t, s), torch.cmax(t, v), torch.cmin(t, v),
         torch.clamp(t, math.min(v, w), math.max(v, w)), t:clone():cmax(s), s:clone():cmin(t, s)
   end)
end

local function cross_products(T)
   local sizes, d = torch.LongStorage(random(1, 4)), nil
   for k = 1, #sizes do sizes[k] = random(1, 4) end
   d = random(1, #sizes)
   sizes[d] = 3
   local function vectors_of(layout)
      local t = torch.randn(sizes):mul(9):type(T)
      if layout == 1 then t:view(-1)[random(1, t:nElement())] = FLOATING[T] and 0 / 0 or 100 end
      return layout == 2 and t:transpose(1, #sizes):clone():transpose(1, #sizes) or t
   end
   local a, b = vectors_of(random(1, 3)), vectors_of(random(1, 3))
   both_ways(T .. ' cross products', function()
      local r = torch.Tensor():type(T)
      return torch.cross(a, b, d), torch.cross(a, b), torch.cross(r, b, a, d), a:clone():cross(b:clone(), d),
         torch.cross(a, a, d)
   end)
   both_ways(T .. ' cross products in place', function()
      local x = a:clone()
      return x.cross(x, x, b, d)
   end)
end

local function divided(T)
   local t = sample(T, random(1, 4)):mul(10 ^ random(0, 9))
   local s, v = torch.randn(t:size()):type(T), ({ 3, -0.7, 1e-3, 0, 1 / 0 })[random(1, 5)]
   both_ways(T .. ' what division leaves', function()
      return torch.fmod(t, v), torch.cfmod(t, s), t:clone():mod(v), t:clone():cmod(s), torch.frac(t), torch.trunc(t),
         t:clone():frac(), 1 / torch.trunc(s), 1 / torch.frac(s)
   end)
end

return {
   { name = 'before_pytorch', types = h.TYPES, run = before_pytorch },
   { name = 'functions_of_many', types = h.REALS, run = functions_of_many },
   { name = 'of_many', types = h.REALS, run = of_many },
   { name = 'element_by_element', types = h.NUMBERS, run = element_by_element },
   { name = 'compared_and_bounded', types = h.REALS, run = compared_and_bounded },
   { name = 'as_other_types', types = h.NUMBERS, run = as_other_types },
   { name = 'bernoulli_draws', types = h.NUMBERS, run = bernoulli_draws },
   { name = 'whole_numbers_bounded', types = h.WHOLE, run = whole_numbers_bounded },
   { name = 'cross_products', types = h.NUMBERS, run = cross_products },
   { name = 'divided', types = h.REALS, run = divided },
}

-- Sums, extrema, sorting and indices along a dimension.
local h = require 'harness'
local tensors_of, DOUBLE, LONG, BYTE, FLOATING, whole_numbers = h.tensors_of, h.DOUBLE, h.LONG, h.BYTE, h.FLOATING,
   h.whole_numbers
local check, both_ways, random, sample, matrix, same_bits = h.check, h.both_ways, h.random, h.sample, h.matrix,
   h.same_bits
local named = h.named

local function along_a_dimension(T, t, d)
   for _, name in ipairs{ 'sum', 'prod', 'max', 'min', 'mean' } do
      if name ~= 'mean' or FLOATING[T] then
         both_ways(('%s %s %d'):format(T, name, d), function() return torch[name](t, d) end)
         if name == 'mean' then
            both_ways(T .. ' norm', function() return t:norm(2, d), t:norm(1, d), t:norm(0, d), t:norm(2.5, d) end)
         end
         both_ways('given results', function()
            local r, l = torch.Tensor(3):type(T), whole_numbers(2, 2)
            if name == 'max' or name == 'min' then return torch[name](r, l, t, d) end
            return torch[name](r, t, d)
         end)
      end
   end
   if FLOATING[T] then
      if t:dim() > 1 then
         local p, most = ({ 1, 2, 3, 0.5 })[random(1, 4)], torch.uniform(0.1, 9)
         both_ways(T .. ' renorm', function() return torch.renorm(t, p, d, most), t:clone():renorm(p, d, most),
            t:norm(p), t:dist(t + 1, p) end)
      end
      local biased = random(1, 2) == 1
      both_ways(T .. ' variances and running sums', function()
         local part = torch.randn(t:size()):type(T):transpose(1, t:dim())
         return t:var(d, biased), t:std(d, biased), t:cumsum(d), t:cumprod(d), t:var(biased), t:std(biased),
            torch.cumsum(t:clone(), t, d),
            part:transpose(1, t:dim()):cumsum(t, d)
      end)
   end
   if t:dim() <= 3 then
      local places = torch.LongTensor():resize(t:size()):type(LONG):random(t:size(d))
      if random(1, 2) == 1 then places = places:narrow(d, 1, random(1, t:size(d))) end
      if random(1, 4) == 1 then places:narrow(1, 1, 1):fill(random(0, 1) * 2 ^ 40) end
      both_ways(T .. ' slices by index', function()
         local n, other = t:size(d), random(1, 4)
         local rows = whole_numbers(other):random(n)
         local sizes = t:size()
         sizes[d] = other
         local s = torch.randn(sizes):type(T)
         local a, b = t:clone(), t:transpose(1, t:dim()):clone():transpose(1, t:dim())
         a:indexAdd(d, rows, s)
         b:indexAdd(d, rows, s)
         b:indexCopy(d, rows, s)
         return a, b, t:index(d, rows)
      end)
      both_ways(T .. ' gather and scatter', function() return t:gather(d, places) end)
      both_ways(T .. ' scatter', function() return t:clone():scatter(d, places, 7) end)
      local different = torch.randperm(t:size(d)):type(LONG)
      local shape = torch.LongStorage(t:dim()):fill(1)
      shape[d] = t:size(d)
      different = different:view(shape):expandAs(t)
      both_ways(T .. ' scatter of a tensor', function()
         return t:clone():scatter(d, different, t:clone():fill(3):add(t)) end)
   end
   local index = whole_numbers(random(1, 7)):random(t:size(d))
   if random(1, 2) == 1 then index = torch.cat(index, index, 2):select(2, 1) end
   both_ways(T .. ' index', function() return t:index(d, index) end)
   for _, wrong in ipairs{ 0, -1, t:size(d) + 1, 2 ^ 52 } do
      index[random(1, index:size(1))] = wrong
      both_ways(T .. ' wrong index', function() return t:index(d, index) end)
   end
end

-- More rows and columns than are taken at a time, in all layouts; with infinite numbers, too.
local function more_along_a_dimension(T)
   local x = matrix(T, random(1, 40), random(1, 40))
   if random(1, 3) == 1 then x = torch.randn(random(1, 5), random(1, 9), random(1, 9)):type(T) end
   if random(1, 4) == 1 then
      x:select(1, random(1, x:size(1))):fill(({ 0, 1 / 0, -1 / 0, 0 / 0, 1e200 })[random(1, 5)])
   end
   if random(1, 6) == 1 then x = x:narrow(1, 1, 1):expand(random(1, 9), unpack(x:size():totable(), 2)) end
   if random(1, 4) == 1 then -- halves of doubles that are those of others, and zeros of both signs
      local high = 0x3ff80000 / 2 ^ 52
      local numbers = { 1, 1.5, 1 + high, 1.5 + high, 0, -0.0 }
      x:apply(function() return numbers[random(1, 6)] end)
   end
   local d = random(1, x:dim())
   both_ways(('%s, %d of more'):format(T, d), function()
      return x:sum(d), x:prod(d), x:mean(d), x:norm(2, d), x:max(d), select(2, x:max(d)), x:min(d), select(2, x:min(d)),
         x:max(), x:min()
   end)
   local indices = torch.LongTensor():resize(x:size()):type(LONG):random(x:size(d))
   if random(1, 3) == 1 then indices = indices:narrow(d, 1, random(1, x:size(d))) end
   if random(1, 6) == 1 then
      indices:narrow(1, 1, 1):narrow(indices:dim(), 1, 1):fill(({ 0, -1, x:size(d) + 1, 2 ^ 31, 2 ^ 32 + 1,
         -2 ^ 40 })[random(1, 6)])
   end
   both_ways(T .. ' gather of more', function() return x:gather(d, indices), x:gather(d, indices:contiguous()),
      x:transpose(1, x:dim()):gather(x:dim() + 1 - d, indices:transpose(1, x:dim())) end)
   local y = torch.randn(x:size()):type(T)
   if FLOATING[T] then
      local other = torch.randn(random(1, 9), x:nElement() / x:size(1)):type(T)
      both_ways(T .. ' match', function() return torch.match(x, other), torch.match(other, x:contiguous(), 0.3),
         torch.match(x, x) end)
   end
   both_ways(T .. ' dot', function() return x:clone():dot(y), y:dot(x), y:transpose(1, 2):dot(y:transpose(1, 2)) end)
end

-- Whole numbers of all types, also such as no double holds, to the last bit.
local function whole_numbers_along_a_dimension()
   local T = tensors_of(({ 'Byte', 'Char', 'Short', 'Int', 'Long' })[random(1, 5)])
   local x = matrix(LONG, random(1, 40), random(1, 40)):random(2 ^ random(1, 31)):add(-random(1, 200)):type(LONG)
   if random(1, 3) == 1 then x = x:mul(2 ^ random(1, 31)) end
   x = x:type(T)
   if random(1, 3) == 1 then x = x:t() end
   if random(1, 3) == 1 then
      x = x:contiguous():view(1, x:size(1), x:size(2)):expand(random(1, 5), x:size(1), x:size(2))
   end
   local function bits(t)
      local whole = t:type('torch.LongTensor'):contiguous()
      local p, all = torch.data(whole), {}
      for i = 1, whole:nElement() do all[i] = tostring(p[i - 1]) end
      return table.concat(all, ' ')
   end
   for d = 1, x:dim() do
      both_ways(('%s, whole numbers along %d'):format(T, d), function()
         local greatest, places = x:max(d)
         local least, places_of_least = x:min(d)
         return bits(x:sum(d)), bits(x:prod(d)), bits(x:cumsum(d)), bits(x:cumprod(d)), bits(greatest), bits(least),
            places, places_of_least,
            bits(torch.cumsum(x:transpose(1, 2):clone():transpose(1, 2), x, d))
      end)
   end
end

-- Along a dimension of a matrix that LuaJIT goes through several rows at a time, and by many indices.
local function rows_of_many(T)
   local rows, columns = random(60, 400), random(60, 140)
   local t = matrix(T, rows, columns):add(3)
   for d = 1, 2 do
      local indices = whole_numbers(rows, columns):random(t:size(d))
      both_ways(T .. ' rows of many', function()
         local sums = { t:sum(d), t:cumsum(d):narrow(d, t:size(d) - 1, 2) }
         if FLOATING[T] then
            for _, name in ipairs{ 'mean', 'std', 'var' } do sums[#sums + 1] = t[name](t, d) end
            sums[#sums + 1] = t:norm(2, d)
            sums[#sums + 1] = t:norm(1, d)
         end
         return unpack(sums)
      end)
      same_bits(T .. ' many indices', function() return { t:gather(d, indices),
         t:index(d, indices:select(3 - d, 1)) } end)
   end
end

-- Slices written at indices, diagonals, triangles, histograms and masks of many.
local function written_and_counted(T)
   local t = sample(T, random(1, 3))
   local d = random(1, t:dim())
   local index = whole_numbers(random(1, 5)):random(t:size(d))
   if random(1, 2) == 1 then index = torch.cat(index, index, 2):select(2, 1) end
   local sizes = t:size()
   sizes[d] = index:size(1)
   local source = torch.randn(sizes):mul(5):type(T)
   if random(1, 2) == 1 and source:dim() > 1 then source = source:transpose(1, 2):clone():transpose(1, 2) end
   local different = torch.randperm(t:size(d)):type(LONG)
   for _, wrong in ipairs{ false, 0, t:size(d) + 1, 2 ^ 52 } do
      if wrong then index[random(1, index:size(1))] = wrong end
      for _, name in ipairs{ 'indexAdd', 'indexFill' } do
         both_ways(('%s %s'):format(T, name), function()
            local r, part = t:clone(), torch.cat(t, t, d):narrow(d, 2, t:size(d))
            r[name](r, d, index, name == 'indexAdd' and source or 3)
            part[name](part, d, index, name == 'indexAdd' and source or 3)
            return r, part
         end)
      end
   end
   both_ways(T .. ' indexCopy', function()
      local r, part = torch.randn(t:size()):type(T), torch.cat(t, t, d):narrow(d, 2, t:size(d))
      r:indexCopy(d, different, t)
      part:indexCopy(d, different, t)
      return r, part
   end)
   local m, k = matrix(T, random(1, 9), random(1, 9)), random(-3, 3)
   both_ways(T .. ' diagonals and triangles', function()
      return m:trace(), m:tril(k), m:triu(k), torch.diag(m:select(random(1, 2), 1), k), m:t():clone():tril(k)
   end)
   both_ways(T .. ' diagonal', function() return torch.diag(m, k), torch.diag(torch.Tensor(2, 2):type(T), m, k) end)
   local n = random(1, 3000)
   local mask, values = torch.rand(n):gt(torch.uniform(-0.1, 1.1)):type(BYTE), torch.randn(n):mul(9):type(T)
   if random(1, 4) == 1 then mask = mask:view(1, n):expand(2, n) values = torch.randn(2, n):type(T) end
   if random(1, 5) == 1 then mask:narrow(mask:dim(), random(1, n), 1):fill(random(1, 3)) end
   both_ways(T .. ' masks of many', function()
      local filled, copied = values:clone(), values:clone():fill(2)
      local done = pcall(filled.maskedFill, filled, mask, 3)
      return mask:all(), mask:any(), mask:double():sum(), done, filled, pcall(copied.maskedCopy, copied, mask, values),
         copied, pcall(values.maskedSelect, values, mask)
   end)
   if FLOATING[T] then
      local low, high = random(-3, 0), random(0, 3)
      both_ways(T .. ' histograms', function()
         return values:histc(), values:histc(7, low, high), m:bhistc(5), m:bhistc(3, low, high),
            torch.zeros(4, 2):type(T):select(2, 1):histc(values, 4)
      end)
   end
end

-- Rows of whole numbers, many of them equal, in the order of numbers that are not whole: Torch7's quicksort compares
-- them alone.
local function equal_numbers(T)
   local n, falling = random(1, 300), random(1, 2) == 1
   local t = matrix(T, random(1, 5), n):random(random(1, n))
   if T ~= BYTE and random(1, 2) == 1 then t:add(-random(1, n)) end
   if FLOATING[T] and random(1, 4) == 1 then t[1][random(1, n)] = ({ 1 / 0, -1 / 0, 0.5, 2 ^ 60 })[random(1, 4)] end
   named(('%s, %d equal numbers'):format(T, n))
   for d = 1, 2 do
      local values, places = t:sort(d, falling)
      local others, of_others = t:type(DOUBLE):mul(0.3):sort(d, falling)
      check(places, of_others)
      check(values:type(DOUBLE):mul(0.3), others)
      check(t:gather(d, places), values)
   end
end

return {
   { name = 'along_a_dimension', types = h.TYPES, run = function(T)
      local t = sample(T, random(1, 4))
      along_a_dimension(T, t, random(1, t:dim()))
   end },
   { name = 'more_along_a_dimension', types = h.REALS, run = more_along_a_dimension },
   { name = 'whole_numbers_along_a_dimension', types = { '' }, run = whole_numbers_along_a_dimension, times = 2 },
   { name = 'rows_of_many', types = h.REALS, run = rows_of_many },
   { name = 'written_and_counted', types = h.TYPES, run = written_and_counted },
   { name = 'equal_numbers', types = h.NUMBERS, run = equal_numbers },
}

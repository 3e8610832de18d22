-- ReLU and LeakyReLU of few elements. Signs are as good as random, so a branch for each element costs more than
-- everything else. Bit operations select the result instead; LuaJIT does not compile them to branches.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'

local count, first_element, is_contiguous, may_overlap = memory.count, memory.first_element, memory.is_contiguous,
   apart.may_overlap
local unit = require('torch.tensor.generator').unit
local band, bor, bnot, arshift, cast = bit.band, bit.bor, bit.bnot, bit.arshift, ffi.cast

local rectifiers = {}

local words, long_words = ffi.typeof('int32_t *'), ffi.typeof('int64_t *')

-- The bits of a negative number, or of a NaN with that sign, are a negative whole number. The function returns all bits
-- set if the number is not above zero, no bits if it is, or for NaN.
local NANS, LONG_NANS = 2 ^ 23 - 1, 2LL ^ 52 - 1 -- how many NaNs are below 0
local function not_above(b) return arshift(bor(band(b, b + NANS), band(bnot(b), b - 1)), 31) end
local function long_not_above(b) return arshift(bor(band(b, b + LONG_NANS), band(bnot(b), b - 1LL)), 63) end
-- The same, but all bits set for NaN.
local INFINITE, LONG_INFINITE = 0x7f800000, 0x7ff0000000000000LL
local function not_positive(b) return arshift(bor(b, b - 1, INFINITE - b), 31) end
local function long_not_positive(b) return arshift(bor(b, b - 1LL, LONG_INFINITE - b), 63) end

-- Functions(p, u, q, k, ...) that write one element, applied to n elements in a loop of four at a time.
local IN_FOURS = [[
   return function(p, u, q, n, get)
      for k = 0, n - 4, 4 do
         compute(p, u, q, k, get)
         compute(p, u, q, k + 1, get)
         compute(p, u, q, k + 2, get)
         compute(p, u, q, k + 3, get)
      end
      for k = n - n % 4, n - 1 do compute(p, u, q, k, get) end
   end
]]
local function in_fours(compute)
   return templates.compile('nn.transfer.luajit.rectifiers', IN_FOURS, { compute = compute })
end

-- p = u where q is above zero, else 0, for n elements; and the same with p = u for NaN.
local choose = in_fours(function(p, u, q, k) p[k] = band(u[k], bnot(not_positive(q[k]))) end)
local choose_long = in_fours(function(p, u, q, k) p[k] = band(u[k], bnot(long_not_positive(q[k]))) end)
local choose_in_place = in_fours(function(p, u, q, k) p[k] = band(u[k], bnot(not_above(q[k]))) end)
local choose_long_in_place = in_fours(function(p, u, q, k) p[k] = band(u[k], bnot(long_not_above(q[k]))) end)

-- p = u where q is above zero, else (also for NaN) slope * u.
local factors = ffi.new('double[2]', 1)
local scale = in_fours(function(p, u, q, k, get) p[k] = get(u, k) * factors[band(not_positive(q[k]), 1)] end)
local scale_long = in_fours(function(p, u, q, k, get) p[k] = get(u, k)
   * factors[tonumber(band(long_not_positive(q[k]), 1LL))] end)

-- Whether r, t and s, of one type, can be traversed in memory order.
local function in_order(r, t, s)
   return t.T == r.T and s.T == r.T and r.T.real and is_contiguous(r) and is_contiguous(t) and is_contiguous(s)
      and not may_overlap(r, t) and not may_overlap(r, s)
end

local function pointers(r, t, s) return r.S.p + r.off, t.S.p + t.off, s.S.p + s.off end

-- Functions as from few.pointwise: r = s where `expression` has Y, else 0. For v = 0 four at a time, with bit
-- operations.
local function thresholds(expression, in_words, in_long_words)
   local of_any = few.pointwise(expression, false, 'OF_LAYER')
   return function(r, t, s, v, n)
      if v ~= 0 or not in_order(r, t, s) then return of_any(r, t, s, v, n) end
      local p, q, u = pointers(r, t, s)
      if r.T.size == 4 then
         in_words(cast(words, p), cast(words, u), cast(words, q), n)
      else
         in_long_words(cast(long_words, p), cast(long_words, u), cast(long_words, q), n)
      end
      return true
   end
end
rectifiers.threshold = thresholds('$x > v and $y or 0', choose, choose_long)
rectifiers.threshold_in_place = thresholds('$x <= v and 0 or $y', choose_in_place, choose_long_in_place)

-- r = s where t is above 0, else v * s.
local leaky = few.pointwise('($x > 0 and 1 or v) * $y', false, 'OF_LAYER')
function rectifiers.leaky(r, t, s, v, n)
   if not in_order(r, t, s) then return leaky(r, t, s, v, n) end
   local p, q, u = pointers(r, t, s)
   factors[1] = v
   if r.T.size == 4 then
      scale(p, u, cast(words, q), n, r.T.get)
   else
      scale_long(p, u, cast(long_words, q), n, r.T.get)
   end
   return true
end

-- r = 1 where x is above 0 (or NaN), else a random number between two bounds, drawn in the order of the elements. Both
-- tensors are contiguous. Any number of elements is computed here, because Torch7's generator is in Lua.
function rectifiers.draw_slopes(r, x, g, lower, upper)
   local n = count(x)
   if r.T ~= x.T or count(r) ~= n or not (is_contiguous(r) and is_contiguous(x)) then
      error('nn.RReLU: noise of the type and sizes of the input expected', 0)
   end
   if n == 0 then return end
   local p, q, get, set, lowest = first_element(r), first_element(x), x.T.get, r.T.set, r.T.cast(lower)
   local range = r.T.cast(upper) - lowest
   for k = 0, n - 1 do set(p, k, get(q, k) <= 0 and unit(g) * range + lowest or 1) end
end

return rectifiers

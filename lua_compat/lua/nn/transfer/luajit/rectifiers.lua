-- ReLU and LeakyReLU of few elements. Signs are as good as random, so a branch for each element costs more than
-- everything else. Bit operations select the result instead; LuaJIT does not compile them to branches.
local ffi = require 'ffi'
local memory = require 'torch.core.memory'
local apart = require 'torch.core.overlap'
local few = require 'torch.luajit.elementwise'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'

local count, first_element, is_contiguous, may_overlap = memory.count, memory.first_element, memory.is_contiguous,
   apart.may_overlap
local unit = require('torch.tensor.generator').unit
local cast = ffi.cast

local rectifiers = {}

-- The bits of a negative number, or of a NaN with that sign, are a negative whole number. Both functions return all
-- bits set if the number with bits b is not above zero, and no bits if it is; for NaN not_above returns none, and
-- not_positive all. Elements are written four at a time.
local LOOP = [[
   local function not_above(b) return arshift(bor(band(b, b + $nans), band(bnot(b), b - $one)), $last) end
   local function not_positive(b) return arshift(bor(b, b - $one, $infinite - b), $last) end
   return function(p, u, q, n, get)
      $fours(k)
   end
]]
-- By the size of a number; nans: how many NaNs are below 0
local BITS = {
   [4] = { last = 31, one = '1', infinite = '0x7f800000', nans = '0x7fffff' },
   [8] = { last = 63, one = '1LL', infinite = '0x7ff0000000000000LL', nans = '0xfffffffffffffLL' },
}
local factors = ffi.new('double[2]', 1)

-- Functions(p, u, q, n, get), by the size of a number: p = a value of u[k] and the bits q[k] for n elements.
local function loops(value)
   local of_size = {}
   for size, bits in pairs(BITS) do
      bits.value, bits.elements = value, '$each($1, ;){p[k + @] = $value(k + @)}'
      of_size[size] = templates.compile('nn.transfer.luajit.rectifiers', LOOP, bits, { factors = factors })
   end
   return of_size
end

-- p = u where q is above zero, else 0; the same with p = u for NaN; p = u where q is above zero, else factors[1] * u.
local choose = loops 'band(u[$1], bnot(not_positive(q[$1])))'
local choose_in_place = loops 'band(u[$1], bnot(not_above(q[$1])))'
local scale = loops 'get(u, $1) * factors[tonumber(band(not_positive(q[$1]), $one))]'

-- Whether r, t and s, of one type, can be traversed in memory order.
local function in_order(r, t, s)
   return t.T == r.T and s.T == r.T and r.T.real and is_contiguous(r) and is_contiguous(t) and is_contiguous(s)
      and not may_overlap(r, t) and not may_overlap(r, s)
end

local function pointers(r, t, s) return r.S.p + r.off, t.S.p + t.off, s.S.p + s.off end

-- Functions as from few.pointwise: r = s where `expression` has Y, else 0. For v = 0 four at a time, with bit
-- operations.
local function thresholds(expression, of_size)
   local of_any = few.pointwise(expression, false, 'OF_LAYER')
   return function(r, t, s, v, n)
      if v ~= 0 or not in_order(r, t, s) then return of_any(r, t, s, v, n) end
      local p, q, u = pointers(r, t, s)
      local cells = types.cells[r.T.size]
      of_size[r.T.size](cast(cells, p), cast(cells, u), cast(cells, q), n)
      return true
   end
end
rectifiers.threshold = thresholds('$x > v and $y or 0', choose)
rectifiers.threshold_in_place = thresholds('$x <= v and 0 or $y', choose_in_place)

-- r = s where t is above 0, else v * s.
local leaky = few.pointwise('($x > 0 and 1 or v) * $y', false, 'OF_LAYER')
function rectifiers.leaky(r, t, s, v, n)
   if not in_order(r, t, s) then return leaky(r, t, s, v, n) end
   local p, q, u = pointers(r, t, s)
   factors[1] = v
   scale[r.T.size](p, u, cast(types.cells[r.T.size], q), n, r.T.get)
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

-- ReLU and LeakyReLU of few elements, as nn/few.lua says. Signs are as good as random, so a branch for each element costs more
-- than all else: bits decide here, of which LuaJIT makes no branch.
local ffi = require 'ffi'
local memory = require 'torch.memory'
local apart = require 'torch.apart'
local few = require 'torch.few'

local is_contiguous, may_overlap = memory.is_contiguous, apart.may_overlap
local band, bor, bnot, arshift, cast = bit.band, bit.bor, bit.bnot, bit.arshift, ffi.cast

local rectifiers = {}

local words, long_words = ffi.typeof('int32_t *'), ffi.typeof('int64_t *')

-- A number's bits are a negative whole number where it is negative, or a NaN with that sign. All bits where it is not above
-- zero, none where it is, or a NaN.
local NANS, LONG_NANS = 2 ^ 23 - 1, 2LL ^ 52 - 1 -- how many there are below 0
local function not_above(b) return arshift(bor(band(b, b + NANS), band(bnot(b), b - 1)), 31) end
local function long_not_above(b) return arshift(bor(band(b, b + LONG_NANS), band(bnot(b), b - 1LL)), 63) end
-- The same, but all bits for a NaN.
local INFINITE, LONG_INFINITE = 0x7f800000, 0x7ff0000000000000LL
local function not_positive(b) return arshift(bor(b, b - 1, INFINITE - b), 31) end
local function long_not_positive(b) return arshift(bor(b, b - 1LL, LONG_INFINITE - b), 63) end

-- p = u where q is above zero, else 0, for n elements.
local function choose(p, u, q, n)
   p, u, q = cast(words, p), cast(words, u), cast(words, q)
   for k = 0, n - 1 do p[k] = band(u[k], bnot(not_above(q[k]))) end
end
local function choose_long(p, u, q, n)
   p, u, q = cast(long_words, p), cast(long_words, u), cast(long_words, q)
   for k = 0, n - 1 do p[k] = band(u[k], bnot(long_not_above(q[k]))) end
end

-- p = u where q is above zero, else (for a NaN, too) slope * u.
local factors = ffi.new('double[2]', 1)
local function scale(p, u, q, n, slope, get)
   q = cast(words, q)
   factors[1] = slope
   for k = 0, n - 1 do p[k] = get(u, k) * factors[band(not_positive(q[k]), 1)] end
end
local function scale_long(p, u, q, n, slope, get)
   q = cast(long_words, q)
   factors[1] = slope
   for k = 0, n - 1 do p[k] = get(u, k) * factors[tonumber(band(long_not_positive(q[k]), 1LL))] end
end

-- Whether r, t and s, of one type, can be computed with in the order in which they lie.
local function in_order(r, t, s)
   return t.T == r.T and s.T == r.T and r.T.real and is_contiguous(r) and is_contiguous(t) and is_contiguous(s)
      and not may_overlap(r, t) and not may_overlap(r, s)
end

local function pointers(r, t, s) return r.S.p + r.off, t.S.p + t.off, s.S.p + s.off end

-- Functions as those of few.pointwise: r = s where t is above v, else 0.
local threshold = few.pointwise('X <= v and 0 or Y')
function rectifiers.threshold(r, t, s, v, n)
   if v ~= 0 or not in_order(r, t, s) then return threshold(r, t, s, v, n) end
   local p, q, u = pointers(r, t, s)
   if r.T.size == 4 then choose(p, u, q, n) else choose_long(p, u, q, n) end
   return true
end

-- r = s where t is above 0, else v * s.
local leaky = few.pointwise('(X > 0 and 1 or v) * Y')
function rectifiers.leaky(r, t, s, v, n)
   if not in_order(r, t, s) then return leaky(r, t, s, v, n) end
   local p, q, u = pointers(r, t, s)
   if r.T.size == 4 then scale(p, u, q, n, v, r.T.get) else scale_long(p, u, q, n, v, r.T.get) end
   return true
end

return rectifiers

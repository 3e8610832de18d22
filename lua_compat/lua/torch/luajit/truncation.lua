-- Real numbers as whole ones, and whole ones of 64 bits as floats, where every processor's way of converting them gives
-- the same: the first bits of all are looked at before, instead of each number (torch/types.lua has what becomes of
-- others).
local ffi = require 'ffi'
local types = require 'torch.core.types'
local compiled = require 'torch.core.templates'

local LOOPS = [[
   local words, cast, band, bxor, arshift, max, tonumber = ...
   local function fit(q, n)
      local w, rest = cast(words, q), n - n % 4
      local a, b, c, d = 0, 0, 0, 0
      for i = 0, rest - 1, 4 do
         local j = STEP * i + STEP - 1
         local k, l, m = j + STEP, j + 2 * STEP, j + 3 * STEP
         a, b, c, d = max(a, SIZE(w[j])), max(b, SIZE(w[k])), max(c, SIZE(w[l])), max(d, SIZE(w[m]))
      end
      for i = rest, n - 1 do a = max(a, SIZE(w[STEP * i + STEP - 1])) end
      return max(max(a, b), max(c, d)) < BOUND
   end
   local function convert(p, q, n)
      local rest = n - n % 4
      for i = 0, rest - 1, 4 do
         p[i], p[i + 1], p[i + 2], p[i + 3] = READ(q[i]), READ(q[i + 1]), READ(q[i + 2]), READ(q[i + 3])
      end
      for i = rest, n - 1 do p[i] = READ(q[i]) end
   end
   return { fit = fit, convert = convert }
]]

-- What is compared of the word with a number's sign, and from which value on a number is too large. For real ones the
-- bits of 2^31, or of 2^63 (NaNs and infinite ones have higher ones), for whole ones those of 2^53: up to there they
-- are doubles.
local function of_real(w) return ('band(%s, 0x7fffffff)'):format(w:sub(2, -2)) end
local function of_whole(w) return ('bxor(%s, arshift(%s, 31))'):format(w:sub(2, -2), w:sub(2, -2)) end
local BOUNDS = {
   Double = { [4] = 0x41e00000, [8] = 0x43e00000 },
   Float = { [4] = 0x4f000000, [8] = 0x5f000000 },
}

local function key_of(R, T) return 16 * R.host.code + T.host.code end

local keys, pairs_of = {}, {} -- of the types written and read
local function add(R, T)
   local key = key_of(R, T)
   keys[#keys + 1] = key
   pairs_of[key] = { R, T }
end
for _, name in ipairs{ 'Byte', 'Char', 'Short', 'Int', 'Long' } do
   add(types[name], types.Double)
   add(types[name], types.Float)
end
add(types.Float, types.Long)

local loops_of = compiled.for_each(keys, function(key)
   local R, T = unpack(pairs_of[key])
   local bound = T.real and BOUNDS[T.name][R.size == 8 and 8 or 4] or 2 ^ 21
   local text = LOOPS:gsub('SIZE(%b())', T.real and of_real or of_whole):gsub('%u%u%u+', {
      STEP = T.size / 4, BOUND = bound, READ = T.real and '' or 'tonumber',
   })
   return compiled.from_text(text, 'torch.luajit.truncation')(ffi.typeof('int32_t*'), ffi.cast, bit.band, bit.bxor,
      bit.arshift, math.max, tonumber)
end)

local truncation = {}

-- Writes the n numbers of type T from q to p, of type R; false, with nothing done, where some are not such numbers.
function truncation.convert(R, T, p, q, n)
   local key = key_of(R, T)
   if not pairs_of[key] then return false end
   local loops = loops_of(key)
   if not loops.fit(q, n) then return false end
   loops.convert(p, q, n)
   return true
end

-- Whether the n whole numbers of type T at q are doubles.
local OF_LONG = key_of(types.Float, types.Long)
function truncation.are_doubles(T, q, n) return T.size < 8 or loops_of(OF_LONG).fit(q, n) end

return truncation

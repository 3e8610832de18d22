-- Real numbers as whole ones, and whole ones of 64 bits as floats, where every processor's way of converting them gives
-- the same: the first bits of all are looked at before, instead of each number (torch/types.lua has what becomes of
-- others).
local ffi = require 'ffi'
local types = require 'torch.core.types'
local templates = require 'torch.core.templates'

local LOOPS = [[
   local function fit(q, n)
      local w, rest = cast(words, q), n - n % 4
      local a, b, c, d = 0, 0, 0, 0
      for i = 0, rest - 1, 4 do
         local j = $step * i + $step - 1
         local k, l, m = j + $step, j + 2 * $step, j + 3 * $step
         a, b, c, d = max(a, $size(w[j])), max(b, $size(w[k])), max(c, $size(w[l])), max(d, $size(w[m]))
      end
      for i = rest, n - 1 do a = max(a, $size(w[$step * i + $step - 1])) end
      return max(max(a, b), max(c, d)) < $bound
   end
   local function convert(p, q, n)
      local rest = n - n % 4
      for i = 0, rest - 1, 4 do
         p[i], p[i + 1], p[i + 2], p[i + 3] = $read(q[i]), $read(q[i + 1]), $read(q[i + 2]), $read(q[i + 3])
      end
      for i = rest, n - 1 do p[i] = $read(q[i]) end
   end
   return { fit = fit, convert = convert }
]]

-- What is compared of the word with a number's sign, and from which value on a number is too large. For real ones the
-- bits of 2^31, or of 2^63 (NaNs and infinite ones have higher ones), for whole ones those of 2^53: up to there they
-- are doubles.
local SIZE_OF_REAL, SIZE_OF_WHOLE = 'band($1, 0x7fffffff)', 'bxor($1, arshift($1, 31))'
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

local loops_of = templates.for_each(keys, function(key)
   local R, T = unpack(pairs_of[key])
   return templates.compile('torch.luajit.truncation', LOOPS, { words = ffi.typeof 'int32_t *', step = T.size / 4,
      bound = T.real and BOUNDS[T.name][R.size == 8 and 8 or 4] or 2 ^ 21, read = T.real and '$1' or 'tonumber($1)',
      size = T.real and SIZE_OF_REAL or SIZE_OF_WHOLE })
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

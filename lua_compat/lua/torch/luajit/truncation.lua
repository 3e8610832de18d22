-- Converts real numbers to whole ones, and 64-bit whole numbers to floats, if all processors give the same results for
-- these numbers. The high bits of all numbers are checked first, instead of each number (core/types.lua handles the
-- others).
local types = require 'torch.core.types'
local templates = require 'torch.core.templates'
local below = require('torch.luajit.finite').below

local LOOP, ELEMENTS = 'return function(p, q, n) $fours(i) end', '$each($1){p[i + @]} = $each($1){$read(q[i + @])}'

-- The bits of a high word from which a number is too large (luajit/finite.lua). For real numbers they are those of 2^31
-- or 2^63 (NaN and infinity have higher ones); for whole numbers those of 2^53, up to which doubles are exact.
local BOUNDS = {
   Double = { [4] = 0x41e00000, [8] = 0x43e00000 },
   Float = { [4] = 0x4f000000, [8] = 0x5f000000 },
}

local function key_of(R, T) return 16 * R.host.code + T.host.code end

local keys, pairs_of = {}, {} -- by the types written and read
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
   return { fit = below(T, T.real and BOUNDS[T.name][R.size == 8 and 8 or 4] or 2 ^ 21),
      convert = templates.compile('torch.luajit.truncation', LOOP, { elements = ELEMENTS,
         read = T.real and '$1' or 'tonumber($1)' }) }
end)

local truncation = {}

-- Converts the n numbers of type T at q to type R at p; false, with nothing done, if some are out of range.
function truncation.convert(R, T, p, q, n)
   local key = key_of(R, T)
   if not pairs_of[key] then return false end
   local loops = loops_of(key)
   if not loops.fit(q, n) then return false end
   loops.convert(p, q, n)
   return true
end

-- Whether the n whole numbers of type T at q are exact as doubles.
local OF_LONG = key_of(types.Float, types.Long)
function truncation.are_doubles(T, q, n) return T.size < 8 or loops_of(OF_LONG).fit(q, n) end

return truncation

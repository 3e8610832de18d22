-- Whether the bits of many numbers show that none is too large. Their high words are compared, four at a time.
local ffi = require 'ffi'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'

local finite = {}

local words = ffi.typeof 'const int32_t *'
local LIMITS = { Float = (127 + 53) * 2 ^ 23, Double = (1023 + 500) * 2 ^ 20 }

local SCAN = [[
   return function(p, n)
      local q, highest0, highest1, highest2, highest3 = cast(words, p) + $step - 1, 0, 0, 0, 0
      $fours(i)
      return max(highest0, highest1, highest2, highest3) < $limit
   end
]]

-- Returns a function(p, n): whether the bits of the high words of n numbers of type T are below a limit. The sign of
-- real numbers is left out; of a whole number below zero they are those of -1 minus it.
local OF_REAL, OF_WHOLE = 'band($1, 0x7fffffff)', 'bxor($1, arshift($1, 31))'
function finite.below(T, limit)
   return templates.compile('torch.luajit.finite', SCAN, { words = words, step = T.size / 4, limit = limit,
      elements = '$each($1, ;){highest@ = max(highest@, $bits(q[(i + @) * $step]))}',
      bits = T.real and OF_REAL or OF_WHOLE })
end

-- By type code: function(p, n), whether n real numbers are finite, and so is the sum of the squares of a million of
-- them: none is above 2^53 (floats) or 2^500 (doubles).
finite.of_type = templates.for_each(types.codes_of_reals, function(code)
   local T = types[code]
   return finite.below(T, LIMITS[T.name])
end)

return finite

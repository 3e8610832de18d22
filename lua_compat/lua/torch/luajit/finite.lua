-- Whether numbers are all finite, and so is the sum of the squares of a million of them: none is above 2^53 (floats) or
-- 2^500 (doubles), which their bits show.
local ffi = require 'ffi'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'

local words = ffi.typeof 'const int32_t *'
local LIMITS = { Float = (127 + 53) * 2 ^ 23, Double = (1023 + 500) * 2 ^ 20 }

-- first, step: the words of a number that hold its exponent.
local SCAN = [[
   return function(p, n)
      local q, highest0, highest1, highest2, highest3 = cast(words, p) + $first, 0, 0, 0, 0
      for i = 0, n - 4, 4 do
         $each(4, ;){highest@ = max(highest@, band(q[(i + @) * $step], 0x7fffffff))}
      end
      for i = n - n % 4, n - 1 do highest0 = max(highest0, band(q[i * $step], 0x7fffffff)) end
      return max(highest0, highest1, highest2, highest3) < $limit
   end
]]

-- By type code: function(p, n) of the n numbers at p.
return templates.for_each(types.codes_of_reals, function(code)
   local T = types[code]
   local step = T.size / 4
   return templates.compile('torch.luajit.finite', SCAN, { words = words, first = step - 1, step = step,
      limit = LIMITS[T.name] })
end)

-- Comparisons without branches, which a processor guesses where what is compared is as good as random: the sign of a
-- difference is looked at. Of real numbers, which are finite, it is written to a cell and read as bits; whole ones are
-- subtracted in 64 bits.
local ffi = require 'ffi'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'

local signs = {}

local HALVES = ffi.abi 'le' and 'low, high' or 'high, low'
local Cell = ffi.typeof(('union { double difference; struct { int32_t %s; }; }'):format(HALVES))

-- How two numbers a and b, the @th of those compared together, are subtracted (step), and 1 or 0 from that: whether a
-- is less; whether they are different. (A difference of real numbers that are not equal is not 0; that of negative zero
-- and 0 may be negative zero, which + 0 is not. One of 64 bits that does not fit has the other sign.)
local REAL = {
   c0 = Cell(), c1 = Cell(), c2 = Cell(), c3 = Cell(),
   x = 'q[i + @]', y = 'u[i + @]', step = 'c@.difference = $a - $b + 0',
   less = 'rshift(c@.high, 31)', different = 'rshift(bor(c@.low, c@.high, 0 - bor(c@.low, c@.high)), 31)',
}
local WHOLE = {
   x = '(q[i + @] + 0LL)', y = '(u[i + @] + 0LL)', step = 'local d@ = $a - $b',
   less = 'rshift(d@, 63)', different = 'rshift(bor(d@, -d@), 63)',
}
local LONG = {
   x = WHOLE.x, y = WHOLE.y, step = 'local a@, b@ = $a, $b local d@ = a@ - b@',
   less = 'rshift(bxor(d@, band(bxor(a@, b@), bxor(d@, a@))), 63)', different = WHOLE.different,
}

-- By relation: what a and b are, and what is 1.
local RELATIONS = {
   ['<'] = { '$x', '$other', '$less' }, ['>='] = { '$x', '$other', 'bxor($less, 1)' },
   ['>'] = { '$other', '$x', '$less' }, ['<='] = { '$other', '$x', 'bxor($less, 1)' },
   ['~='] = { '$x', '$other', '$different' }, ['=='] = { '$x', '$other', 'bxor($different, 1)' },
}

-- All differences are there before any sign is looked at.
local LOOP = [[
   return function(p, q, u, n, v)
      for i = 0, n - 4, 4 do
         $elements(4)
      end
      for i = n - n % 4, n - 1 do
         $elements(1)
      end
   end
]]
local ELEMENTS = '$each($1, ;){$step}; $each($1){p[i + @]} = $each($1){$result}'

-- relation: <, >, ...; other: $y or v. A function(code) that gives one, for elements of that type, (p, q, u, n, v): the
-- n bytes at p become 1 where $x, an element at q, and what it is compared with, v (of 64 bits, for whole numbers) or
-- an element at u, are so, else 0.
function signs.comparison(relation, other)
   return templates.for_each(types.codes_of_numbers, function(code)
      local T = types[code]
      local a, b, result = unpack(RELATIONS[relation])
      return templates.compile('torch.luajit.branchless_comparisons', LOOP, { elements = ELEMENTS, a = a, b = b,
         result = result, other = other }, T.real and REAL or T.size == 8 and LONG or WHOLE)
   end)
end

return signs

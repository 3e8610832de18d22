-- Comparisons without branches, because a processor mispredicts branches on random data. They use the sign of a
-- difference. For real numbers, which must be finite, it is stored and read back as bits; whole numbers are subtracted
-- in 64 bits.
local ffi = require 'ffi'
local templates = require 'torch.core.templates'
local types = require 'torch.core.types'

local signs = {}

local HALVES = ffi.abi 'le' and 'low, high' or 'high, low'
local Cell = ffi.typeof(('union { double difference; struct { int32_t %s; }; }'):format(HALVES))

-- How the @th pair of numbers a and b is subtracted (step), and how the difference gives 1 or 0: for a < b, and for a
-- ~= b. (The difference of unequal real numbers is not 0. That of -0 and 0 may be -0, and adding 0 removes the sign. A
-- 64-bit difference that overflows has the wrong sign.)
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

-- By comparison operator: the operands, and which result is 1.
local RELATIONS = {
   ['<'] = { '$x', '$other', '$less' }, ['>='] = { '$x', '$other', 'bxor($less, 1)' },
   ['>'] = { '$other', '$x', '$less' }, ['<='] = { '$other', '$x', 'bxor($less, 1)' },
   ['~='] = { '$x', '$other', '$different' }, ['=='] = { '$x', '$other', 'bxor($different, 1)' },
}

-- All differences are computed before any sign is read.
local LOOP = 'return function(p, q, u, n, v) $fours(i) end'
local ELEMENTS = '$each($1, ;){$step}; $each($1){p[i + @]} = $each($1){$result}'

-- relation: '<', '>', ...; other: '$y' or 'v'. Returns a function of a type code, which returns the function (p, q, u,
-- n, v) for elements of that type: each of the n bytes at p becomes 1 if the element at q ($x) is in that relation to
-- the element at u, or to v (of 64 bits, for whole numbers), else 0.
function signs.comparison(relation, other)
   return templates.for_each(types.codes_of_numbers, function(code)
      local T = types[code]
      local a, b, result = unpack(RELATIONS[relation])
      return templates.compile('torch.luajit.branchless_comparisons', LOOP, { elements = ELEMENTS, a = a, b = b,
         result = result, other = other }, T.real and REAL or T.size == 8 and LONG or WHOLE)
   end)
end

return signs

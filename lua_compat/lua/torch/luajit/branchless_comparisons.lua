-- Comparisons without branches, which a processor guesses where what is compared is as good as random: the sign of a
-- difference is looked at. Of real numbers, which are finite, it is written to a cell and read as bits; whole ones are
-- subtracted in 64 bits.
local ffi = require 'ffi'
local compiled = require 'torch.core.templates'
local types = require 'torch.core.types'

local rshift, band, bor, bxor = bit.rshift, bit.band, bit.bor, bit.bxor

local signs = {}

local HALVES = ffi.abi 'le' and 'low, high' or 'high, low'
local Cell = ffi.typeof(('union { double difference; struct { int32_t %s; }; }'):format(HALVES))

-- How two numbers A and B, the @th of those compared together, are subtracted (STEP), and 1 or 0 from that: whether A
-- is LESS; whether they are DIFFERENT. (A difference of real numbers that are not equal is not 0; that of negative zero
-- and 0 may be negative zero, which + 0 is not. One of 64 bits that does not fit has the other sign.)
local REAL = {
   STEP = 'c@.difference = A - B + 0',
   LESS = 'rshift(c@.high, 31)', DIFFERENT = 'rshift(bor(c@.low, c@.high, 0 - bor(c@.low, c@.high)), 31)',
}
local WHOLE = {
   STEP = 'local d@ = A - B',
   LESS = 'rshift(d@, 63)', DIFFERENT = 'rshift(bor(d@, -d@), 63)',
}
local LONG = {
   STEP = 'local a@, b@ = A, B local d@ = a@ - b@',
   LESS = 'rshift(bxor(d@, band(bxor(a@, b@), bxor(d@, a@))), 63)', DIFFERENT = WHOLE.DIFFERENT,
}

-- By relation: what A and B are, and what of them is 1; or 0, where the opposite is asked for.
local RELATIONS = {
   ['<'] = { 'X', 'OTHER', 'LESS' }, ['>='] = { 'X', 'OTHER', 'LESS', true },
   ['>'] = { 'OTHER', 'X', 'LESS' }, ['<='] = { 'OTHER', 'X', 'LESS', true },
   ['~='] = { 'X', 'OTHER', 'DIFFERENT' }, ['=='] = { 'X', 'OTHER', 'DIFFERENT', true },
}

local SOURCE = [[
   local rshift, band, bor, bxor, c0, c1, c2, c3 = ...
   return function(p, q, u, n, v)
      for i = 0, n - 4, 4 do
         FOUR
      end
      for i = n - n % 4, n - 1 do
         ONE
      end
   end
]]

-- The comparison of so many elements from i on: all differences are there before any sign is looked at.
local function of_elements(relation, other, count, T)
   local kind = T.real and REAL or T.size == 8 and LONG or WHOLE
   local a, b, asked, opposite = unpack(RELATIONS[relation])
   local read = T.real and '%s[i + @]' or '(%s[i + @] + 0LL)'
   local parts = { X = read:format 'q', OTHER = other == 'Y' and read:format 'u' or 'v' }
   local step = kind.STEP:gsub('%f[%w][AB]%f[%W]', { A = parts[a], B = parts[b] })
   local result = (opposite and 'bxor(%s, 1)' or '%s'):format(kind[asked])
   local lines, targets, values = {}, {}, {}
   for k = 0, count - 1 do
      lines[k + 1], targets[k + 1], values[k + 1] = step:gsub('@', k), ('p[i + %d]'):format(k), result:gsub('@', k)
   end
   lines[count + 1] = table.concat(targets, ', ') .. ' = ' .. table.concat(values, ', ')
   return table.concat(lines, '\n')
end

-- relation: <, >, ...; other: Y or v. A function(code) that gives one, for elements of that type, (p, q, u, n, v): the
-- n bytes at p become 1 where X, an element at q, and what it is compared with, v (of 64 bits, for whole numbers) or an
-- element at u, are so, else 0.
function signs.comparison(relation, other)
   return compiled.for_each(types.codes_of_numbers, function(code)
      local T = types[code]
      local parts = { FOUR = of_elements(relation, other, 4, T), ONE = of_elements(relation, other, 1, T) }
      return compiled.from_text(SOURCE:gsub('%u%u%u+', parts), 'torch.luajit.branchless_comparisons')(rshift, band, bor,
         bxor, Cell(), Cell(), Cell(), Cell())
   end)
end

return signs

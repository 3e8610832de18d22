-- Comparisons of finite numbers, without branches, which a processor guesses where what is compared is as good as random: of each
-- difference, which is written to a cell, the first bit is looked at.
local ffi = require 'ffi'
local compiled = require 'torch.compiled'
local types = require 'torch.types'

local rshift, bor, bxor = bit.rshift, bit.bor, bit.bxor

local signs = {}

-- 1 or 0 from the halves of a difference's cell: whether it is less than 0; whether it is not 0. (A difference of numbers that are not equal is
-- not 0; that of negative zero and 0 may be negative zero, which + 0 is not.)
local NEGATIVE, DIFFERENT = 'rshift(CELL.high, 31)', 'rshift(bor(CELL.low, CELL.high, 0 - bor(CELL.low, CELL.high)), 31)'
local function opposite(bit) return ('bxor(%s, 1)'):format(bit) end

-- By relation: a difference of X and what it is compared with, and 1 or 0 from its cell.
local X_MINUS_OTHER, OTHER_MINUS_X = 'X - OTHER + 0', 'OTHER - X + 0'
local RELATIONS = {
   ['<'] = { X_MINUS_OTHER, NEGATIVE }, ['>='] = { X_MINUS_OTHER, opposite(NEGATIVE) },
   ['>'] = { OTHER_MINUS_X, NEGATIVE }, ['<='] = { OTHER_MINUS_X, opposite(NEGATIVE) },
   ['~='] = { X_MINUS_OTHER, DIFFERENT }, ['=='] = { X_MINUS_OTHER, opposite(DIFFERENT) },
}

local HALVES = ffi.abi 'le' and 'low, high' or 'high, low'
local Cell = ffi.typeof(('union { double difference; struct { int32_t %s; }; }'):format(HALVES))

local SOURCE = [[
   local rshift, bor, bxor, c0, c1, c2, c3 = ...
   return function(p, q, u, n, v)
      for i = 0, n - 4, 4 do
         FOUR
      end
      for i = n - n % 4, n - 1 do
         ONE
      end
   end
]]

-- The comparison of so many elements from i on: all differences are in their cells before any bit is looked at.
local function of_elements(relation, other, count)
   local difference, result = unpack(RELATIONS[relation])
   local lines, targets, values = {}, {}, {}
   for k = 0, count - 1 do
      local value = difference:gsub('OTHER', other):gsub('%f[%w][XY]%f[%W]', { X = ('q[i + %d]'):format(k), Y = ('u[i + %d]'):format(k) })
      lines[k + 1] = ('c%d.difference = %s'):format(k, value)
      targets[k + 1], values[k + 1] = ('p[i + %d]'):format(k), result:gsub('CELL', 'c' .. k)
   end
   lines[count + 1] = table.concat(targets, ', ') .. ' = ' .. table.concat(values, ', ')
   return table.concat(lines, '\n')
end

-- relation: <, >, ...; other: Y or v. A function(size) that gives one, for real elements of so many bytes, (p, q, u, n, v): the n bytes at p
-- become 1 where X, an element at q, and what it is compared with, v or an element at u, are so, else 0. All are finite.
function signs.comparison(relation, other)
   return compiled.for_each(types.real_sizes, function()
      local parts = { FOUR = of_elements(relation, other, 4), ONE = of_elements(relation, other, 1) }
      return compiled.from_text(SOURCE:gsub('%u%u%u+', parts), 'torch.few')(rshift, bor, bxor, Cell(), Cell(), Cell(), Cell())
   end)
end

return signs

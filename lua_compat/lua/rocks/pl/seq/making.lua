-- Sequences from tables, numbers and random numbers; and predicates for them.
local utils = require 'pl.utils'
local assert_arg = utils.assert_arg

local making = {}

function making.greater_than(x) return function(value) return tonumber(value) > x end end
function making.less_than(x) return function(value) return tonumber(value) < x end end
function making.equal_to(x)
   if type(x) == 'number' then return function(value) return tonumber(value) == x end end
   return function(value) return value == x end
end
function making.matching(pattern) return function(value) return value:find(pattern) end end

function making.list(t)
   assert_arg(1, t, 'table')
   if #t == 0 then return function() end end
   local i = 0
   return function()
      i = i + 1
      return t[i]
   end
end

function making.keys(t)
   assert_arg(1, t, 'table')
   local key
   return function()
      key = next(t, key)
      return key
   end
end

-- A table becomes the sequence of its elements; a callable is a sequence already.
function making.iter(sequence)
   if type(sequence) == 'table' and not (getmetatable(sequence) or {}).__call then return making.list(sequence) end
   return sequence
end

function making.range(start, finish)
   local x = start - 1
   return function()
      x = x + 1
      if x <= finish then return x end
   end
end

-- n numbers from math.random(low, high).
function making.random(n, low, high)
   assert(type(n) == 'number')
   local drawn = 0
   return function()
      if drawn >= n then return end
      drawn = drawn + 1
      if high then return math.random(low, high) end
      if low then return math.random(low) end
      return math.random()
   end
end

return making

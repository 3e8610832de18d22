-- Sequences derived from other sequences.
local making = require 'pl.seq.making'
local collecting = require 'pl.seq.collecting'
local utils = require 'pl.utils'
local iter, function_arg = making.iter, utils.function_arg

local changing = {}

function changing.sort(sequence, less)
   local values = collecting.copy(sequence)
   table.sort(values, less)
   return making.list(values)
end

function changing.zip(first, second)
   first, second = iter(first), iter(second)
   return function() return first(), second() end
end

function changing.unique(sequence, as_table)
   local values = {}
   for value in pairs(collecting.count_map(sequence)) do values[#values + 1] = value end
   table.sort(values)
   return as_table and values or making.list(values)
end

-- Concatenates two sequences.
function changing.splice(first, second)
   first, second = iter(first), iter(second)
   local current = first
   return function()
      local value = current()
      if value == nil and current == first then
         current = second
         value = current()
      end
      return value
   end
end

-- f receives both values of a sequence of pairs, or the first value and the argument.
function changing.map(f, sequence, argument)
   f = function_arg(1, f)
   sequence = iter(sequence)
   return function()
      local a, b = sequence()
      if a == nil then return nil end
      if argument ~= nil then b = argument end
      return f(a, b)
   end
end

function changing.filter(sequence, predicate, argument)
   predicate = function_arg(2, predicate)
   sequence = iter(sequence)
   return function()
      while true do
         local a, b = sequence()
         if a == nil then return nil end
         local second = b
         if argument ~= nil then second = argument end
         if predicate(a, second) then return a, b end
      end
   end
end

function changing.take(sequence, n)
   sequence = iter(sequence)
   local taken = 0
   return function()
      taken = taken + 1
      if taken <= n then return sequence() end
   end
end

function changing.skip(sequence, n)
   sequence = iter(sequence)
   for _ = 1, n or 1 do
      if sequence() == nil then return making.list{} end
   end
   return sequence
end

function changing.enum(sequence)
   sequence = iter(sequence)
   local i = 0
   return function()
      local a, b = sequence()
      if a == nil then return nil end
      i = i + 1
      return i, a, b
   end
end

function changing.mapmethod(sequence, name, first, second)
   sequence = iter(sequence)
   return function()
      local object = sequence()
      if not object then return nil end
      local method = object[name]
      if not method then error(type(object) .. ' does not have method ' .. name) end
      return method(object, first, second)
   end
end

-- Pairs each value with the one before it.
function changing.last(sequence)
   sequence = iter(sequence)
   local value = sequence()
   if value == nil then return making.list{} end
   return function()
      local before
      before, value = value, sequence()
      if value == nil then return nil end
      return value, before
   end
end

return changing

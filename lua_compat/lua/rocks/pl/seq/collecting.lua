-- Results computed from all values of a sequence.
local making = require 'pl.seq.making'
local utils = require 'pl.utils'
local iter, function_arg = making.iter, utils.function_arg

local collecting = {}

local function of_class(t, name) return setmetatable(t, require('pl.' .. name)) end

function collecting.count(sequence, predicate, argument)
   local n = 0
   predicate = function_arg(2, predicate)
   for value in iter(sequence) do
      if predicate(value, argument) then n = n + 1 end
   end
   return n
end

function collecting.minmax(sequence)
   local least, most = 1e70, -1e70
   for value in iter(sequence) do
      value = tonumber(value)
      if value < least then least = value end
      if value > most then most = value end
   end
   return least, most
end

-- The sum and the number of values; f is applied to each.
function collecting.sum(sequence, f)
   local sum, n = 0, 0
   for value in iter(sequence) do
      if f then value = f(value) end
      sum = sum + value
      n = n + 1
   end
   return sum, n
end

function collecting.copy(sequence)
   local values = {}
   for value in iter(sequence) do values[#values + 1] = value end
   return of_class(values, 'List')
end

function collecting.copy2(sequence, state, control)
   local pairs_of_values = {}
   for a, b in iter(sequence), state, control do pairs_of_values[#pairs_of_values + 1] = { a, b } end
   return pairs_of_values
end

function collecting.copy_tuples(sequence)
   sequence = iter(sequence)
   local tuples = {}
   local tuple = { sequence() }
   while tuple[1] do
      tuples[#tuples + 1] = tuple
      tuple = { sequence() }
   end
   return tuples
end

function collecting.count_map(sequence)
   local counts = {}
   for value in iter(sequence) do counts[value] = (counts[value] or 0) + 1 end
   return of_class(counts, 'Map')
end

function collecting.reduce(f, sequence, start)
   f = function_arg(1, f)
   local next_value = iter(sequence)
   local result = start
   if result == nil then result = next_value() end
   if result == nil then return nil end
   for value in next_value do result = f(result, value) end
   return result
end

function collecting.foreach(sequence, f)
   f = function_arg(2, f)
   for a, b, c in iter(sequence) do f(a, b, c) end
end

-- Prints the values with a separator and `per_line` (default 7) on a line; format: for string.format.
function collecting.printall(sequence, separator, per_line, format)
   separator = separator or ' '
   per_line = per_line or (separator == '\n' and math.huge or 7)
   local on_line = 0
   for value in iter(sequence) do
      on_line = on_line + 1
      local is_last = on_line >= per_line
      io.write(format and format:format(value) or value, is_last and '\n' or separator)
      if is_last then on_line = 0 end
   end
   io.write('\n')
end

return collecting

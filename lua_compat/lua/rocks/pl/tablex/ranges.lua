-- Ranges of numbers, and of the indices of arrays.
local check = require 'pl.tablex.arguments'
local types = require 'pl.types'
local utils = require 'pl.utils'

local ranges = { _normalize_slice = check.slice }

-- Like a numerical for.
function ranges.range(start, finish, step)
   local numbers = {}
   for x = start, finish, step or 1 do numbers[#numbers + 1] = x end
   return check.of_class(numbers, 'List')
end

function ranges.sub(t, first, last)
   check.indexable(1, t)
   first, last = check.slice(t, first, last)
   local part = {}
   for i = first, last do part[#part + 1] = t[i] end
   return check.like(part, t, 'List')
end

function ranges.set(t, value, first, last)
   check.indexable(1, t)
   first, last = first or 1, last or #t
   local f = types.is_callable(value) and value
   for i = first, last do
      if f then t[i] = f(i) else t[i] = value end
   end
end

function ranges.new(n, value)
   local made = {}
   ranges.set(made, value, 1, n)
   return made
end

function ranges.clear(t, start)
   for i = #t, start or 1, -1 do t[i] = nil end
end

function ranges.removevalues(t, first, last)
   utils.assert_arg(1, t, 'table')
   first, last = check.slice(t, first, last)
   for _ = first, last do table.remove(t, first) end
   return t
end

return ranges

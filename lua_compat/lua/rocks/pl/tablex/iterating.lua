-- Loops over tables.
local check = require 'pl.tablex.arguments'

local iterating = {}

function iterating.foreach(t, f, ...)
   check.iterable(1, t)
   f = check.callable(1, f)
   for key, value in pairs(t) do f(value, key, ...) end
end

function iterating.foreachi(t, f, ...)
   check.indexable(1, t)
   f = check.callable(1, f)
   for i = 1, #t do f(t[i], i, ...) end
end

local function in_order(t, keys)
   local i = 0
   return function()
      i = i + 1
      return keys[i], t[keys[i]]
   end
end

local function keys_of(t)
   local keys = {}
   for key in pairs(t) do keys[#keys + 1] = key end
   return keys
end

-- Iterates over a table in the order of its keys.
function iterating.sort(t, less)
   local keys = keys_of(t)
   if less then less = check.callable(2, less) end
   table.sort(keys, less)
   return in_order(t, keys)
end

-- Iterates over a table in the order of its values.
function iterating.sortv(t, less)
   less = check.callable(2, less or '<')
   local keys = keys_of(t)
   table.sort(keys, function(a, b) return less(t[a], t[b]) end)
   return in_order(t, keys)
end

return iterating

-- Keys and values, sets, unions and differences.
local check = require 'pl.tablex.arguments'

local merging = {}

function merging.size(t)
   check.iterable(1, t)
   local n = 0
   for _ in pairs(t) do n = n + 1 end
   return n
end

function merging.keys(t)
   check.iterable(1, t)
   local keys = {}
   for key in pairs(t) do keys[#keys + 1] = key end
   return check.of_class(keys, 'List')
end

function merging.values(t)
   check.iterable(1, t)
   local values = {}
   for _, value in pairs(t) do values[#values + 1] = value end
   return check.of_class(values, 'List')
end

-- The positions of values; a list of them if there are several.
function merging.index_map(t)
   check.indexable(1, t)
   local places = {}
   for i = 1, #t do
      local before = places[t[i]]
      if not before then
         places[t[i]] = i
      elseif type(before) == 'table' then
         before[#before + 1] = i
      else
         places[t[i]] = { before, i }
      end
   end
   return check.of_class(places, 'Map')
end

function merging.makeset(t)
   check.indexable(1, t)
   local set = {}
   for i = 1, #t do set[t[i]] = true end
   return check.of_class(set, 'Set')
end

-- The union (all) or the intersection of two tables.
function merging.merge(a, b, all)
   check.iterable(1, a)
   check.iterable(2, b)
   local merged = {}
   for key, value in pairs(a) do
      if all or b[key] ~= nil then merged[key] = value end
   end
   if all then
      for key, value in pairs(b) do merged[key] = value end
   end
   return check.like(merged, a, 'Map')
end

function merging.union(a, b) return merging.merge(a, b, true) end
function merging.intersection(a, b) return merging.merge(a, b, false) end

function merging.difference(a, b, symmetric)
   check.iterable(1, a)
   check.iterable(2, b)
   local left = {}
   for key, value in pairs(a) do
      if b[key] == nil then left[key] = value end
   end
   if symmetric then
      for key, value in pairs(b) do
         if a[key] == nil then left[key] = value end
      end
   end
   return check.like(left, a, 'Map')
end

return merging

-- Applies functions to the values of tables.
local check = require 'pl.tablex.arguments'
local utils = require 'pl.utils'

local mapping = {}

function mapping.map(f, t, ...)
   check.iterable(1, t)
   f = check.callable(1, f)
   local results = {}
   for key, value in pairs(t) do results[key] = f(value, ...) end
   return check.like(results, t)
end

function mapping.imap(f, t, ...)
   check.indexable(1, t)
   f = check.callable(1, f)
   local results = {}
   for i = 1, #t do results[i] = f(t[i], ...) or false end
   return check.like(results, t, 'List')
end

function mapping.map_named_method(name, t, ...)
   utils.assert_string(1, name)
   check.indexable(2, t)
   local results = {}
   for i = 1, #t do
      local object = t[i]
      local fun = object[name]
      results[i] = fun(object, ...)
   end
   return check.like(results, t, 'List')
end

function mapping.transform(f, t, ...)
   check.iterable(1, t)
   f = check.callable(1, f)
   for key, value in pairs(t) do t[key] = f(value, ...) end
end

function mapping.map2(f, a, b, ...)
   check.iterable(1, a)
   check.iterable(2, b)
   f = check.callable(1, f)
   local results = {}
   for key, value in pairs(a) do results[key] = f(value, b[key], ...) end
   return check.like(results, a, 'List')
end

function mapping.imap2(f, a, b, ...)
   check.indexable(2, a)
   check.indexable(3, b)
   f = check.callable(1, f)
   local results = {}
   for i = 1, math.min(#a, #b) do results[i] = f(a[i], b[i], ...) end
   return results
end

function mapping.mapn(f, ...)
   f = check.callable(1, f)
   local lists, n = { ... }, select('#', ...)
   local shortest = n == 0 and 0 or math.huge
   for i = 1, n do shortest = math.min(shortest, #lists[i]) end
   local results = {}
   for i = 1, shortest do
      local values = {}
      for j = 1, n do values[j] = lists[j][i] end
      results[#results + 1] = f(unpack(values, 1, n))
   end
   return results
end

function mapping.zip(...)
   return mapping.mapn(function(...) return { ... } end, ...)
end

-- f(key, value) returns a value and optionally a key; several values for one key become a list.
function mapping.pairmap(f, t, ...)
   check.iterable(1, t)
   f = check.callable(1, f)
   local results = {}
   for key, value in pairs(t) do
      local new, place = f(key, value, ...)
      if not place then
         results[#results + 1] = new
      elseif results[place] == nil then
         results[place] = new
      elseif type(results[place]) == 'table' then
         table.insert(results[place], new)
      else
         results[place] = { results[place], new }
      end
   end
   return results
end

function mapping.reduce(f, t, start)
   check.indexable(2, t)
   f = check.callable(1, f)
   local n = #t
   if n == 0 then return start end
   local result, first = start, 1
   if not start then result, first = t[1], 2 end
   for i = first, n do result = f(result, t[i]) end
   return result
end

function mapping.filter(t, predicate, argument)
   check.indexable(1, t)
   predicate = check.callable(2, predicate)
   local kept = {}
   for i = 1, #t do
      if predicate(t[i], argument) then kept[#kept + 1] = t[i] end
   end
   return check.like(kept, t, 'List')
end

-- How often each value occurs; same: the function that decides equality.
function mapping.count_map(t, same)
   check.indexable(1, t)
   local counts = {}
   if not same then
      for i = 1, #t do counts[t[i]] = (counts[t[i]] or 0) + 1 end
      return check.of_class(counts, 'Map')
   end
   same = check.callable(2, same)
   local counted = {}
   for i = 1, #t do
      local value = t[i]
      if not counted[value] then
         local n = 1
         for j = i + 1, #t do
            if same(value, t[j]) then
               n = n + 1
               counted[t[j]] = true
            end
         end
         counted[value], counts[value] = true, n
      end
   end
   return check.of_class(counts, 'Map')
end

return mapping

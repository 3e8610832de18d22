-- Searches in tables.
local check = require 'pl.tablex.arguments'

local finding = {}

function finding.find(t, value, start)
   check.indexable(1, t)
   start = start or 1
   if start < 0 then start = #t + start + 1 end
   for i = start, #t do
      if t[i] == value then return i end
   end
   return nil
end

function finding.rfind(t, value, start)
   check.indexable(1, t)
   start = start or #t
   if start < 0 then start = #t + start + 1 end
   for i = start, 1, -1 do
      if t[i] == value then return i end
   end
   return nil
end

-- The first key whose value satisfies a predicate, and the predicate's result.
function finding.find_if(t, predicate, argument)
   check.iterable(1, t)
   predicate = check.callable(2, predicate)
   for key, value in pairs(t) do
      local found = predicate(value, argument)
      if found then return key, found end
   end
   return nil
end

function finding.index_by(t, keys)
   check.indexable(1, t)
   check.indexable(2, keys)
   local values = {}
   for i = 1, #keys do values[i] = t[keys[i]] end
   return check.like(values, t, 'List')
end

-- Depth first; each table is searched once.
local function path_to(t, value, seen)
   for key, field in pairs(t) do
      if field == value then return key end
   end
   for key, field in pairs(t) do
      if type(field) == 'table' and not seen[field] then
         seen[field] = true
         local rest = path_to(field, value, seen)
         if rest then return type(key) == 'string' and key .. '.' .. rest or '[' .. key .. ']' .. rest end
      end
   end
end

-- The name of a value within a table, such as 'math.sin'; excluded: tables that are not searched.
function finding.search(t, value, excluded)
   check.iterable(1, t)
   local seen = { [t] = true }
   for _, table_to_skip in pairs(excluded or {}) do seen[table_to_skip] = true end
   return path_to(t, value, seen)
end

return finding

-- Copies of tables, and of parts of arrays.
local check = require 'pl.tablex.arguments'
local utils = require 'pl.utils'

local copying = {}

function copying.update(into, from)
   check.writeable(1, into)
   check.iterable(2, from)
   for key, value in pairs(from) do into[key] = value end
   return into
end

function copying.copy(t)
   check.iterable(1, t)
   local copied = {}
   for key, value in pairs(t) do copied[key] = value end
   return copied
end

-- made: the copy of each table found so far.
local function deep(value, made)
   if type(value) ~= 'table' then return value end
   if made[value] then return made[value] end
   check.iterable(1, value)
   local copied = {}
   made[value] = copied
   for key, field in pairs(value) do copied[deep(key, made)] = deep(field, made) end
   return setmetatable(copied, getmetatable(value))
end

function copying.deepcopy(t) return deep(t, {}) end

-- Copies n elements; an array copied onto itself is read before it is overwritten.
local function copy_elements(into, from, to_place, from_place, n, clear_rest)
   to_place, from_place = to_place or 1, from_place or 1
   n = math.min(n or #from, #from - from_place + 1)
   if into == from and to_place > from_place then
      for i = n - 1, 0, -1 do into[to_place + i] = from[from_place + i] end
   else
      for i = 0, n - 1 do into[to_place + i] = from[from_place + i] end
   end
   if clear_rest then
      for i = #into, to_place + math.max(n, 0), -1 do into[i] = nil end
   end
   return into
end

function copying.icopy(into, from, to_place, from_place, n)
   check.indexable(1, into)
   check.indexable(2, from)
   return copy_elements(into, from, to_place, from_place, n, true)
end

function copying.move(into, from, to_place, from_place, n)
   check.indexable(1, into)
   check.indexable(2, from)
   return copy_elements(into, from, to_place, from_place, n, false)
end

-- insertvalues(t, [place,] values)
function copying.insertvalues(t, ...)
   utils.assert_arg(1, t, 'table')
   local place, values = ...
   if select('#', ...) == 1 then place, values = #t + 1, place end
   local n = #values
   if n == 0 then return t end
   for i = #t, place, -1 do t[i + n] = t[i] end
   for i = 1, n do t[place + i - 1] = values[i] end
   return t
end

function copying.readonly(t)
   return setmetatable({}, {
      __index = t,
      __newindex = function() error('Attempt to modify read-only table', 2) end,
      __pairs = function() return pairs(t) end,
      __ipairs = function() return ipairs(t) end,
      __len = function() return #t end,
      __metatable = false,
   })
end

return copying

-- pl.Set: sets, tables whose keys are the elements. Their methods are functions of Set only, because fields are
-- elements.
local Map = require 'pl.Map'
local class = require 'pl.class'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local Set = class(Map, nil, utils.stdmt.Set)
Set.__index = nil

local function of_elements(elements) return setmetatable(elements, Set) end

local function is_set(value)
   local metatable = getmetatable(value)
   return metatable == Set or metatable == Map
end

-- Creates a set from a set, the keys of a map, or a list.
function Set:_init(source)
   source = source or {}
   if is_set(source) then
      for element in pairs(source) do self[element] = true end
   else
      for _, element in ipairs(source) do self[element] = true end
   end
end

function Set:__tostring() return '[' .. table.concat(utils.array_tostring(Set.values(self)), ',') .. ']' end

Set.values = Map.keys
Set.len, Set.__len = tablex.size, tablex.size

function Set.map(self, f, ...)
   f = utils.function_arg(1, f)
   local results = {}
   for element in pairs(self) do results[f(element, ...)] = true end
   return of_elements(results)
end

function Set.union(self, other) return of_elements(tablex.merge(self, other, true)) end
function Set.intersection(self, other) return of_elements(tablex.merge(self, other, false)) end
function Set.difference(self, other) return of_elements(tablex.difference(self, other, false)) end
function Set.symmetric_difference(self, other) return of_elements(tablex.difference(self, other, true)) end

-- + and - also accept a single element.
function Set.__add(self, other)
   if is_set(other) then return Set.union(self, other) end
   local larger = Set(self)
   larger[other] = true
   return larger
end
function Set.__sub(self, other)
   if is_set(other) then return Set.difference(self, other) end
   local smaller = Set(self)
   smaller[other] = nil
   return smaller
end
Set.__mul, Set.__pow = Set.intersection, Set.symmetric_difference

function Set.issubset(self, other)
   for element in pairs(self) do
      if not other[element] then return false end
   end
   return true
end
Set.__lt = Set.issubset
function Set.__eq(a, b) return Set.issubset(a, b) and Set.issubset(b, a) end

function Set.isempty(self) return next(self) == nil end
function Set.isdisjoint(a, b) return Set.isempty(Set.intersection(a, b)) end

return Set

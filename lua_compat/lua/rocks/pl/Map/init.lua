-- pl.Map: tables of keys and values.
local class = require 'pl.class'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local stdmt = utils.stdmt
local Map = class(nil, nil, stdmt.Map)

-- A plain table becomes the map itself; sets and maps are copied.
function Map:_init(source)
   local metatable = getmetatable(source)
   if metatable ~= stdmt.Set and metatable ~= Map then return source end
   self:update(source)
end

Map.keys, Map.values, Map.len, Map.update = tablex.keys, tablex.values, tablex.size, tablex.update

function Map:iter() return pairs(self) end

local function by_key(a, b) return a[1] < b[1] end

-- Pairs of key and value, sorted by key.
function Map:items()
   local List = require 'pl.List'
   local items = List()
   for key, value in pairs(self) do items:append(List{ key, value }) end
   return items:sort(by_key)
end

function Map:setdefault(key, default)
   local value = self[key]
   if value ~= nil then return value end
   self:set(key, default)
   return default
end

function Map:set(key, value) self[key] = value end
function Map:get(key) return rawget(self, key) end

function Map:getvalues(keys)
   local values = {}
   for i = 1, #keys do values[i] = self[keys[i]] end
   return setmetatable(values, require 'pl.List')
end

function Map:__eq(other) return tablex.deepcompare(self, other, true) end
function Map:__tostring() return (require('pl.pretty').write(self, '')) end

return Map

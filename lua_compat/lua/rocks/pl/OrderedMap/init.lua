-- pl.OrderedMap: maps that keep the order in which keys were added; it is in the field _keys.
local List = require 'pl.List'
local Map = require 'pl.Map'
local class = require 'pl.class'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local OrderedMap = class(Map)
OrderedMap._name = 'OrderedMap'

function OrderedMap:_init(source)
   rawset(self, '_keys', List())
   if source then
      local map, problem = OrderedMap.update(self, source)
      if not map then error(problem, 2) end
   end
end

-- Adds the pairs of another ordered map, of a list of tables with one pair each, or of a table in any order.
function OrderedMap:update(source)
   utils.assert_arg(1, source, 'table')
   if OrderedMap:class_of(source) then
      for key, value in source:iter() do self:set(key, value) end
   elseif #source == 0 then
      for key, value in pairs(source) do self:set(key, value) end
   elseif type(source[1]) == 'table' then
      for _, pair in ipairs(source) do
         local key, value = next(pair)
         if not key then return utils.raise('empty pair initialization table') end
         self:set(key, value)
      end
   else
      return utils.raise('cannot use an array to initialize an OrderedMap')
   end
   return self
end

function OrderedMap:set(key, value)
   local is_new = rawget(self, key) == nil
   if is_new and value ~= nil then
      self._keys:append(key)
   elseif not is_new and value == nil then
      self._keys:remove_value(key)
   end
   rawset(self, key, value)
   return self
end
OrderedMap.__newindex = OrderedMap.set

-- Inserts a key at a position; without a value, it keeps the one that it has.
function OrderedMap:insert(place, key, value)
   if value == nil then
      value = self[key]
      if value == nil then return self end
   end
   if self[key] ~= nil then self._keys:remove_value(key) end
   self._keys:insert(place, key)
   rawset(self, key, value)
   return self
end

function OrderedMap:keys() return self._keys end
function OrderedMap:values() return List(tablex.index_by(self, self._keys)) end

function OrderedMap:sort(less)
   table.sort(self._keys, less)
   return self
end

function OrderedMap:iter()
   local i, keys = 0, self._keys
   return function()
      i = i + 1
      local key = keys[i]
      if key == nil then return nil end
      return key, self[key]
   end
end
OrderedMap.__pairs = OrderedMap.iter

function OrderedMap:__tostring()
   local shown = {}
   for key, value in OrderedMap.iter(self) do
      local text = tostring(value)
      if type(value) ~= 'number' then text = '"' .. text .. '"' end
      shown[#shown + 1] = tostring(key) .. '=' .. text
   end
   return '{' .. table.concat(shown, ',') .. '}'
end

return OrderedMap

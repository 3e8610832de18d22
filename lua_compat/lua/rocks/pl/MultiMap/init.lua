-- pl.MultiMap: maps with a list of values for each key.
local List = require 'pl.List'
local Map = require 'pl.Map'
local class = require 'pl.class'
local utils = require 'pl.utils'

local MultiMap = class(Map, nil, utils.stdmt.MultiMap)
MultiMap._name = 'MultiMap'

function MultiMap:_init(source)
   if source then self:update(source) end
end

function MultiMap:update(source)
   utils.assert_arg(1, source, 'table')
   local single = Map:class_of(source)
   for key, value in pairs(source) do
      self[key] = single and List():append(value) or List(value)
   end
   return self
end

function MultiMap:set(key, value)
   if value == nil then
      self[key] = nil
   else
      if not self[key] then self[key] = List() end
      self[key]:append(value)
   end
end

return MultiMap

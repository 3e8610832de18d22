-- The module fb.ffivector (of fblualib): vectors of C numbers, strings, or any FFI type, stored outside Lua's memory.
-- Assigning to the position after the last extends a vector.
local ffi = require 'ffi'
local tds = require 'tds'

local ffivector = {}

local methods = {}

function methods:capacity() return rawget(self, 'allocated') end

-- Resizes a vector to `count` elements; new ones are zero.
function methods:resize(count)
   local allocated = rawget(self, 'allocated')
   if count > allocated then
      allocated = math.max(count, 2 * allocated, 8)
      local old, kept = rawget(self, 'data'), rawget(self, 'count')
      local data = rawget(self, 'make')(allocated)
      if kept > 0 then ffi.copy(data, old, kept * rawget(self, 'size')) end
      rawset(self, 'data', data)
      rawset(self, 'allocated', allocated)
   end
   rawset(self, 'count', count)
end

local function check(place, most)
   if type(place) ~= 'number' or place < 1 or place > most then error('index out of range', 3) end
   return place - 1
end

local Vector = {
   __len = function(self) return rawget(self, 'count') end,
   __index = function(self, place)
      if methods[place] then return methods[place] end
      local value = rawget(self, 'data')[check(place, rawget(self, 'count'))]
      local index = rawget(self, 'index')
      if index then return index(value) end
      return value
   end,
   __newindex = function(self, place, value)
      local count = rawget(self, 'count')
      check(place, count + 1)
      if place > count then methods.resize(self, place) end
      local newindex = rawget(self, 'newindex')
      if newindex then value = newindex(value) end
      rawget(self, 'data')[place - 1] = value
   end,
   __ipairs = function(self)
      local place = 0
      return function()
         place = place + 1
         if place <= rawget(self, 'count') then return place, self[place] end
      end
   end,
}

-- new(ctype [, capacity [, index [, newindex]]]): index converts an element when it is read, newindex a value when it
-- is assigned.
function ffivector.new(ctype, capacity, index, newindex)
   local array = ffi.typeof('$[?]', ffi.typeof(ctype))
   local made = setmetatable({ count = 0, allocated = 0, index = index, newindex = newindex, size = ffi.sizeof(ctype),
      make = function(allocated) return ffi.new(array, allocated) end }, Vector)
   if (capacity or 0) > 0 then
      methods.resize(made, capacity)
      methods.resize(made, 0)
   end
   return made
end

local names = { 'float', 'double', 'size_t', 'ssize_t' }
for _, name in ipairs{ 'char', 'short', 'int', 'long' } do
   names[#names + 1] = name
   names[#names + 1] = 'unsigned ' .. name
end
for _, bits in ipairs{ 8, 16, 32, 64 } do
   names[#names + 1] = ('int%d_t'):format(bits)
   names[#names + 1] = ('uint%d_t'):format(bits)
end
for _, name in ipairs(names) do
   ffivector['new_' .. name:gsub(' ', '_')] = function(capacity) return ffivector.new(name, capacity, tonumber) end
end

local Strings = {
   __len = function(self) return #rawget(self, 'vec') end,
   __newindex = function(self, place, value)
      local vec = rawget(self, 'vec')
      check(place, #vec + 1)
      if place > #vec then vec:insert(value) else vec[place] = value end
   end,
}
Strings.__index = function(self, place)
   local vec = rawget(self, 'vec')
   if place == 'resize' then return function(_, count) vec:resize(count) end end
   return vec[check(place, #vec) + 1]
end
function Strings.__ipairs(self) return ipairs(rawget(self, 'vec')) end

function ffivector.new_string() return setmetatable({ vec = tds.Vec() }, Strings) end

return ffivector

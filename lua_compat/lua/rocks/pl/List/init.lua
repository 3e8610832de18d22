-- pl.List: lists with Python's methods. Methods that change a list return it.
local class = require 'pl.class'
local tablex = require 'pl.tablex'
local utils = require 'pl.utils'

local assert_arg, function_arg = utils.assert_arg, utils.function_arg

local List = class(nil, nil, utils.stdmt.List)
tablex.update(List, require 'pl.List.changing')

-- Gives a result the class of the list from which it was made.
local function like(result, list)
   local metatable = list and getmetatable(list)
   return setmetatable(result, metatable or List)
end

-- A plain table becomes the list itself; anything else is iterated over.
function List._create(source)
   if type(source) == 'table' and not getmetatable(source) and #source > 0 then return source end
end

function List:_init(source)
   if self == source or source == nil then return end
   for value in List.iterate(source) do self[#self + 1] = value end
end

List.new = List

function List:clone()
   local copied = like({}, self)
   copied:extend(self)
   return copied
end

List.index = tablex.find
function List:contains(value) return tablex.find(self, value) ~= nil end

function List:count(value)
   local n = 0
   for i = 1, #self do
      if self[i] == value then n = n + 1 end
   end
   return n
end

function List:sorted(less) return List(self):sort(less) end

function List:minmax()
   local least, most = 1e70, -1e70 -- returned for an empty list
   for i = 1, #self do
      if self[i] < least then least = self[i] end
      if self[i] > most then most = self[i] end
   end
   return least, most
end

function List:slice(first, last) return tablex.sub(self, first, last) end
function List:len() return #self end

-- Sums of fractions may exceed the last number by this much.
local ROUNDING = 2.2204460492503131e-16

-- range(n) or range(start, finish [, step])
function List.range(start, finish, step)
   if not finish then start, finish = 1, start end
   if step then
      assert_arg(3, step, 'number')
      if math.ceil(step) ~= step then finish = finish + ROUNDING end
   end
   assert_arg(1, start, 'number')
   assert_arg(2, finish, 'number')
   local numbers = List()
   for x = start, finish, step or 1 do numbers:append(x) end
   return numbers
end

function List:__concat(other)
   assert_arg(1, other, 'table')
   local joined = self:clone()
   joined:extend(other)
   return joined
end

function List:__eq(other)
   if #self ~= #other then return false end
   for i = 1, #self do
      if self[i] ~= other[i] then return false end
   end
   return true
end

function List:join(separator)
   separator = separator or ''
   assert_arg(1, separator, 'string')
   return table.concat(utils.array_tostring(self), separator)
end

List.concat = table.concat

function List:__tostring() return '{' .. self:join(',') .. '}' end

function List:foreach(f, ...)
   f = function_arg(1, f)
   for i = 1, #self do f(self[i], ...) end
end

local function method_of(object, name)
   local method = object[name]
   if not method then error(type(object) .. ' does not have method ' .. name, 3) end
   return method
end

function List:foreachm(name, ...)
   for i = 1, #self do method_of(self[i], name)(self[i], ...) end
end

function List:filter(predicate, argument) return like(tablex.filter(self, predicate, argument), self) end

function List.split(text, separator)
   assert_arg(1, text, 'string')
   return like(utils.split(text, separator))
end

function List:map(f, ...) return like(tablex.imap(f, self, ...), self) end
function List:transform(f, ...)
   tablex.transform(f, self, ...)
   return self
end
function List:map2(f, other, ...) return like(tablex.imap2(f, self, other, ...), self) end

function List:mapm(name, ...)
   local results = {}
   for i = 1, #self do results[i] = method_of(self[i], name)(self[i], ...) end
   return like(results, self)
end

-- For a class's catch: a missing method is looked up in a table, and becomes a method that maps it; without a table, it
-- calls the elements' method of that name.
function List.default_map_with(methods)
   return function(class, name)
      local f, through = name, 'mapn'
      if methods then f, through = method_of(methods, name), 'map' end
      local function mapped(list, ...) return list[through](list, f, ...) end
      getmetatable(class)[name] = mapped
      return mapped
   end
end
List.default_map = List.default_map_with

function List:reduce(f) return tablex.reduce(f, self) end

-- Groups the elements into lists by the result of f; nil is '<nil>'.
function List:partition(f, ...)
   f = function_arg(1, f)
   local parts = {}
   for i = 1, #self do
      local kind = f(self[i], ...)
      if kind == nil then kind = '<nil>' end
      parts[kind] = parts[kind] or List()
      parts[kind]:append(self[i])
   end
   return setmetatable(parts, require 'pl.MultiMap')
end

function List:iter() return List.iterate(self) end

local function over_list(list)
   local i, n = 0, #list
   return function()
      i = i + 1
      if i > n then return nil end
      return list[i]
   end
end

-- Iterates over the characters of a string, the elements of a list, the lines of a file.
function List.iterate(source)
   if type(source) == 'string' then return source:gmatch('.') end
   if type(source) == 'table' then return over_list(source) end
   if type(source) == 'function' then return source end
   if type(source) == 'userdata' and io.type(source) == 'file' then return source:lines() end
end

return List

-- Moses' functions for objects, and type tests.
local M = {}

function M.isTable(t) return type(t) == 'table' end
function M.isString(obj) return type(obj) == 'string' end
function M.isFunction(obj) return type(obj) == 'function' end
function M.isNil(obj) return obj == nil end
function M.isNumber(obj) return type(obj) == 'number' end
function M.isBoolean(obj) return type(obj) == 'boolean' end
function M.isNaN(obj) return type(obj) == 'number' and obj ~= obj end
function M.isInteger(obj) return type(obj) == 'number' and math.floor(obj) == obj end
function M.isFinite(obj) return type(obj) == 'number' and obj > -math.huge and obj < math.huge end
function M.isIterable(obj) return (pcall(pairs, obj)) end
function M.toBoolean(value) return not not value end

function M.isCallable(obj)
   if type(obj) == 'function' then return true end
   local metatable = type(obj) == 'table' and getmetatable(obj)
   return metatable and metatable.__call ~= nil or false
end

-- Whether the number of keys equals the number of consecutive positions from 1 on.
function M.isArray(obj)
   if type(obj) ~= 'table' then return false end
   local place = 0
   for _ in pairs(obj) do
      place = place + 1
      if obj[place] == nil then return false end
   end
   return true
end

-- Numbers and booleans also count as empty.
function M.isEmpty(obj)
   if type(obj) == 'string' then return #obj == 0 end
   return type(obj) ~= 'table' or next(obj) == nil
end

local function count(t)
   local n = 0
   for _ in pairs(t) do n = n + 1 end
   return n
end

-- The number of a table's keys; otherwise the number of arguments that are not nil.
function M.size(...)
   local first = ...
   return count(type(first) == 'table' and first or { ... })
end

-- Deep equality. useMt: uses __eq if an object has one.
function M.isEqual(objA, objB, useMt)
   if type(objA) ~= type(objB) then return false end
   if type(objA) ~= 'table' then return objA == objB end
   if useMt then
      local mtA, mtB = getmetatable(objA), getmetatable(objB)
      if (mtA or mtB) and (mtA.__eq or mtB.__eq) then
         return mtA.__eq(objA, objB) or mtB.__eq(objB, objA) or objA == objB
      end
   end
   if count(objA) ~= count(objB) then return false end
   for key, value in pairs(objA) do
      local other = objB[key]
      if other == nil or not M.isEqual(value, other, useMt) then return false end
   end
   for key in pairs(objB) do
      if objA[key] == nil then return false end
   end
   return true
end

function M.identity(value) return value end

function M.has(obj, key) return obj[key] ~= nil end

function M.keys(obj)
   local keys = {}
   for key in pairs(obj) do keys[#keys + 1] = key end
   return keys
end

function M.values(obj)
   local values = {}
   for _, value in pairs(obj) do values[#values + 1] = value end
   return values
end

function M.kvpairs(obj)
   local list = {}
   for key, value in pairs(obj) do list[#list + 1] = { key, value } end
   return list
end

function M.toObj(kvpairs)
   local obj = {}
   for _, pair in ipairs(kvpairs) do obj[pair[1]] = pair[2] end
   return obj
end

function M.property(key)
   return function(obj) return obj[key] end
end

function M.propertyOf(obj)
   return function(key) return obj[key] end
end

function M.extend(destObj, ...)
   for _, source in pairs{ ... } do
      if type(source) == 'table' then
         for key, value in pairs(source) do destObj[key] = value end
      end
   end
   return destObj
end

-- The sorted names of an object's functions; with recurseMt, followed by those of its metatable.
function M.functions(obj, recurseMt)
   local names = {}
   for name, value in pairs(obj) do
      if type(value) == 'function' then names[#names + 1] = name end
   end
   local metatable = recurseMt and getmetatable(obj)
   if metatable and metatable.__index then
      for _, name in ipairs(M.functions(metatable.__index)) do names[#names + 1] = name end
   end
   table.sort(names)
   return names
end

function M.clone(obj, shallow)
   if type(obj) ~= 'table' then return obj end
   local copy = {}
   for key, value in pairs(obj) do copy[key] = shallow and value or M.clone(value) end
   return copy
end

function M.tap(obj, f, ...)
   f(obj, ...)
   return obj
end

-- The items of a table, with nested tables replaced by their items. shallow: only one level.
function M.flatten(array, shallow)
   local flat = {}
   for _, value in pairs(array) do
      if type(value) == 'table' then
         for _, item in pairs(shallow and value or M.flatten(value)) do flat[#flat + 1] = item end
      else
         flat[#flat + 1] = value
      end
   end
   return flat
end

function M.pick(obj, ...)
   local picked = {}
   for _, key in pairs(M.flatten{ ... }) do
      if obj[key] ~= nil then picked[key] = obj[key] end
   end
   return picked
end

function M.omit(obj, ...)
   local left, omitted = {}, {}
   for _, key in pairs(M.flatten{ ... }) do omitted[key] = true end
   for key, value in pairs(obj) do
      if not omitted[key] then left[key] = value end
   end
   return left
end

-- Copies fields of a template that an object lacks or that are false in it.
function M.template(obj, template)
   for key, value in pairs(template or {}) do
      if not obj[key] then obj[key] = value end
   end
   return obj
end

function M.result(obj, method, ...)
   local value = obj[method]
   if value then
      if M.isCallable(value) then return value(obj, ...) end
      return value
   end
   if M.isCallable(method) then return method(obj, ...) end
end

return M

-- The operator # as in Torch7's LuaJIT, which looks up __len in a table's metatable. dialect/source.lua rewrites #x to
-- false^x, and here booleans get a metatable whose __pow returns the length of its second operand. LuaJIT inlines it in
-- compiled code; for a table without a metatable it then costs no more than a plain #. false^ with one of a few tiny
-- numbers gives a function that compares (dialect/compare.lua). Called with the table of dialect/operand.lua, the
-- function of dialect/method.lua, and the comparing functions by number. All calls are tail calls, so that errors,
-- tracebacks and metamethods see the code with the # directly above themselves.
local operand, call_method, comparisons = ...

local type, error, rawget, rawset, pcall, tonumber = type, error, rawget, rawset, pcall, tonumber
local format, gsub = string.format, string.gsub
local metatable_of, set_metatable, plain_getmetatable = debug.getmetatable, debug.setmetatable, getmetatable

local function unusable(what, name, value)
   local kind = type(value)
   if name then return error(format('attempt to %s %s (a %s value)', what, name, kind), 1) end
   return error(format('attempt to %s a %s value', what, kind), 1)
end

local function plain_length(x) return #x end

-- Raises the error for false^x where x has no length, or for a script's own power of a boolean.
local function refuse(base, x)
   local is_length, of_base, of_x = operand.names(3, base, x)
   if not is_length then
      if tonumber(base) then return unusable('perform arithmetic on', of_x, x) end
      return unusable('perform arithmetic on', of_base, base)
   end
   if type(x) == 'cdata' then
      local ok, result = pcall(plain_length, x)
      if ok then return result end
      return error((gsub(result, '^.-:%d+: ', '')), 1)
   end
   return unusable('get length of', of_x, x)
end

local function length(base, x)
   if base then return refuse(base, x) end
   local kind = type(x)
   if kind == 'string' then return #x end
   local metatable = metatable_of(x)
   -- numbers may have a metatable, too (torch-autograd gives them one)
   local comparison = kind == 'number' and comparisons[x]
   if comparison then return comparison end
   if metatable == nil then
      if kind == 'table' then return #x end
      return refuse(base, x)
   end
   local method = kind ~= 'cdata' and rawget(metatable, '__len')
   if method then
      if type(method) == 'function' then return method(x, x) end
      return call_method(method, x, x)
   end
   if kind == 'table' then return #x end
   return refuse(base, x)
end

-- Scripts do not see the metatable of booleans; a metatable that they set gets the operator, too.
local OWN = { __pow = length }
set_metatable(false, OWN)

function getmetatable(object)
   if type(object) == 'boolean' and metatable_of(object) == OWN then return nil end
   local metatable = plain_getmetatable(object) -- LuaJIT aborts traces with more than 15 tail calls
   return metatable
end

function debug.getmetatable(object)
   local metatable = metatable_of(object)
   if metatable == OWN and type(object) == 'boolean' then return nil end
   return metatable
end

-- As in Lua 5.2, the object is the result.
function debug.setmetatable(object, metatable)
   if metatable ~= nil and type(metatable) ~= 'table' then return set_metatable(object, metatable) end -- an error
   if type(object) ~= 'boolean' then
      set_metatable(object, metatable)
      return object
   end
   if metatable ~= nil and rawget(metatable, '__pow') == nil then rawset(metatable, '__pow', length) end
   set_metatable(object, metatable == nil and OWN or metatable)
   return object
end

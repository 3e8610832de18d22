-- The functions of Lua's library that differ in a LuaJIT built with the option for Lua 5.2, as Torch7's is. Errors are
-- left to LuaJIT's own function, in a tail call, so that they name the function and line as if it had been called
-- directly. Called with the function of dialect/method.lua and that of th/c_stack.lua.
local call_method, fits = ...
local type, error, rawget, select, unpack = type, error, rawget, select, unpack
local metatable_of, getfenv, setfenv = debug.getmetatable, debug.getfenv, debug.setfenv
local next, loaded = next, package.loaded

-- pairs and ipairs look up metamethods.

local function asking(event, plain)
   return function(object)
      local metatable = metatable_of(object)
      local method = metatable and rawget(metatable, event)
      if method then
         if type(method) == 'function' then return method(object) end
         return call_method(method, object)
      end
      return plain(object)
   end
end

pairs, ipairs = asking('__pairs', pairs), asking('__ipairs', ipairs)

-- Tables

function rawlen(value)
   local kind = type(value)
   if kind == 'table' or kind == 'string' then return #value end
   return next(value)
end

function table.pack(...) return { n = select('#', ...), ... } end

table.unpack = unpack

-- Strings: nothing is found after the end, not even an empty match.

local plain_find, plain_match, plain_gsub = string.find, string.match, string.gsub

function string.find(text, pattern, start, plain)
   if type(start) == 'number' and type(text) == 'string' and type(pattern) == 'string' and start > #text + 1 then
      return nil
   end
   return plain_find(text, pattern, start, plain)
end

function string.match(text, pattern, start)
   if type(start) == 'number' and type(text) == 'string' and type(pattern) == 'string' and start > #text + 1 then
      return nil
   end
   return plain_match(text, pattern, start)
end

-- Endless recursion through gsub's callbacks is an error; LuaJIT's own gsub would crash.
function string.gsub(...)
   local _, _, replacement = ...
   local kind = type(replacement)
   if (kind == 'function' or kind == 'table') and not fits() then error('C stack overflow', 2) end
   return plain_gsub(...)
end

-- Packages

package.searchers = package.loaders

local plain_module, set_level_environment = module, _G.setfenv

function module(name, ...)
   if type(name) ~= 'string' then return plain_module(name, ...) end
   plain_module(name, ...) -- creates it, and makes it the environment of this function
   local made = loaded[name]
   set_level_environment(2, made)
   return made
end

-- Userdata

function debug.getuservalue(object)
   if type(object) == 'userdata' then return getfenv(object) end
end

function debug.setuservalue(object, value)
   local number, expected, got = 1, 'userdata', type(object)
   if got == expected then number, expected, got = 2, 'table', type(value) end
   if got ~= expected then
      error(("bad argument #%d to 'setuservalue' (%s expected, got %s)"):format(number, expected, got), 2)
   end
   setfenv(object, value)
   return object
end

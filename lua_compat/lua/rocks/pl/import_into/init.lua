-- pl.import_into: a function that makes Penlight's modules fields of a table, each loaded when it is first read.
local names = require 'pl.names'
local utils = require 'pl.utils'

-- The metatables of containers load their modules when a method is first used.
local function containers_load_themselves()
   for name, metatable in pairs(utils.stdmt) do
      if rawget(metatable, '_class') == nil then
         function metatable.__index(_, key) return require('pl.' .. name)[key] end
      end
   end
end

-- The result of a metatable's __index, be it a function or a table.
local function ask(index, t, name)
   if type(index) == 'function' then return index(t, name) end
   if index then return index[name] end
end

-- true instead of a table: the modules are fields of the result, whose own names differ from the loaded ones.
return function(into)
   local shadow
   if into == true then into, shadow = {}, {} end
   into = into or {}
   rawset(into, 'utils', utils)
   containers_load_themselves()

   local before = getmetatable(into) or {}
   local hook
   local metatable = { __newindex = before.__newindex }
   function metatable.hook(handler) hook = handler end

   function metatable.__index(t, name)
      if names[name] then
         local module = require('pl.' .. name)
         rawset(into, name, module)
         return module
      end
      local found = hook and hook(t, name)
      if found then return found end
      return ask(before.__index, t, name)
   end

   if shadow then
      -- what a script assigns goes to the table that its functions see, and to the module
      function metatable.__newindex(t, name, value)
         shadow[name] = value
         rawset(t, name, value)
      end
   end
   setmetatable(into, metatable)
   return into, shadow or into
end

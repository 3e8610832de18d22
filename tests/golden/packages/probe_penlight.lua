-- Run with Penlight: one line for each call below, with what it returns or the error. penlight.txt was recorded with
-- Penlight 1.5.4, in UTC.
local NAMES = [[utils types tablex stringx path dir pretty seq func array2d lexer sip data config operator text template
   permute url input stringio compat app comprehension xml luabalanced lapp List Map Set MultiMap OrderedMap Date class
   file]]
for name in NAMES:gmatch('%S+') do _G[name] = require('pl.' .. name) end

local function before(a, b)
   if type(a) ~= type(b) then return type(a) < type(b) end
   if type(a) == 'number' then return a < b end
   return tostring(a) < tostring(b)
end

local function shown(value, depth)
   if type(value) == 'number' then return ('%.14g'):format(value) end
   if type(value) == 'string' then return (('%q'):format(value):gsub('\n', 'n')) end
   if type(value) == 'function' then return 'function' end
   if type(value) ~= 'table' then return tostring(value) end
   if depth > 6 then return '...' end
   local keys, parts = {}, {}
   for key in next, value do keys[#keys + 1] = key end
   table.sort(keys, before)
   for i, key in ipairs(keys) do
      parts[i] = '[' .. shown(key, depth + 1) .. ']=' .. shown(rawget(value, key), depth + 1)
   end
   local metatable = getmetatable(value)
   local class_name = type(metatable) == 'table' and rawget(metatable, '_name') or metatable and 'class' or ''
   return class_name .. '{' .. table.concat(parts, ',') .. '}'
end

local function outcome(ok, ...)
   if not ok then
      local problem = tostring((...)):gsub('^[^\n]-:%d+: ', ''):gsub('^[^\n]-:%d+: ', '')
      return 'ERROR ' .. problem
   end
   local parts = {}
   for i = 1, select('#', ...) do parts[i] = shown((select(i, ...)), 0) end
   return table.concat(parts, ' ; ')
end

for code in io.lines(arg[1]) do
   print(code .. '  =>  ' .. outcome(pcall(assert(loadstring('return ' .. code, '=x') or loadstring(code, '=x')))))
end
